// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-run train: reads the data, trains, writes what was asked for.
#include "mpc-rt/tuning.h"
#include "runtime/checkpoint/checkpoint_folder.h"
#include "runtime/commands/commands.h"
#include "runtime/commands/interruption.h"
#include "runtime/commands/progress_line.h"
#include "runtime/commands/training_data.h"
#include "runtime/data/atomic_file.h"
#include "runtime/reports/blame.h"
#include "runtime/reports/step_reports.h"
#include "runtime/training/epoch_log.h"
#include "runtime/training/event_trace.h"
#include "runtime/training/memory_plan.h"
#include "runtime/training/moving_average.h"
#include "runtime/training/overflow_probe.h"
#include "runtime/training/rank_digest.h"
#include "runtime/training/rank_job.h"
#include "runtime/training/scale_watch.h"
#include "runtime/training/trace.h"
#include "runtime/training/tuning.h"
#include "runtime/training/weights.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>

namespace mpc::commands {

using data::Failure;
using data::Result;
using data::Status;
using training::Session;
using TuningWay = training::TuningOptions::Way;

namespace {

/// Steps from which on measuring kernels is worth two per cent of the time.
constexpr uint64_t longTraining = 200;

/// --json: each epoch's metrics on standard output as soon as they are known.
class JsonOutput : public training::Callback {
public:
  explicit JsonOutput(Console &console) : console_(console) {}
  Status historyChanged(const std::vector<training::Logs> &history) override {
    return console_.write(training::jsonLine(int64_t(history.size()) - 1, history.back()) + "\n");
  }

private:
  Console &console_;
};

/// Callbacks behind this one read weights at the end of an epoch, which are whole then.
class WholeWeights : public training::Callback {
public:
  explicit WholeWeights(std::function<Status()> gather) : gather_(std::move(gather)) {}
  Status epochEnd(int64_t, training::Logs &, std::string &) override { return gather_(); }

private:
  std::function<Status()> gather_;
};

/// One training run with its callbacks and files.
class Run {
public:
  Run(const TrainOptions &options, Session &session, training::RankJob &job,
      const TrainingData &data, Console &console)
      : options_(options), session_(session), job_(job), data_(data), console_(console),
        optimizer_(session), progress_(console, session),
        folder_(options.checkpoint.empty() ? options.resume : options.checkpoint, options.keep) {
    identity_.batchSize = options.batchSize;
    identity_.rows = data.train.rows;
    identity_.steps = options.steps;
    identity_.shuffle = training::shuffleName(options.shuffle);
    identity_.seed = options.session.seed;
    identity_.tune = options.session.tuning.way == TuningWay::measure ||
                     options.session.tuning.way == TuningWay::file;
  }

