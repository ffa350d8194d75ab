// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Batch assembly and the call of an entry.
#include "runtime/training/batcher.h"

#include "runtime/data/gather.h"
#include "runtime/data/variable_tensor.h"
#include "runtime/training/rank_job.h"

#include <algorithm>
#include <cstring>

namespace mpc::training {

using data::Array;
using data::Failure;
using data::Result;
using data::Status;

/// The row of a column that every call takes as a whole.
static constexpr int64_t theOnlyRow = 0;

Batcher::Batcher(Session &session, const mpc_rt_entry_info_t &entry)
    : session_(session), entry_(entry),
      index_(static_cast<uint32_t>(&entry - session.executable().entries)),
      threads_(mpc_rt_context_threads(session.context())), inputs_(entry.input_count),
      outputs_(entry.output_count) {}

Status Batcher::prepareOutputs(int64_t count) {
  if (outputBatch_ == count)
    return Status();
  for (uint32_t i = 0; i < entry_.output_count; ++i) {
    Result<Array> array =
        Array::allocate(entry_.outputs[i].dtype, data::dimsOf(entry_.outputs[i], count));
    if (!array)
      return array.failure().within(session_.path() + ":" + entry_.outputs[i].name);
    outputs_[i] = *array;
  }
  outputBatch_ = count;
  return Status();
}

void Batcher::prefetch(const data::Dataset &data, const std::vector<int64_t> &rows) {
  prefetchedData_ = nullptr;
  if (!canPrefetch_ || rows.empty())
    return;
  prefetchedData_ = &data;
  prefetchedRows_ = rows;
  auto fill = [](void *user, void *const *inputs) {
    const auto &batcher = *static_cast<Batcher *>(user);
    const std::vector<int64_t> &next = batcher.prefetchedRows_;
    for (uint32_t i = 0; i < batcher.entry_.input_count; ++i) {
      const data::Column &column = batcher.prefetchedData_->columns[i];
      const bool isWhole = column.spec.isWhole;
      data::gatherRows(column, isWhole ? &theOnlyRow : next.data(),
                       isWhole ? 1 : static_cast<int64_t>(next.size()), inputs[i],
                       batcher.threads_);
    }
  };
  canPrefetch_ =
      mpc_rt_context_prefetch(session_.context(), index_, static_cast<int64_t>(rows.size()), fill,
                              this) == MPC_RT_OK;
  if (!canPrefetch_)
    prefetchedData_ = nullptr;
}

Status Batcher::run(const data::Dataset &data, const std::vector<int64_t> &rows,
                    const std::vector<int64_t> &next) {
  const auto [rank, ranks] = session_.place();
  const bool isShared =
      ranks > 1 && std::strcmp(entry_.name, "predict") != 0; // predictions stay row by row
  if (!isShared)
    return runOwn(data, rows, next);
  return runOwn(data, rowsOfRank(rows, rank, ranks), rowsOfRank(next, rank, ranks));
}

Status Batcher::runOwn(const data::Dataset &data, const std::vector<int64_t> &rows,
                       const std::vector<int64_t> &next) {
  const auto count = static_cast<int64_t>(rows.size());
  const bool isOnDevice = prefetchedData_ == &data && prefetchedRows_ == rows;
  prefetch(data, next);
  if (isOnDevice)
    return runPointers(nullptr, count);
  std::vector<const void *> pointers(entry_.input_count);
  for (uint32_t i = 0; i < entry_.input_count; ++i) {
    const data::Column &column = data.columns[i];
    const int64_t *own = column.spec.isWhole ? &theOnlyRow : rows.data();
    const int64_t taken = column.spec.isWhole ? 1 : count;
    if (taken == 0)
      continue; // of a rank without rows
    if ((pointers[i] = data::findRows(column, own, taken)))
      continue;
    if (inputs_[i].bytes() < data::rowBytes(column) * static_cast<size_t>(taken) ||
        !inputs_[i].data()) {
      Result<Array> array =
          Array::allocate(entry_.inputs[i].dtype, data::dimsOf(entry_.inputs[i], count));
      if (!array)
        return array.failure().within(data.path + ":" + column.spec.name,
                                      "use a smaller --batch-size");
      inputs_[i] = *array;
    }
    data::gatherRows(column, own, taken, inputs_[i].data(), threads_);
    pointers[i] = inputs_[i].data();
  }
  return runBuffers(pointers, count);
}

Status Batcher::runAll(const data::Dataset &data, int64_t batchSize, bool full,
                       const std::function<void(int64_t, int64_t)> &done) {
  auto rowsFrom = [&](int64_t first) {
    const int64_t count = full ? batchSize : std::min(batchSize, data.rows - first);
    std::vector<int64_t> rows(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i)
      rows[static_cast<size_t>(i)] = std::min(first + i, data.rows - 1);
    return rows;
  };
  std::vector<int64_t> rows, next;
  for (int64_t first = 0; first < data.rows; first += batchSize) {
    rows = first == 0 ? rowsFrom(first) : std::move(next);
    next = first + batchSize < data.rows ? rowsFrom(first + batchSize) : std::vector<int64_t>();
    if (Status status = run(data, rows, next); !status)
      return status;
    if (done)
      done(first, std::min(batchSize, data.rows - first));
  }
  return Status();
}

Status Batcher::runBuffers(const std::vector<const void *> &inputs, int64_t count) {
  return runPointers(inputs.data(), count);
}

Status Batcher::runPointers(const void *const *inputs, int64_t count) {
  if (Status status = prepareOutputs(count); !status)
    return status;
  std::vector<void *> pointers;
  for (Array &output : outputs_)
    pointers.push_back(output.data());
  if (mpc_rt_status_t status =
          mpc_rt_context_run(session_.context(), index_, inputs, pointers.data(), count))
    return session_.runtimeFailure(status);
  return Status();
}

const Array *Batcher::findOutput(const char *name) const {
  for (uint32_t i = 0; i < entry_.output_count; ++i)
    if (std::strcmp(entry_.outputs[i].name, name) == 0)
      return &outputs_[i];
  return nullptr;
}

Status checkFixedBatch(int64_t fixed, int64_t batch, int64_t rows, const std::string &path) {
  if (!fixed)
    return Status();
  if (batch != fixed)
    return Failure(path + ": cannot be taken " + std::to_string(batch) +
                   " rows at a time; the model was compiled for batches of " +
                   std::to_string(fixed) + "; use --batch-size " + std::to_string(fixed));
  if (rows % fixed != 0)
    return Failure(path + ": has " + std::to_string(rows) + " rows; expected a multiple of " +
                   std::to_string(fixed) +
                   ", for which the model was compiled; drop rows or compile with --batch=dynamic");
  return Status();
}

} // namespace mpc::training
