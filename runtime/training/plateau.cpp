// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Early stopping, learning rate reduction, stop on NaN. Rules from keras/src/callbacks
// (early_stopping.py, reduce_lr_on_plateau.py, terminate_on_nan.py).
#include "runtime/training/plateau.h"

#include "runtime/data/variable_tensor.h"

#include <charconv>
#include <cmath>
#include <cstring>

namespace mpc::training {

using data::Failure;
using data::Status;

static Status checkMonitor(const char *option, const std::string &monitor, const Logs &logs) {
  if (findLog(logs, monitor))
    return Status();
  std::string names;
  for (const auto &[name, value] : logs)
    names += (names.empty() ? "" : ", ") + name;
  return Failure(std::string(option) + ": the metric '" + monitor +
                 "' is not measured; expected one of: " + names +
                 "; val_ metrics need --validation-data or --validation-split");
}

/// Keras, too, wants to be told where a metric has no direction (keras/src/callbacks/
/// monitor_callback.py).
static Status checkDirection(const char *option, const std::string &monitor,
                             const std::optional<bool> &larger) {
  if (larger)
    return Status();
  return Failure(std::string(option) + ": the name '" + monitor +
                 "' does not say whether more of it is better; say mode=max or mode=min");
}

/// MonitorCallback decides so: the first value is the best so far whatever it is, and after NaN
/// nothing is better.
static bool isBetter(bool larger, double current, double minDelta, std::optional<double> best) {
  return !best || (larger ? current - minDelta > *best : current + minDelta < *best);
}

static void readState(const CallbackState &state, const std::string &name,
                      std::optional<double> &value) {
  double number = 0;
  if (auto at = state.texts.find(name); at != state.texts.end()) {
    std::from_chars(at->second.data(), at->second.data() + at->second.size(), number);
    value = number;
  }
}
static void readState(const CallbackState &state, const std::string &name, int64_t &value) {
  if (auto at = state.texts.find(name); at != state.texts.end())
    std::from_chars(at->second.data(), at->second.data() + at->second.size(), value);
}

EarlyStop::EarlyStop(EarlyStopOptions options, Session *session)
    : options_(std::move(options)), session_(session) {}

Status EarlyStop::begin(Logs &logs) {
  if (Status status = checkMonitor("--early-stop", options_.monitor, logs); !status)
    return status;
  return checkDirection("--early-stop", options_.monitor, options_.larger);
}

Status EarlyStop::epochEnd(int64_t epoch, Logs &logs, std::string &stop) {
  const double *current = findLog(logs, options_.monitor);
  if (epoch < options_.startFromEpoch)
    return Status();
  // Until there is a better epoch, the first one that counts is the best.
  if (bestWeights_.empty())
    keepWeights();
  ++wait_;
  if (isBetter(*options_.larger, *current, options_.minDelta, best_)) {
    best_ = *current;
    keepWeights();
    if (!options_.baseline ||
        isBetter(*options_.larger, *current, options_.minDelta, options_.baseline))
      wait_ = 0;
    return Status();
  }
  if (wait_ >= options_.patience && epoch > 0)
    stop = options_.monitor + " did not improve in " + std::to_string(wait_) + " epochs from " +
           formatShort(*best_);
  return Status();
}

void EarlyStop::keepWeights() {
  if (!options_.restoreBestWeights)
    return;
  bestWeights_.clear();
  const mpc_rt_executable_t &tables = session_->executable();
  for (uint32_t i = 0; i < tables.variable_count; ++i)
    if (data::isModelVariable(tables.variables[i]))
      bestWeights_.emplace(data::tensorName(tables.variables[i]), session_->variableArray(i));
}

Status EarlyStop::trainEnd() {
  if (bestWeights_.empty())
    return Status();
  const mpc_rt_executable_t &tables = session_->executable();
  for (uint32_t i = 0; i < tables.variable_count; ++i) {
    auto at = bestWeights_.find(data::tensorName(tables.variables[i]));
    if (data::isModelVariable(tables.variables[i]) && at != bestWeights_.end() &&
        at->second.bytes())
      std::memcpy(session_->variable(i), at->second.data(), at->second.bytes());
  }
  if (mpc_rt_status_t status = mpc_rt_context_variables_changed(session_->context()))
    return session_->runtimeFailure(status);
  return Status();
}

void EarlyStop::save(CallbackState &state) const {
  for (const auto &[name, array] : bestWeights_)
    state.arrays.emplace("early_stop/" + name, array);
  if (best_)
    state.texts["early_stop.best"] = formatReal(*best_);
  state.texts["early_stop.wait"] = std::to_string(wait_);
}

void EarlyStop::restore(const CallbackState &state) {
  for (const auto &[name, array] : state.arrays)
    if (options_.restoreBestWeights && data::hasPrefix(name, "early_stop/"))
      bestWeights_.emplace(name.substr(std::strlen("early_stop/")), array);
  readState(state, "early_stop.best", best_);
  readState(state, "early_stop.wait", wait_);
}

ReduceLearningRate::ReduceLearningRate(ReduceLearningRateOptions options, OptimizerState &state,
                                       std::function<void(std::string)> report)
    : options_(std::move(options)), state_(state), report_(std::move(report)) {}

Status ReduceLearningRate::begin(Logs &logs) {
  Status status = checkMonitor("--reduce-lr", options_.monitor, logs);
  if (status)
    status = checkDirection("--reduce-lr", options_.monitor, options_.larger);
  logs.emplace_back("learning_rate", *state_.learningRate());
  return status;
}

Status ReduceLearningRate::epochEnd(int64_t epoch, Logs &logs, std::string &stop) {
  double current = *findLog(logs, options_.monitor), rate = *state_.learningRate();
  logs.emplace_back("learning_rate", rate);
  if (cooldownLeft_ > 0) {
    --cooldownLeft_;
    wait_ = 0;
  }
  if (isBetter(*options_.larger, current, options_.minDelta, best_)) {
    best_ = current;
    wait_ = 0;
  } else if (cooldownLeft_ <= 0 && ++wait_ >= options_.patience &&
             rate > static_cast<double>(static_cast<float>(options_.minimum))) {
    double lowered = std::max(rate * options_.factor, options_.minimum);
    state_.setLearningRate(static_cast<float>(lowered));
    report_("epoch " + std::to_string(epoch + 1) + ": learning rate " + formatReal(lowered) +
            ", because " + options_.monitor + " did not improve");
    cooldownLeft_ = options_.cooldown;
    wait_ = 0;
  }
  return Status();
}

void ReduceLearningRate::save(CallbackState &state) const {
  if (best_)
    state.texts["reduce_lr.best"] = formatReal(*best_);
  state.texts["reduce_lr.wait"] = std::to_string(wait_);
  state.texts["reduce_lr.cooldown"] = std::to_string(cooldownLeft_);
}

void ReduceLearningRate::restore(const CallbackState &state) {
  readState(state, "reduce_lr.best", best_);
  readState(state, "reduce_lr.wait", wait_);
  readState(state, "reduce_lr.cooldown", cooldownLeft_);
}

std::string TerminateOnNaN::stepEnd(const StepResult &step) {
  if (std::isfinite(step.loss))
    return "";
  return "the loss of step " + std::to_string(step.globalStep + 1) + " is " + formatReal(step.loss);
}

} // namespace mpc::training
