// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random inputs and timed steps.
#include "runtime/commands/bench_steps.h"
#include "runtime/rules/isa_name.h"

#include "mpc-rt/tuning.h"
#include "runtime/data/convert.h"

#include <chrono>
#include <nlohmann/json.hpp>

namespace mpc::commands {

using data::Array;
using data::Result;
using data::Status;

namespace {

/// SplitMix64 (Steele, Lea, Flood, 2014): only has to be quick and the same everywhere.
class Random {
public:
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  float unit() { return static_cast<float>(next() >> 40) * 0x1p-24f; }

private:
  uint64_t state_ = 0;
};

Result<data::Column> randomColumn(const data::TensorSpec &spec, int64_t rows, bool isTarget,
                                  Random &random) {
  std::vector<int64_t> dims = spec.dims;
  dims.insert(dims.begin(), rows);
  bool real = data::isFloating(spec.dtype);
  Result<Array> array = Array::allocate(real ? MPC_RT_FLOAT32 : MPC_RT_INT64, dims);
  if (!array)
    return array.failure().within(spec.name, "use a smaller --batch-size");
  uint64_t bound = spec.indexLimit > 0 ? static_cast<uint64_t>(spec.indexLimit) : 2;
  for (int64_t i = 0; i < array->elements(); ++i) {
    if (real && spec.indexLimit > 0)
      array->as<float>()[i] = static_cast<float>(random.next() % bound);
    else if (real)
      array->as<float>()[i] = isTarget ? random.unit() : random.unit() * 2 - 1;
    else
      array->as<int64_t>()[i] = spec.isText ? 'a' + static_cast<int64_t>(random.next() % 26)
                                            : static_cast<int64_t>(random.next() % bound);
  }
  // As the entry wants it, so that a step does not measure conversions that data would not need.
  Result<Array> converted =
      data::convertArray(*array, spec.dtype, data::Conversion::ThroughFloat32);
  if (!converted)
    return converted.failure();
  return data::Column{spec, *converted, 0, 0};
}

Result<data::Dataset> randomData(const data::Signature &signature, int64_t rows, bool withTargets) {
  data::Dataset dataset;
  Random random;
  dataset.rows = rows;
  dataset.path = "random data";
  auto add = [&](const data::TensorSpec &spec, bool isTarget) -> Status {
    Result<data::Column> column = randomColumn(spec, rows, isTarget, random);
    if (!column)
      return column.failure();
    dataset.columns.push_back(*column);
    return Status();
  };
  for (const data::TensorSpec &spec : signature.inputs)
    if (Status status = add(spec, false); !status)
      return status.failure();
  if (!withTargets)
    return dataset;
  for (const data::TensorSpec &spec : signature.targets)
    if (Status status = add(spec, true); !status)
      return status.failure();
  for (const data::TensorSpec &spec : signature.sampleWeights) {
    if (Status status = add(spec, true); !status)
      return status.failure();
    data::Column &weights = dataset.columns.back();
    std::vector<float> ones(static_cast<size_t>(weights.array.elements()), 1.0f);
    data::convertElements(ones.data(), MPC_RT_FLOAT32, weights.array.data(), weights.array.dtype(),
                          weights.array.elements(), data::Conversion::Direct);
  }
  return dataset;
}

} // namespace

Result<std::unique_ptr<BenchSteps>> BenchSteps::open(const BenchOptions &options) {
  std::unique_ptr<BenchSteps> steps(new BenchSteps);
  steps->options_ = options;
  Result<std::unique_ptr<training::Session>> session = training::Session::open(options.session);
  if (!session)
    return session.failure();
  steps->session_ = std::move(*session);
  training::Session &model = *steps->session_;
  if (options.kernels)
    mpc_rt_context_record_kernels(model.context());
  steps->train_ = options.train || (!options.predict && model.findEntry("train_step"));
  Result<const mpc_rt_entry_info_t *> entry =
      model.requireEntry(steps->train_ ? "train_step" : "predict");
  if (!entry)
    return entry.failure();
  const int64_t fixed = model.fixedBatch(**entry);
  int64_t &batchSize = steps->options_.batchSize;
  if (!batchSize)
    batchSize = fixed ? fixed : 32;
  if (Status status = training::checkFixedBatch(fixed, batchSize, 0, model.path()); !status)
    return status.failure();
  data::Signature signature = model.signature(**entry);
  Result<data::Dataset> dataset = randomData(signature, batchSize, steps->train_);
  if (!options.data.empty()) {
    Result<data::Source> source =
        data::readSource(options.data, data::Split::Train, data::namesOf({signature}));
    if (!source)
      return source.failure();
    dataset = data::bindSource(*source, signature, steps->train_);
  }
  if (!dataset)
    return dataset.failure();
  steps->data_ = std::move(*dataset);
  steps->rows_.resize(static_cast<size_t>(batchSize));
  steps->nextRows_ = steps->rows_;
  steps->batcher_ = std::make_unique<training::Batcher>(model, **entry);
  Result<training::MemoryPlan> plan =
      training::planMemory(model, **entry, batchSize, steps->data_, /*inOrder=*/true);
  if (!plan)
    return plan.failure();
  steps->plan_ = *plan;
  for (int64_t i = 0; i < options.warmup; ++i)
    if (Result<double> time = steps->step(); !time)
      return time.failure();
  return steps;
}

Result<double> BenchSteps::step() {
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin = Clock::now();
  for (size_t i = 0; i < rows_.size(); ++i) {
    rows_[i] = (next_ + static_cast<int64_t>(i)) % data_.rows;
    nextRows_[i] = (rows_[i] + options_.batchSize) % data_.rows;
  }
  next_ += options_.batchSize;
  if (Status status = batcher_->run(data_, rows_, nextRows_); !status)
    return status.failure();
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

std::optional<float> BenchSteps::loss() const {
  const Array *loss = train_ ? batcher_->findOutput("loss") : nullptr;
  return loss ? std::optional<float>(*loss->as<float>()) : std::nullopt;
}

const char *BenchSteps::usedKernels() const {
  return mpc_rt_context_used_kernels(session_->context());
}

std::string BenchSteps::describe() const {
  int32_t isa = mpc_rt_context_isa(session_->context());
  auto json = nlohmann::ordered_json::object();
  json["model"] = session_->executable().model_name;
  json["mode"] = mode();
  json["device"] = options_.session.device;
  json["batch_size"] = options_.batchSize;
  json["threads"] = mpc_rt_context_threads(session_->context());
  if (const char *name = rules::isaName(isa))
    json["isa"] = name;
  json["bytes_planned"] = plan_.total();
  json["bytes_peak"] = training::peakBytes();
  json["plan"] = {{"program", plan_.program},
                  {"variables", plan_.variables},
                  {"arena", plan_.arena},
                  {"workspaces", plan_.workspaces},
                  {"data", plan_.data}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace mpc::commands
