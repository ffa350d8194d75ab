// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reading and checking training and validation data.
#include "runtime/commands/training_data.h"

#include "runtime/training/batcher.h"
#include "runtime/training/class_weight.h"

#include <cmath>

namespace mpc::commands {

using data::Dataset;
using data::Failure;
using data::Result;
using data::Status;
using training::Session;

namespace {

/// The entries that training needs.
struct TrainingEntries {
  const mpc_rt_entry_info_t *trainStep;
  const mpc_rt_entry_info_t *evaluate; // null without validation
};

Result<TrainingEntries> findEntries(const TrainOptions &options, const Session &session) {
  Result<const mpc_rt_entry_info_t *> trainStep = session.requireEntry("train_step");
  if (!trainStep)
    return trainStep.failure();
  TrainingEntries entries{*trainStep, nullptr};
  if (options.validationData.empty() && options.validationSplit == 0)
    return entries;
  Result<const mpc_rt_entry_info_t *> evaluate = session.requireEntry("evaluate");
  if (!evaluate)
    return evaluate.failure();
  entries.evaluate = *evaluate;
  return entries;
}

/// keras/src/trainers/data_adapters/array_slicing.py, train_validation_split: the last rows.
Status splitRows(const TrainOptions &options, const Dataset &validation, TrainingData &result) {
  int64_t rows = result.train.rows;
  int64_t begin =
      static_cast<int64_t>(std::floor(static_cast<double>(rows) * (1.0 - options.validationSplit)));
  if (begin == 0 || begin == rows)
    return Failure(options.data + ": has " + std::to_string(rows) +
                   " rows, of which --validation-split " +
                   training::formatReal(options.validationSplit) + " leaves " +
                   (begin == 0 ? "none to train on" : "none to validate on") +
                   "; expected at least one of each; change the fraction");
  result.validation = validation.slice(begin, rows - begin);
  result.train = result.train.slice(0, begin);
  return Status();
}

Status applyClassWeights(const TrainOptions &options, Dataset &train) {
  if (options.classWeight.empty())
    return Status();
  Result<training::ClassWeights> weights = training::readClassWeights(options.classWeight);
  if (!weights)
    return weights.failure();
  return training::applyClassWeights(train, *weights, options.classWeight);
}

} // namespace

Result<TrainingData> readTrainingData(const TrainOptions &options, const Session &session) {
  Result<TrainingEntries> entries = findEntries(options, session);
  if (!entries)
    return entries.failure();
  TrainingData result;
  Failure failure;
  auto check = [&](const Status &status) {
    if (!status)
      failure.append(status.failure());
  };
  auto bind = [&](const Result<data::Source> &source,
                  const mpc_rt_entry_info_t &entry) -> std::optional<Dataset> {
    if (!source) {
      failure.append(source.failure());
      return std::nullopt;
    }
    Result<Dataset> data = data::bindSource(*source, session.signature(entry), true);
    if (data)
      return *data;
    failure.append(data.failure());
    return std::nullopt;
  };
  std::vector<data::Signature> signatures = {session.signature(*entries->trainStep)};
  if (options.validationSplit > 0)
    signatures.push_back(session.signature(*entries->evaluate));
  Result<data::Source> source =
      data::readSource(options.data, data::Split::Train, data::namesOf(std::move(signatures)));
  std::optional<Dataset> train = bind(source, *entries->trainStep);
  if (!options.validationData.empty())
    result.validation =
        bind(data::readSource(options.validationData, data::Split::Evaluate,
                              data::namesOf({session.signature(*entries->evaluate)})),
             *entries->evaluate);
  if (!train || !failure.empty())
    return failure;
  result.train = *train;
  if (options.validationSplit > 0)
    if (std::optional<Dataset> validation = bind(source, *entries->evaluate))
      check(splitRows(options, *validation, result));
  int64_t fixed = session.fixedBatch(*entries->trainStep);
  check(training::checkFixedBatch(fixed, options.batchSize, options.steps ? 0 : result.train.rows,
                                  options.data));
  if (result.validation)
    check(training::checkFixedBatch(fixed, options.batchSize, result.validation->rows,
                                    result.validation->path));
  check(applyClassWeights(options, result.train));
  if (!failure.empty())
    return failure;
  return result;
}

} // namespace mpc::commands
