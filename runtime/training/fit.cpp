// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The loop over epochs and steps.
#include "runtime/training/fit.h"

#include "runtime/training/shuffle.h"
#include "runtime/training/trace.h"

#include <algorithm>

namespace mpc::training {

using data::Result;
using data::Status;

namespace {

class Loop {
public:
  Loop(Session &session, const data::Dataset &data, const FitOptions &options, FitState &state,
       const mpc_rt_entry_info_t &trainStep, const mpc_rt_entry_info_t *evaluate)
      : session_(session), data_(data), options_(options), state_(state), step_(session, trainStep),
        order_(data.rows, options.shuffle, options.seed) {
    if (evaluate)
      evaluate_ = std::make_unique<Batcher>(session, *evaluate);
    stepsPerEpoch_ = options.stepsPerEpoch(data.rows);
    epochs_ = options.steps ? 1 : options.epochs;
    // A run that did all of its steps goes on where it is given more of them: in its one epoch.
    if (options.steps && state_.epoch > 0 && state_.globalStep < options.steps) {
      state_.epoch = 0;
      state_.step = state_.globalStep;
      state_.history.clear();
    }
  }

  Result<bool> run() {
    // A resumed run that has nothing left to do has logs all the same.
    if (state_.epoch >= epochs_ && !state_.history.empty())
      if (Status status = tellHistory(); !status)
        return status.failure();
    while (state_.epoch < epochs_ && state_.stopReason.empty()) {
      if (options_.observer)
        options_.observer->epochBegin(state_, stepsPerEpoch_, epochs_);
      if (state_.step == 0)
        if (Status status = resetMetrics(session_); !status)
          return status.failure();
      Result<bool> interrupted = runSteps();
      if (!interrupted || *interrupted)
        return interrupted;
      if (Status status = endEpoch(); !status)
        return status.failure();
      bool leave = options_.interrupted && options_.interrupted();
      bool last = state_.epoch == epochs_ || !state_.stopReason.empty();
      if (canSave() && (leave || last || options_.saveEvery == 0))
        if (Status status = options_.saveCheckpoint(state_); !status)
          return status.failure();
      if (leave)
        return true;
    }
    return false;
  }

private:
  /// Nothing can go on from a model that a step has spoiled, and the checkpoints before it can.
  bool canSave() const { return options_.saveCheckpoint && !state_.isSpoiled; }

  /// The rest of the epoch's steps; whether it was interrupted.
  Result<bool> runSteps() {
    while (state_.step < stepsPerEpoch_ && state_.stopReason.empty()) {
      if (Status status = runStep(); !status)
        return status.failure();
      bool leave = options_.interrupted && options_.interrupted();
      bool due = options_.saveEvery && state_.globalStep % options_.saveEvery == 0;
      if (options_.trace && (leave || due))
        options_.trace->restoreTotals(); // a checkpoint holds the running metrics
      if (canSave() && (leave || due))
        if (Status status = options_.saveCheckpoint(state_); !status)
          return status.failure();
      if (leave)
        return true;
    }
    return false;
  }

  /// The rows of a step of this epoch; none behind its last one.
  void chooseRows(int64_t step, std::vector<int64_t> &rows) {
    rows.clear();
    if (step >= stepsPerEpoch_)
      return;
    const int64_t begin = step * options_.batchSize;
    // Only counted steps take rows again to fill a batch.
    const int64_t end = options_.steps ? begin + options_.batchSize
                                       : std::min(begin + options_.batchSize, data_.rows);
    for (int64_t position = begin; position < end; ++position)
      rows.push_back(options_.steps ? order_.at(position / data_.rows, position % data_.rows)
                                    : order_.at(state_.epoch, position));
  }

  Batcher &batcherOf(int64_t step) {
    for (Callback *callback : options_.callbacks)
      if (const mpc_rt_entry_info_t *entry = callback->stepEntry(step)) {
        if (!replacement_ || &replacement_->entry() != entry)
          replacement_ = std::make_unique<Batcher>(session_, *entry);
        step_.forgetNext();
        return *replacement_;
      }
    if (replacement_)
      replacement_->forgetNext();
    return step_;
  }