  int run() {
    if (Status status = prepare(); !status)
      return console_.fail(status.failure());
    if (Status told; !job_.agree(compareVariables(), told))
      return console_.fail(told.failure());
    Interruption interruption;
    training::FitOptions fit = fitOptions();
    fit.validation = data_.validation ? &*data_.validation : nullptr;
    for (const auto &callback : callbacks_)
      fit.callbacks.push_back(callback.get());
    fit.observer = options_.quiet ? nullptr : &progress_;
    fit.trace = trace_.get();
    fit.saveEvery = options_.saveEvery;
    if (!options_.checkpoint.empty())
      fit.saveCheckpoint = [&](const training::FitState &state) { return saveCheckpoint(state); };
    else if (options_.othersCheckpoint)
      fit.saveCheckpoint = [&](const training::FitState &) { return gather(/*everywhere=*/false); };
    Failure lostRank;
    fit.interrupted = [&] {
      // Ranks leave after the same step, whichever of them was asked to.
      Result<bool> any = job_.anyRank(Interruption::signal() != 0);
      if (!any)
        lostRank = any.failure();
      return !any || *any;
    };
    Result<bool> interrupted = training::fit(session_, data_.train, fit, state_);
    progress_.finish();
    if (!interrupted)
      return console_.fail(interrupted.failure());
    if (!lostRank.empty())
      return console_.fail(lostRank);
    return end(*interrupted);
  }

private:
  Status prepare() {
    Failure failure;
    for (const std::string *path : {&options_.save, &options_.trace, &options_.traceEvents,
                                    &options_.csvLog, &options_.jsonLog, &options_.numerics.page})
      if (!path->empty())
        if (Status status = data::checkWritable(*path); !status)
          failure.append(status.failure());
    if (!failure.empty())
      return failure;
    if (!options_.checkpoint.empty())
      if (Status status = folder_.prepare(); !status)
        return status;
    if (Status status = makeCallbacks(); !status)
      return status;
    if (options_.earlyStop || options_.reduceLearningRate)
      if (Status status = beginCallbacks(); !status)
        return status;
    if (measuresByItself())
      if (mpc_rt_status_t status = mpc_rt_context_tune_for(session_.context(), expectedSteps()))
        return session_.runtimeFailure(status);
    if (options_.memory)
      if (Status status = notePlan(); !status)
        return status;
    if (!options_.traceEvents.empty()) {
      auto events = std::make_unique<training::EventTrace>(job_);
      events_ = events.get();
      callbacks_.push_back(std::move(events));
    }
    if (!options_.trace.empty()) {
      trace_ = std::make_unique<training::Trace>(session_);
      if (Status status = trace_->checkNames(options_.trace); !status)
        return status;
    }
    if (options_.resume.empty()) {
      replaceEarlierRun(/*step=*/-1);
      return Status();
    }
    checkpoint::CheckpointFolder from(options_.resume, options_.keep);
    training::CallbackState saved;
    std::vector<std::string> notes;
    Status status = from.resume(session_, identity_, state_, saved, notes);
    if (job_.isFirst())
      console_.notes(notes);
    if (!status)
      return status;
    for (const auto &callback : callbacks_)
      callback->restore(saved);
    dropStopReason();
    std::error_code ignored;
    const bool isSame = std::filesystem::equivalent(options_.checkpoint, options_.resume, ignored);
    replaceEarlierRun(isSame ? state_.globalStep : -1);
    return Status();
  }

  /// Behind loading, initializing and resuming: ranks that begin with other values would never
  /// agree.
  Status compareVariables() {
    if (job_.size() == 1)
      return Status();
    return job_.compare(
        {{"the weights and the checkpoint's steps",
          training::digestOfVariables(session_) + static_cast<uint64_t>(state_.globalStep)}});
  }

  /// A rule that ended the earlier run does not end this one where it is not asked for again.
  void dropStopReason() {
    if (state_.stopReason.empty() || options_.earlyStop)
      return;
    console_.note(options_.resume + ": its run stopped (" + state_.stopReason + "); going on, " +
                  "since no option asks to stop for that");
    state_.stopReason.clear();
  }

  /// The folder has checkpoints of more than `step` steps (-1: of any): a forgotten --resume, or
  /// one of another folder.
  void replaceEarlierRun(int64_t step) {
    if (options_.checkpoint.empty())
      return;
    const size_t count = folder_.supersede(step);
    if (count == 0)
      return;
    std::string note = options_.checkpoint + ": has " + std::to_string(count) +
                       (count == 1 ? " checkpoint" : " checkpoints") +
                       " of an earlier run, which the first one of this run replaces";
    if (options_.resume.empty())
      note +=
          "; --resume " + options_.checkpoint + " would go on from " + (count == 1 ? "it" : "them");
    console_.warn(note);
  }

  /// --memory: before the first step. What validation needs more comes first.
  Status notePlan() {
    training::MemoryPlan plan;
    const bool inOrder = options_.shuffle == training::Shuffle::Off;
    for (const char *name : {"evaluate", "train_step"}) {
      const mpc_rt_entry_info_t *entry = session_.findEntry(name);
      const bool isValidation = std::strcmp(name, "evaluate") == 0;
      if (!entry || (isValidation && !data_.validation))
        continue;
      Result<training::MemoryPlan> own =
          training::planMemory(session_, *entry, options_.batchSize,
                               isValidation ? *data_.validation : data_.train, inOrder);
      if (!own)
        return own.failure();
      own->program += plan.program - std::min(plan.program, session_.residentWhenOpened());
      own->data += options_.validationData.empty() ? 0 : plan.data; // else rows of the same arrays
      plan = *own;
    }
    console_.note("memory: " + training::describe(plan));
    return Status();
  }

