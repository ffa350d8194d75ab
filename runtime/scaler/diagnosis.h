// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recognises training runs that loss scaling cannot save, which Keras lets run forever.
#ifndef MPC_RUNTIME_SCALER_DIAGNOSIS_H
#define MPC_RUNTIME_SCALER_DIAGNOSIS_H

#include "mpc-rt/scaler.h"

#include <string>

namespace mpc::rt {

class ScaleWatcher {
public:
  // Skipped steps in a row whose loss is not finite before a diagnosis: no smaller scale helps such
  // a forward pass, so that fewer of them tell than of ordinary skips.
  static constexpr uint64_t forwardPatience = 3;
  explicit ScaleWatcher(uint64_t patience) : patience(patience) {}
  // True when text() is new.
  bool observe(const mpc_rt_scaler_step_t &step);
  const std::string &text() const { return diagnosis; }
  uint64_t skipped() const { return skips; }
  uint64_t consecutive() const { return run; }

private:
  bool diagnoseScale(const mpc_rt_scaler_step_t &step);
  bool diagnoseLowScale(const mpc_rt_scaler_step_t &step);
  void diagnoseSkips(const mpc_rt_scaler_step_t &step);

  uint64_t patience;
  uint64_t steps = 0, skips = 0, run = 0;
  uint64_t failedForward = 0; // at the end of the run, steps whose loss was not finite either
  float scaleBeforeRun = 0, lastScale = 0;
  bool scaleReported = false, lowReported = false, isRunReported = false;
  std::string diagnosis;
};

} // namespace mpc::rt

#endif
