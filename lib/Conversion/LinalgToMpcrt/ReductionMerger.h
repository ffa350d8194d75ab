// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes one launch of a reduction in parts and of what goes through the same elements.
#ifndef MPC_LIB_CONVERSION_LINALGTOMPCRT_REDUCTIONMERGER_H
#define MPC_LIB_CONVERSION_LINALGTOMPCRT_REDUCTIONMERGER_H

#include "lib/Conversion/LinalgToMpcrt/BufferUses.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mpc {

class ReductionMerger {
public:
  explicit ReductionMerger(BufferUses &uses) : uses(uses) {}

  /// Whether the launch finds extremes of many elements in parts: iteration p of its kernel goes
  /// through p, p + parts, p + 2 parts and so on.
  bool isReduction(mpcrt::LaunchOp launch) const { return partsOf(launch).has_value(); }
  /// One launch of both at the place of `at`, one of the two, between which nothing depends on the
  /// one that moves there. Null where they have to stay apart, or the reduction reads an element
  /// that the other one does not have.
  mpcrt::LaunchOp merge(mpcrt::LaunchOp elementwise, mpcrt::LaunchOp reduction, mpcrt::LaunchOp at);

private:
  struct Parts {
    mlir::func::FuncOp kernel;
    mlir::scf::ForOp elements; ///< of one part
  };
  std::optional<Parts> partsOf(mpcrt::LaunchOp launch) const;
  /// Whether an element that the reduction reads is one that the other launch touches in the same
  /// iteration, and neither writes anything else that the other one touches.
  bool goTogether(mpcrt::LaunchOp elementwise, mlir::scf::ForOp loop, mpcrt::LaunchOp reduction,
                  const Parts &parts) const;

  BufferUses &uses;
};

} // namespace mpc

#endif // MPC_LIB_CONVERSION_LINALGTOMPCRT_REDUCTIONMERGER_H