  /// Below whatever line is being drawn.
  void note(const std::string &text) {
    progress_.finish();
    console_.note(text);
  }

  Status makeCallbacks() {
    const auto warn = [this](const std::string &text) {
      progress_.finish();
      console_.warn(text);
    };
    if (optimizer_.hasLossScale())
      callbacks_.push_back(std::make_unique<training::ScaleWatch>(
          optimizer_, warn, [this](const training::StepResult &step) { return diagnose(step); }));
    if (!options_.numerics.folder.empty()) {
      // Each rank reports its own rows.
      reports::StepReportOptions own = options_.numerics;
      own.folder += job_.isFirst() ? "" : "/rank-" + std::to_string(job_.rank());
      Result<std::unique_ptr<reports::StepReports>> reports =
          reports::StepReports::open(session_, data_.train, own);
      if (!reports)
        return reports.failure();
      callbacks_.push_back(std::move(*reports));
    }
    if (options_.terminateOnNaN)
      callbacks_.push_back(std::make_unique<training::TerminateOnNaN>());
    // Before early stopping, so that its logs have the learning rate, as a list of callbacks would.
    if (options_.reduceLearningRate) {
      if (!optimizer_.learningRate())
        return Failure(session_.path() +
                       ": --reduce-lr cannot be used: the learning rate follows a "
                       "schedule; expected an optimizer with a constant one");
      callbacks_.push_back(std::make_unique<training::ReduceLearningRate>(
          *options_.reduceLearningRate, optimizer_,
          [this](const std::string &text) { note(text); }));
    }
    if (options_.earlyStop)
      callbacks_.push_back(std::make_unique<WholeWeights>([this] { return gather(true); }));
    if (options_.earlyStop)
      callbacks_.push_back(std::make_unique<training::EarlyStop>(*options_.earlyStop, &session_));
    if (!options_.csvLog.empty())
      callbacks_.push_back(std::make_unique<training::CsvLog>(options_.csvLog, warn));
    if (!options_.jsonLog.empty())
      callbacks_.push_back(std::make_unique<training::JsonLog>(options_.jsonLog, warn));
    if (!options_.tensorBoard.empty()) {
      auto log = std::make_unique<training::TensorBoardLog>(options_.tensorBoard, warn);
      if (Status status = log->prepare(data_.validation.has_value()); !status)
        return status;
      callbacks_.push_back(std::move(log));
    }
    if (options_.json)
      callbacks_.push_back(std::make_unique<JsonOutput>(console_));
    return Status();
  }

  /// Blames a skipped step on a value, where the model can report them, else on a layer.
  std::string diagnose(const training::StepResult &step) {
    if (job_.size() > 1 || options_.deterministicRanks)
      return ""; // single rows are no batch of several ranks
    if (Result<std::unique_ptr<reports::TracedModel>> model =
            reports::TracedModel::open(session_, /*trains=*/true)) {
      Result<std::optional<reports::Blame>> blame =
          reports::blameStep(session_, **model, data_.train, *step.indices, step.globalStep);
      return blame && *blame ? reports::asText(*blame) : "";
    }
    return std::isfinite(step.loss) ? ""
                                    : training::findOverflow(session_, data_.train, *step.indices);
  }

  Status beginCallbacks() {
    Result<training::Logs> logs = training::readMetrics(session_);
    if (!logs)
      return logs.failure();
    if (data_.validation)
      for (size_t i = 0, count = logs->size(); i < count; ++i)
        logs->emplace_back("val_" + (*logs)[i].first, 0);
    Failure failure;
    for (const auto &callback : callbacks_)
      if (Status status = callback->begin(*logs); !status)
        failure.append(status.failure());
    return failure.empty() ? Status() : Status(failure);
  }

  /// Ranks that have parts of variables (mpcc --shard=optimizer) bring them together, on the first
  /// one or on all. All ranks call it.
  Status gather(bool everywhere) {
    const mpc_rt_status_t status =
        mpc_rt_context_gather_variables(session_.context(), everywhere || job_.isFirst());
    return status ? Status(session_.runtimeFailure(status)) : Status();
  }

