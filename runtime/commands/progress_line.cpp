// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Drawing the progress line.
#include "runtime/commands/progress_line.h"

#include "runtime/untrusted/outlets.h"

#include <algorithm>
#include <cmath>
#include <sys/ioctl.h>

namespace mpc::commands {

using training::FitState;
using training::Logs;

static std::string print(const char *format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string formatCount(double value) {
  if (value >= 999.5e3)
    return print("%.1fM", value / 1e6);
  if (value >= 999.5)
    return print("%.1fk", value / 1e3);
  return print("%.0f", value);
}

std::string formatDuration(double seconds) {
  if (seconds < 0.9995e-3)
    return print("%.0f us", seconds * 1e6);
  if (seconds < 9.995e-3)
    return print("%.1f ms", seconds * 1e3);
  if (seconds < 0.9995)
    return print("%.0f ms", seconds * 1e3);
  return print("%.1f s", seconds);
}

std::string formatEta(double seconds) {
  int64_t whole = static_cast<int64_t>(std::ceil(std::min(std::max(seconds, 0.0), 1e9)));
  char text[64];
  if (whole < 60)
    std::snprintf(text, sizeof text, "%llds", static_cast<long long>(whole));
  else if (whole < 3600)
    std::snprintf(text, sizeof text, "%lldm%02llds", static_cast<long long>(whole / 60),
                  static_cast<long long>(whole % 60));
  else
    std::snprintf(text, sizeof text, "%lldh%02lldm", static_cast<long long>(whole / 3600),
                  static_cast<long long>(whole / 60 % 60));
  return text;
}

ProgressLine::ProgressLine(Console &console, training::Session &session)
    : console_(console), session_(session), optimizer_(session) {}

void ProgressLine::epochBegin(const FitState &state, int64_t stepsPerEpoch, int64_t epochs) {
  stepsPerEpoch_ = stepsPerEpoch;
  stepsDone_ = state.step;
  epochs_ = epochs;
  stepsSeen_ = samplesSeen_ = 0;
  trainSeconds_ = 0;
  epochStart_ = lastDrawn_ = Clock::now();
}

/// The parts that give way first on a narrow terminal.
enum Dispensability { Stays, Eta, StepTime, Speed, Bar };

std::vector<LinePart> ProgressLine::line(const FitState &state, int64_t epoch, int64_t step,
                                         const Logs &logs) const {
  constexpr int64_t width = 7;
  std::vector<LinePart> parts;
  auto add = [&](const std::string &text, Dispensability dispensability = Stays) {
    parts.push_back({text, dispensability});
  };
  add("Epoch " + std::to_string(epoch + 1) + "/" + std::to_string(epochs_));
  int64_t filled = stepsPerEpoch_ ? step * width / stepsPerEpoch_ : width;
  std::string bar;
  for (int64_t i = 0; i < width; ++i)
    bar += i < filled ? "━" : "─";
  if (console_.terminal())
    add(bar, Bar);
  add(std::to_string(step) + "/" + std::to_string(stepsPerEpoch_));
  double perStep = stepsSeen_ ? trainSeconds_ / static_cast<double>(stepsSeen_) : 0;
  add(formatDuration(perStep) + "/step", StepTime);
  if (trainSeconds_ > 0)
    add(formatCount(static_cast<double>(samplesSeen_) / trainSeconds_) + " samples/s", Speed);
  for (const auto &[name, value] : logs)
    add(untrusted::forLine(name) + " " + training::formatShort(value));
  if (std::optional<float> scale = optimizer_.dynamicScale()) {
    add("scale " + print("%.9g", *scale));
    add("skipped " + std::to_string(state.skipped));
  }
  double stepsLeft = static_cast<double>(stepsPerEpoch_ - step) +
                     static_cast<double>(epochs_ - epoch - 1) * static_cast<double>(stepsPerEpoch_);
  if (!state.stopReason.empty())
    stepsLeft = 0;
  add("eta " + formatEta(stepsLeft * perStep), Eta);
  return parts;
}

/// The first `columns` characters of UTF-8 text.
static std::string cut(const std::string &text, size_t columns) {
  size_t count = 0;
  for (size_t i = 0; i < text.size(); ++i)
    if ((text[i] & 0xc0) != 0x80 && count++ == columns)
      return text.substr(0, i);
  return text;
}

/// The terminal's columns without the last, behind which some terminals go to the next line.
static size_t columnsOf(FILE *terminal) {
  struct winsize window = {};
  return ioctl(fileno(terminal), TIOCGWINSZ, &window) == 0 && window.ws_col > 1 ? window.ws_col - 1u
                                                                                : 1000;
}

void ProgressLine::draw(const std::vector<LinePart> &parts, bool isLast) {
  const size_t columns = columnsOf(console_.err());
  const std::vector<LinePart> fitting = fitParts(parts, columns);
  // A line that will be drawn again cannot be two; one that stays shows every value.
  const std::string text = isLast ? wrapParts(fitting, columns) : cut(joinParts(fitting), columns);
  std::fprintf(console_.err(), "\r\033[K%s", text.c_str());
  std::fflush(console_.err());
  open_ = true;
}

void ProgressLine::stepEnd(const FitState &state, const training::StepResult &step) {
  Clock::time_point now = Clock::now();
  ++stepsSeen_;
  stepsDone_ = state.step;
  samplesSeen_ += step.rows;
  trainSeconds_ = std::chrono::duration<double>(now - epochStart_).count();
  double quiet = std::chrono::duration<double>(now - lastDrawn_).count();
  if (quiet < (console_.terminal() ? 0.1 : 60.0))
    return;
  lastDrawn_ = now;
  data::Result<Logs> logs = training::readMetrics(session_);
  const std::vector<LinePart> parts = line(state, state.epoch, state.step, logs ? *logs : Logs());
  if (console_.terminal())
    draw(parts, /*isLast=*/false);
  else
    std::fprintf(console_.err(), "%s\n", joinParts(parts).c_str());
}

void ProgressLine::epochEnd(const FitState &state, const Logs &logs) {
  const std::vector<LinePart> parts = line(state, state.epoch - 1, stepsDone_, logs);
  if (console_.terminal())
    draw(parts, /*isLast=*/true);
  else
    std::fprintf(console_.err(), "%s", joinParts(parts).c_str());
  std::fprintf(console_.err(), "\n");
  std::fflush(console_.err());
  open_ = false;
}

void ProgressLine::finish() {
  if (open_)
    std::fprintf(console_.err(), "\n");
  open_ = false;
}

} // namespace mpc::commands
