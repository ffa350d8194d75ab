// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which of cuBLASLt's algorithms multiplies, where that was measured. Unlike what its heuristic
// says (algorithm_cache.h), this is no property of library and device: files of mpc-run tune and
// checkpoints have it.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_ALGORITHM_CHOICES_H
#define MPC_RUNTIME_DRIVERS_CUDA_ALGORITHM_CHOICES_H

#include "runtime/drivers/cuda/cublaslt_api.h"
#include "runtime/drivers/kernel_selection.h"

#include <map>
#include <set>
#include <string>

namespace mpc::rt::cuda {

struct AlgorithmChoice {
  lt::Algorithm algorithm;
  unsigned rank; // among those of the heuristic, from 1 on
};

class AlgorithmChoices final : public KernelSelection {
public:
  // The library and the device that algorithms are of.
  void open(const std::string &name);

  void tune(uint64_t steps) noexcept override;
  // A line each: "cublaslt LIBRARY KEY algorithm_RANK/BYTES/CHECKSUM".
  std::string choices() const override;
  // UNAVAILABLE: of another library or device.
  mpc_rt_status_t setChoices(const char *text) override;

  // Keys say everything of a product that the choice depends on, without spaces.
  bool toBeMeasured(const std::string &key) const;
  // Whether so many runs of one product are a small part of the training.
  bool isWorthRuns(size_t runs) const;
  const AlgorithmChoice *find(const std::string &key) const;
  void set(const std::string &key, const AlgorithmChoice &choice) { chosen[key] = choice; }
  // There is nothing to choose from.
  void leave(const std::string &key) { left.insert(key); }

  // The library does not take what was chosen for a product: nothing runs from then on, since
  // another algorithm would give other last bits.
  void refuse(const std::string &key) { refused = key; }
  mpc_rt_status_t checkRefused(const char *layer) const;

  // Changes where plans made before are no longer right.
  unsigned version() const { return versions; }

private:
  std::string library;
  bool measuring = false;
  uint64_t stepsOfTraining = 0; // 0: no bound
  std::map<std::string, AlgorithmChoice> chosen;
  std::set<std::string> left;
  std::string refused;
  unsigned versions = 0;
};

} // namespace mpc::rt::cuda

#endif
