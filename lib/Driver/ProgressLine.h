// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How far a long compilation is.
#ifndef MPC_LIB_DRIVER_PROGRESSLINE_H
#define MPC_LIB_DRIVER_PROGRESSLINE_H

#include "llvm/ADT/Twine.h"
#include <chrono>
#include <mutex>
#include <string>

namespace mlir {
class PassManager;
} // namespace mlir

namespace mpc {

/// One line of a terminal on stderr, written again and again. It appears when a compilation takes
/// longer than two seconds, and is gone before anything else is printed and at the end. It has no
/// escape sequences, so that any terminal can show it. Safe to be called from several threads.
class ProgressLine {
public:
  explicit ProgressLine(bool isEnabled) : isEnabled(isEnabled) {}
  ~ProgressLine() { erase(); }
  ProgressLine(const ProgressLine &) = delete;

  void show(const llvm::Twine &newState);
  /// Shows the state again, for the seconds in it.
  void tick();
  /// Each pass of the manager will be a tick.
  void follow(mlir::PassManager &manager);
  void erase();

private:
  using Clock = std::chrono::steady_clock;
  void draw();

  const bool isEnabled;
  const Clock::time_point start = Clock::now();
  std::mutex mutex;
  std::string state;
  Clock::time_point drawn; ///< when it was last
  size_t width = 0;        ///< of what is on the terminal
};

} // namespace mpc

#endif // MPC_LIB_DRIVER_PROGRESSLINE_H
