// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Batcher: feeds rows of a dataset to one entry of the model and keeps its outputs.
#ifndef MPC_RUNTIME_TRAINING_BATCHER_H
#define MPC_RUNTIME_TRAINING_BATCHER_H

#include "runtime/training/session.h"

#include <functional>

namespace mpc::training {

/// Runs one entry batch by batch. Buffers are kept between calls and grow to the largest batch.
class Batcher {
public:
  Batcher(Session &session, const mpc_rt_entry_info_t &entry);

  /// Gathers `rows` of `data`, whose columns are the entry's inputs, and runs the entry: one of
  /// several ranks its part of the rows, where the entry reduces over them. `next` are
  /// the rows of the run that follows, none where that is not known: they are gathered while the
  /// device computes, if it can.
  data::Status run(const data::Dataset &data, const std::vector<int64_t> &rows,
                   const std::vector<int64_t> &next = {});
  /// Another batcher has run since this one: what this one had gathered ahead is gone.
  void forgetNext() { prefetchedData_ = nullptr; }
  /// Runs on all rows in their order, `batchSize` at a time; `done`, if there is one, is called
  /// after each batch with its first row and how many it has. `full` fills the last batch up with
  /// the last row, which does not count for `done`.
  data::Status runAll(const data::Dataset &data, int64_t batchSize, bool full,
                      const std::function<void(int64_t first, int64_t count)> &done = {});
  /// Runs on buffers that the caller filled (as the entry's inputs).
  data::Status runBuffers(const std::vector<const void *> &inputs, int64_t count);

  /// Output `index` of the last run: shape with the last batch in place.
  const data::Array &output(uint32_t index) const { return outputs_[index]; }
  /// Null if the entry has no such output.
  const data::Array *findOutput(const char *name) const;
  const mpc_rt_entry_info_t &entry() const { return entry_; }

private:
  data::Status runOwn(const data::Dataset &data, const std::vector<int64_t> &rows,
                      const std::vector<int64_t> &next);
  data::Status prepareOutputs(int64_t count);
  data::Status runPointers(const void *const *inputs, int64_t count);
  void prefetch(const data::Dataset &data, const std::vector<int64_t> &rows);
  Session &session_;
  const mpc_rt_entry_info_t &entry_;
  uint32_t index_, threads_;
  int64_t outputBatch_ = -1;
  std::vector<data::Array> inputs_;
  std::vector<data::Array> outputs_;
  bool canPrefetch_ = true;
  /// The data whose rows are on the device after the run at hand; null: nothing is.
  const data::Dataset *prefetchedData_ = nullptr;
  std::vector<int64_t> prefetchedRows_;
};

/// Checks that `batch` and `rows` suit a model compiled for a fixed batch; `path` names the data.
data::Status checkFixedBatch(int64_t fixed, int64_t batch, int64_t rows, const std::string &path);

} // namespace mpc::training
#endif
