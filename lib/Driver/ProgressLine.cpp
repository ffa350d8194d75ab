// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Events draw the line: no thread waits for its time to come.
#include "lib/Driver/ProgressLine.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"
#include <sys/ioctl.h>
#include <unistd.h>

using namespace mpc;
using namespace std::chrono_literals;

/// Shorter compilations show nothing.
static constexpr auto kPatience = 2s;
static constexpr auto kInterval = 100ms;

/// The line may not reach the last column, from which some terminals go on in the next line.
static size_t mostColumns() {
  winsize size = {};
  const bool isKnown = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return isKnown ? size.ws_col - 1 : 79;
}

void ProgressLine::draw() {
  const Clock::time_point now = Clock::now();
  if (!isEnabled || now - start < kPatience || now - drawn < kInterval)
    return;
  drawn = now;
  std::string line =
      state + ", " +
      std::to_string(std::chrono::duration_cast<std::chrono::seconds>(now - start).count()) + " s";
  line.resize(std::min(line.size(), mostColumns()));
  const size_t old = width;
  width = line.size();
  // Blanks hide what is left of a longer one.
  line.resize(std::max(old, width), ' ');
  llvm::errs() << '\r' << line;
}

void ProgressLine::show(const llvm::Twine &newState) {
  std::lock_guard lock(mutex);
  state = newState.str();
  draw();
}

void ProgressLine::tick() {
  std::lock_guard lock(mutex);
  draw();
}

void ProgressLine::erase() {
  std::lock_guard lock(mutex);
  if (width > 0)
    llvm::errs() << '\r' << std::string(width, ' ') << '\r';
  width = 0;
  drawn = {};
}

namespace {
struct Ticks : mlir::PassInstrumentation {
  explicit Ticks(ProgressLine &line) : line(line) {}
  void runBeforePass(mlir::Pass *, mlir::Operation *) override { line.tick(); }
  ProgressLine &line;
};
} // namespace

void ProgressLine::follow(mlir::PassManager &manager) {
  if (isEnabled)
    manager.addInstrumentation(std::make_unique<Ticks>(*this));
}