  Status saveCheckpoint(const training::FitState &state) {
    if (Status status = gather(/*everywhere=*/false); !status)
      return status;
    training::CallbackState saved;
    for (const auto &callback : callbacks_)
      callback->save(saved);
    return folder_.save(session_, identity_, state, saved);
  }

  training::FitOptions fitOptions() const {
    training::FitOptions fit;
    fit.epochs = options_.epochs;
    fit.batchSize = options_.batchSize;
    fit.steps = options_.steps;
    fit.shuffle = options_.shuffle;
    fit.seed = options_.session.seed;
    return fit;
  }
  uint64_t expectedSteps() const {
    const auto perEpoch = static_cast<uint64_t>(fitOptions().stepsPerEpoch(data_.train.rows));
    const uint64_t epochs = options_.steps ? 1 : static_cast<uint64_t>(options_.epochs);
    return perEpoch > UINT64_MAX / epochs ? UINT64_MAX : perEpoch * epochs;
  }

  /// A long training measures kernels where the rules are those of another kind of CPU. A resumed
  /// one goes on as the checkpoint says, and ranks would measure different ones.
  bool measuresByItself() {
    return options_.session.tuning.way == TuningWay::automatic && !options_.deterministic &&
           job_.size() == 1 && !options_.deterministicRanks && options_.resume.empty() &&
           expectedSteps() > longTraining &&
           mpc_rt_context_has_measured_rules(session_.context()) == 0;
  }

  /// Says how many products each kernel was measured to be the fastest for.
  void noteKernels() {
    const std::string found =
        training::summarizeChoices(mpc_rt_context_kernel_choices(session_.context()));
    if (options_.session.tuning.way == TuningWay::measure)
      console_.note(found.empty() ? "--tune: no product here has kernels to choose from"
                                  : "--tune: of the products, " + found);
    else if (measuresByItself() && !found.empty())
      console_.note("kernels were measured, since no rules are known of this kind of CPU: of the "
                    "products, " +
                    found + "; --tune=off leaves that out");
  }

  int end(bool interrupted) {
    noteKernels();
    if (options_.memory)
      console_.note("memory: " + training::formatMegabytes(training::peakBytes()) + " MB peak");
    if (!state_.stopReason.empty())
      console_.note("stopped after epoch " + std::to_string(state_.epoch) + ": " +
                    state_.stopReason +
                    (state_.isSpoiled && !options_.checkpoint.empty()
                         ? "; no checkpoint was made of it, those before it stay"
                         : ""));
    if (trace_)
      if (Status status = data::writeNpz(options_.trace, trace_->arrays()); !status)
        return console_.fail(status.failure());
    if (events_) {
      if (Status status = events_->write(options_.traceEvents); !status)
        return console_.fail(status.failure());
      const std::string overlap = job_.isFirst() ? events_->describeOverlap() : "";
      if (!overlap.empty())
        note(overlap);
    }
    if (interrupted) {
      if (Status status = askAll(callbacks_, &training::Callback::interrupted); !status)
        return console_.fail(status.failure());
      const int own = Interruption::signal(); // 0: another rank's
      console_.note("interrupted after step " + std::to_string(state_.globalStep) +
                    (options_.checkpoint.empty()
                         ? "; nothing was saved: --checkpoint DIR would have"
                         : "; go on with --resume " + options_.checkpoint));
      return 128 + (own ? own : SIGTERM);
    }
    // Weights change on all ranks below, or are read on the first one.
    const bool changesWeights = training::hasAverages(session_) || options_.earlyStop;
    if (changesWeights || !options_.save.empty() || options_.othersSave)
      if (Status status = gather(changesWeights); !status)
        return console_.fail(status.failure());
    // As Keras's fit ends; a trace is of single steps, which do not do it.
    if (options_.steps == 0)
      if (Status status = training::finalizeAverages(session_); !status)
        return console_.fail(status.failure());
    // Behind the averages, which best weights replace.
    if (Status status = askAll(callbacks_, &training::Callback::trainEnd); !status)
      return console_.fail(status.failure());
    if (!options_.save.empty())
      if (Status status = training::saveVariables(session_, options_.save); !status)
        return console_.fail(status.failure());
    return Done;
  }

