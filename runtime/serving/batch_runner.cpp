// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gathering rows, running, and giving each request its own.
#include "runtime/serving/batch_runner.h"

#include "runtime/data/convert.h"
#include "runtime/data/gather.h"
#include "runtime/data/variable_tensor.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace mpc::serving {

using data::Array;
using data::Failure;
using data::Result;
using data::Status;

static const mpc_rt_entry_info_t &entryOf(const training::Session &session,
                                          const ServedModel &model) {
  return session.executable().entries[model.entry];
}

Status BatchRunner::prepare(int64_t rows) {
  // Outputs without rows are as large as the batch makes them.
  if (rows <= capacity_ && model_.joinsRows)
    return Status();
  const mpc_rt_entry_info_t &entry = entryOf(*session_, model_);
  auto allocate = [&](const mpc_rt_tensor_info_t *tensors, uint32_t count,
                      std::vector<Array> &arrays) {
    arrays.resize(count);
    for (uint32_t i = 0; i < count; ++i) {
      Result<Array> array =
          Array::allocate(tensors[i].dtype, data::dimsOf(tensors[i], std::max<int64_t>(rows, 1)));
      if (!array)
        return Status(array.failure().within(model_.path + ":" + tensors[i].name));
      arrays[i] = std::move(*array);
    }
    return Status();
  };
  capacity_ = 0;
  if (Status status = allocate(entry.inputs, entry.input_count, inputs_); !status)
    return status;
  if (Status status = allocate(entry.outputs, entry.output_count, outputs_); !status)
    return status;
  capacity_ = rows;
  return Status();
}

void BatchRunner::gather(const std::vector<const data::Dataset *> &parts, int64_t rows) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    uint8_t *out = inputs_[i].data();
    const size_t rowBytes = data::rowBytes(parts[0]->columns[i]);
    int64_t done = 0;
    for (const data::Dataset *part : parts) {
      std::vector<int64_t> all(static_cast<size_t>(part->rows));
      std::iota(all.begin(), all.end(), 0);
      data::gatherRows(part->columns[i], all.data(), part->rows,
                       out + static_cast<size_t>(done) * rowBytes);
      done += part->rows;
    }
    for (; done < rows; ++done)
      std::memcpy(out + static_cast<size_t>(done) * rowBytes,
                  out + static_cast<size_t>(done - 1) * rowBytes, rowBytes);
  }
}

Result<std::vector<std::vector<Array>>>
BatchRunner::run(const std::vector<const data::Dataset *> &parts) {
  int64_t given = 0;
  for (const data::Dataset *part : parts)
    given += part->rows;
  const int64_t rows = model_.fixedBatch ? model_.fixedBatch : given;
  if (Status status = prepare(rows); !status)
    return status.failure();
  gather(parts, rows);
  std::vector<const void *> in;
  std::vector<void *> out;
  for (const Array &array : inputs_)
    in.push_back(array.data());
  for (Array &array : outputs_)
    out.push_back(array.data());
  if (mpc_rt_status_t status =
          mpc_rt_context_run(session_->context(), model_.entry, in.data(), out.data(), rows))
    return session_->runtimeFailure(status);
  std::vector<std::vector<Array>> results(parts.size());
  if (bounded_.areThere()) { // which joins no requests
    for (uint32_t i = 0; i < outputs_.size(); ++i) {
      Result<Array> part = bounded_.cut(outputs_, i);
      if (!part)
        return part.failure();
      const Array &array = *part;
      results[0].push_back(Array::copyOf(array.dtype(), array.dims(), array.data()));
    }
    return results;
  }
  int64_t first = 0;
  for (size_t p = 0; p < parts.size(); ++p) {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const mpc_rt_tensor_info_t &tensor = entryOf(*session_, model_).outputs[i];
      std::vector<int64_t> dims = data::dimsOf(tensor, rows);
      size_t offset = 0;
      if (model_.joinsRows) {
        dims[0] = parts[p]->rows;
        offset = outputs_[i].bytes() / static_cast<size_t>(capacity_) * static_cast<size_t>(first);
      }
      results[p].push_back(Array::copyOf(tensor.dtype, dims, outputs_[i].data() + offset));
    }
    first += parts[p]->rows;
  }
  return results;
}

/// FNV-1a over the variables that only a forward pass changes.
uint64_t BatchRunner::hashStates() {
  uint64_t hash = 14695981039346656037u;
  for (uint32_t i = 0; i < session_->executable().variable_count; ++i) {
    const uint32_t role = session_->variableInfo(i).role;
    if (role != MPC_RT_ROLE_NON_TRAINABLE && role != MPC_RT_ROLE_RANDOM)
      continue;
    size_t bytes = 0;
    const auto *data =
        static_cast<const uint8_t *>(mpc_rt_context_variable(session_->context(), i, &bytes));
    for (size_t b = 0; b < bytes; ++b)
      hash = (hash ^ data[b]) * 1099511628211u;
  }
  return hash;
}

Status BatchRunner::warmUp() {
  const int64_t rows = model_.fixedBatch ? model_.fixedBatch : 1;
  if (Status status = prepare(rows); !status)
    return status;
  std::vector<const void *> in;
  std::vector<void *> out;
  for (Array &array : inputs_) {
    const uint8_t one = 1;
    const size_t size = data::dtypeInfo(array.dtype())->bytes;
    for (int64_t i = 0; i < array.elements(); ++i)
      data::convertElements(&one, MPC_RT_UINT8, array.data() + static_cast<size_t>(i) * size,
                            array.dtype(), 1, data::Conversion::Direct);
    in.push_back(array.data());
  }
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (model_.signature.inputs[i].indexLimit == 1) // 0 is the only index
      std::memset(inputs_[i].data(), 0, inputs_[i].bytes());
  for (Array &array : outputs_)
    out.push_back(array.data());
  const uint64_t before = hashStates();
  if (mpc_rt_status_t status =
          mpc_rt_context_run(session_->context(), model_.entry, in.data(), out.data(), rows))
    return session_->runtimeFailure(status);
  if (hashStates() != before)
    return Failure(model_.path +
                   ": keeps state from one prediction to the next (a stateful layer); expected a "
                   "model whose answer depends on the request alone; compile it without "
                   "stateful=True");
  return Status();
}

} // namespace mpc::serving
