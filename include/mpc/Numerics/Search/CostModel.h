// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cost of a policy per layer, by a table of speeds of the target's class: the same in every
// run, as times are not (docs/decisions/0090-searched-policies.md).
#ifndef MPC_NUMERICS_SEARCH_COSTMODEL_H
#define MPC_NUMERICS_SEARCH_COSTMODEL_H

#include "mpc-rt/dtype.h"
#include "mpc/Numerics/Search/LayerWork.h"
#include "mpc/Policy/DTypePolicy.h"
#include "llvm/ADT/StringMap.h"

namespace mpc {

/// A class of targets. Rates are multiply-adds and bytes per nanosecond, of whole products and not
/// of registers.
struct TargetSpeeds {
  const char *name;
  double float32, bfloat16, float16, int8;
  double bytes;
  /// Bytes of float32 that take as long as one element of 16 bits: 2 where conversions are free.
  double narrow;

  /// Multiply-adds per nanosecond of operands of the dtype.
  double rateOf(mpc_rt_dtype_t dtype) const;
};

/// By the features that LLVM names of a CPU ("avx512bf16").
const TargetSpeeds &speedsOfCpu(const llvm::StringMap<bool> &features);
/// By compute capability times ten.
const TargetSpeeds &speedsOfCuda(unsigned architecture);

/// The reason why one assignment is better than another one.
enum class SearchObjective { Speed, Memory };

/// For each layer the index of its policy among those of the search; 0 is float32.
using PolicyAssignment = std::vector<unsigned>;

class CostModel {
public:
  /// `policies` begins with float32.
  CostModel(std::vector<LayerWork> layers, std::vector<DTypePolicy> policies,
            const TargetSpeeds &speeds, SearchObjective objective, bool trains);

  const std::vector<LayerWork> &getLayers() const { return layers; }
  const std::vector<DTypePolicy> &getPolicies() const { return policies; }
  const TargetSpeeds &getSpeeds() const { return speeds; }
  SearchObjective getObjective() const { return objective; }

  /// Nanoseconds of a step, or bytes that it needs.
  double costOf(const PolicyAssignment &assignment) const;
  /// Whether the layer may have the policy.
  bool mayHave(size_t layer, unsigned policy) const;
  PolicyAssignment allWide() const { return PolicyAssignment(layers.size(), 0); }

private:
  double bytesOf(size_t layer, const PolicyAssignment &assignment) const;
  double timeOf(size_t layer, const PolicyAssignment &assignment) const;
  double memoryOf(size_t layer, const PolicyAssignment &assignment) const;
  double rateOf(unsigned policy) const;

  std::vector<LayerWork> layers;
  std::vector<DTypePolicy> policies;
  std::vector<mpc_rt_dtype_t> computed;            ///< by policy
  std::vector<double> computeBytes, variableBytes; ///< of an element, by policy
  std::vector<double> movedBytes;                  ///< the same with what conversions cost
  TargetSpeeds speeds;
  SearchObjective objective;
  bool trains;
};

} // namespace mpc

#endif // MPC_NUMERICS_SEARCH_COSTMODEL_H