  Status runStep() {
    if (nextRows_.empty())
      chooseRows(state_.step, rows_);
    else
      std::swap(rows_, nextRows_);
    chooseRows(state_.step + 1, nextRows_);
    if (options_.trace)
      if (Status status = options_.trace->stepBegin(); !status)
        return status;
    for (Callback *callback : options_.callbacks)
      if (Status status = callback->stepBegin(state_.globalStep, rows_); !status)
        return status;
    Batcher &step = batcherOf(state_.globalStep);
    if (Status status = step.run(data_, rows_, nextRows_); !status)
      return status;
    for (Callback *callback : options_.callbacks)
      if (Status status = callback->stepRan(state_.globalStep, rows_); !status)
        return status;
    StepResult result{state_.globalStep, static_cast<int64_t>(rows_.size()), 0, true, &rows_};
    if (const data::Array *loss = step.findOutput("loss"))
      result.loss = *loss->as<float>();
    if (const data::Array *finite = step.findOutput("finite"))
      result.finite = *finite->data() != 0;
    state_.skipped += !result.finite;
    ++state_.step;
    ++state_.globalStep;
    if (options_.trace)
      if (Status status = options_.trace->stepEnd(step); !status)
        return status;
    for (Callback *callback : options_.callbacks)
      if (std::string reason = callback->stepEnd(result); !reason.empty()) {
        state_.stopReason = reason;
        state_.isSpoiled = true;
      }
    if (options_.observer)
      options_.observer->stepEnd(state_, result);
    return Status();
  }

  Status endEpoch() {
    if (options_.trace)
      options_.trace->restoreTotals();
    Result<Logs> logs = readMetrics(session_);
    if (!logs)
      return logs.failure();
    if (options_.validation) {
      KeptMetrics kept(session_); // a run of counted steps may go on from this epoch's end
      Result<std::vector<Measurement>> validation =
          evaluateRows(session_, *evaluate_, *options_.validation, options_.batchSize);
      if (!validation)
        return validation.failure();
      if (Status status = kept.restore(); !status)
        return status;
      for (const auto &[name, value] : asLogs(*validation))
        logs->emplace_back("val_" + name, value);
    }
    for (Callback *callback : options_.callbacks)
      if (Status status = callback->epochEnd(state_.epoch, *logs, state_.stopReason); !status)
        return status;
    state_.history.push_back(*logs);
    ++state_.epoch;
    state_.step = 0;
    if (Status status = tellHistory(); !status)
      return status;
    if (options_.observer)
      options_.observer->epochEnd(state_, *logs);
    return Status();
  }

  Status tellHistory() {
    for (Callback *callback : options_.callbacks)
      if (Status status = callback->historyChanged(state_.history); !status)
        return status;
    return Status();
  }

  Session &session_;
  const data::Dataset &data_;
  const FitOptions &options_;
  FitState &state_;
  Batcher step_;
  std::unique_ptr<Batcher> evaluate_, replacement_;
  RowOrder order_;
  int64_t stepsPerEpoch_, epochs_;
  std::vector<int64_t> rows_, nextRows_; ///< of this step and the one after it
};

} // namespace

Result<bool> fit(Session &session, const data::Dataset &data, const FitOptions &options,
                 FitState &state) {
  Result<const mpc_rt_entry_info_t *> trainStep = session.requireEntry("train_step");
  if (!trainStep)
    return trainStep.failure();
  const mpc_rt_entry_info_t *evaluate = nullptr;
  if (options.validation) {
    Result<const mpc_rt_entry_info_t *> entry = session.requireEntry("evaluate");
    if (!entry)
      return entry.failure();
    evaluate = *entry;
  }
  return Loop(session, data, options, state, **trainStep, evaluate).run();
}

} // namespace mpc::training