  const TrainOptions &options_;
  Session &session_;
  training::RankJob &job_;
  const TrainingData &data_;
  Console &console_;
  training::OptimizerState optimizer_;
  ProgressLine progress_;
  checkpoint::CheckpointFolder folder_;
  checkpoint::RunIdentity identity_;
  training::FitState state_;
  std::unique_ptr<training::Trace> trace_;
  training::EventTrace *events_ = nullptr; ///< among the callbacks
  std::vector<std::unique_ptr<training::Callback>> callbacks_;
};

/// Fails on ranks that would train another model, or on other rows.
Status compareRanks(training::RankJob &job, const TrainOptions &options, Session &session,
                    const TrainingData &data) {
  if (job.size() == 1)
    return Status();
  return job.compare({{"the library's bytes", training::digestOfLibrary(session)},
                      {"the command line's options", training::digestOf(options.describe())},
                      {"the data's rows", training::digestOfData(data.train)}});
}

int trainOnRank(TrainOptions &options, training::RankJob &job,
                Result<std::unique_ptr<Session>> &session, Console &console) {
  if (!job.isFirst())
    options.keepToOneself();
  console.doing("loading " + options.session.library, loadingAdvice);
  session = Session::open(options.session);
  if (session && !options.deterministicRanks &&
      MPC_RT_EXECUTABLE_HAS(&(*session)->executable(), batch_parts))
    options.deterministicRanks = (*session)->executable().batch_parts;
  Status opened =
      session ? job.join(**session, options.deterministicRanks) : Status(session.failure());
  if (opened && options.deterministicRanks && !options.numerics.folder.empty())
    opened = Failure("--numerics: reports what ranks compute, not the parts of "
                     "--deterministic-ranks; leave one of the two out");
  if (opened && !options.trace.empty() && job.size() > 1 && training::hasParts(**session))
    opened = Failure("--trace: reads whole variables behind each step, of which ranks have parts "
                     "here; trace one rank, or compile without --shard=optimizer");
  if (opened && options.deterministicRanks && options.session.tuning.way == TuningWay::measure)
    opened = Failure("--tune: ranks would measure different kernels, which sum in other orders, "
                     "and --deterministic-ranks promises equal bytes; leave one of the two out, or "
                     "give all ranks one file of mpc-run tune: --tune=FILE");
  Status told;
  if (!job.agree(opened, told))
    return console.fail(told.failure());
  if (job.isFirst())
    console.notes((*session)->notes());
  if (!options.batchSize) {
    const mpc_rt_entry_info_t *entry = (*session)->findEntry("train_step");
    int64_t fixed = entry ? (*session)->fixedBatch(*entry) : 0;
    options.batchSize = fixed ? fixed : 32;
  }
  console.doing("reading " + options.data, readingAdvice);
  Result<TrainingData> data = readTrainingData(options, **session);
  if (!job.agree(data ? Status() : Status(data.failure()), told) ||
      !job.agree(compareRanks(job, options, **session, *data), told))
    return console.fail(told.failure());
  if (job.isFirst())
    console.notes(data->train.notes);
  console.doing("training in batches of " + std::to_string(options.batchSize) + " rows",
                runningAdvice);
  return Run(options, **session, job, *data, console).run();
}

} // namespace

int train(Arguments &arguments, Console &console) {
  TrainOptions options = trainOptions(arguments);
  if (!arguments.errors().empty())
    return console.usage("mpc-run train", arguments.errors());
  Result<std::unique_ptr<training::RankJob>> job = training::RankJob::open();
  if (!job)
    return console.fail(job.failure());
  // Other ranks may still read what a failed exchange sends, as long as there is the job.
  Result<std::unique_ptr<Session>> session = Failure("");
  const int code = trainOnRank(options, **job, session, console);
  // The others would wait for this rank. After an interruption all ranks leave by themselves.
  if (code != Done && code < 128)
    (*job)->end(code);
  return code;
}

} // namespace mpc::commands
