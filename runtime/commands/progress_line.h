// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ProgressLine: shows training as it runs, live on a terminal, one plain line per epoch elsewhere.
#ifndef MPC_RUNTIME_COMMANDS_PROGRESS_LINE_H
#define MPC_RUNTIME_COMMANDS_PROGRESS_LINE_H

#include "runtime/commands/console.h"
#include "runtime/commands/line_parts.h"
#include "runtime/training/fit.h"

#include <chrono>

namespace mpc::commands {

/// `Epoch 2/5  ━━━━━━━  6/6  84 ms/step  97.5k samples/s  loss 0.7987  ...  scale 32768  skipped 0
/// eta 1s`. On a terminal the line is redrawn at most ten times a second, without its bar, speed
/// and eta where it is narrow; the line of a finished epoch shows all values, wrapped if need be.
class ProgressLine : public training::FitObserver {
public:
  ProgressLine(Console &console, training::Session &session);
  void epochBegin(const training::FitState &state, int64_t stepsPerEpoch, int64_t epochs) override;
  void stepEnd(const training::FitState &state, const training::StepResult &step) override;
  void epochEnd(const training::FitState &state, const training::Logs &logs) override;
  /// Ends a live line that is still open.
  void finish();

private:
  using Clock = std::chrono::steady_clock;
  std::vector<LinePart> line(const training::FitState &state, int64_t epoch, int64_t step,
                             const training::Logs &logs) const;
  void draw(const std::vector<LinePart> &parts, bool isLast);

  Console &console_;
  training::Session &session_;
  training::OptimizerState optimizer_;
  Clock::time_point epochStart_, lastDrawn_;
  double trainSeconds_ = 0; // of this epoch's steps, without validation
  int64_t stepsPerEpoch_ = 0, epochs_ = 0, stepsSeen_ = 0, samplesSeen_ = 0;
  int64_t stepsDone_ = 0; // of the epoch, by an earlier run, too
  bool open_ = false;
};

/// `97.5k`, `812`, `1.2M`.
std::string formatCount(double value);
/// `84 ms`, `1.2 s`, `350 us`.
std::string formatDuration(double seconds);
/// `1s`, `2m05s`, `1h10m`.
std::string formatEta(double seconds);

} // namespace mpc::commands
#endif
