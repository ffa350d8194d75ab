// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batcher.h"

#include <algorithm>
#include <cstring>

// Floats of one row; 0 for what this server does not take.
static size_t rowSize(const mpc_rt_tensor_info_t *tensors, uint32_t count) {
  if (count != 1 || tensors->dtype != MPC_RT_FLOAT32 || !tensors->rank ||
      tensors->dims[0] != MPC_RT_DYNAMIC)
    return 0;
  size_t size = 1;
  for (uint32_t i = 1; i < tensors->rank; ++i)
    size *= static_cast<size_t>(tensors->dims[i]);
  return size;
}

mpc::Result<std::unique_ptr<Batcher>> Batcher::create(const std::string &path, Options options) {
  auto model = mpc::Model::load(path);
  if (!model)
    return model.error();
  std::unique_ptr<Batcher> batcher(new Batcher(std::move(*model), options));
  mpc::ContextOptions contextOptions;
  contextOptions.threads = options.threads;
  for (unsigned i = 0; i < options.contexts; ++i) {
    auto context = batcher->model_.createContext(contextOptions);
    if (!context)
      return context.error();
    if (auto loaded = context->loadInitial(); !loaded)
      return loaded.error();
    batcher->contexts_.push_back(std::move(*context));
  }
  const mpc_rt_entry_info_t *predict = nullptr;
  uint32_t entry = 0;
  const mpc_rt_model_t *handle = mpc_rt_context_model(batcher->contexts_[0].handle());
  if (mpc_rt_status_t status = mpc_rt_find_entry(handle, "predict", &entry))
    return mpc::Error{status, mpc_rt_last_error()};
  predict = &mpc_rt_model_executable(handle)->entries[entry];
  batcher->inputSize_ = rowSize(predict->inputs, predict->input_count);
  batcher->outputSize_ = rowSize(predict->outputs, predict->output_count);
  if (!batcher->inputSize_ || !batcher->outputSize_)
    return mpc::Error{MPC_RT_FAILED_PRECONDITION,
                      path + ": expected one float32 input, one float32 output and any batch"};
  for (mpc::Context &context : batcher->contexts_)
    batcher->workers_.emplace_back([pointer = batcher.get(), &context] { pointer->work(context); });
  return batcher;
}

Batcher::~Batcher() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
  }
  arrived_.notify_all();
  for (std::thread &worker : workers_)
    worker.join();
}

std::string Batcher::predict(const std::vector<float> &in, size_t rows, std::vector<float> &out) {
  if (rows == 0 || rows > options_.largestBatch || in.size() != rows * inputSize_)
    return "expected 1 to " + std::to_string(options_.largestBatch) + " rows of " +
           std::to_string(inputSize_) + " numbers";
  out.resize(rows * outputSize_);
  Request request{in.data(), out.data(), rows, false, {}};
  std::unique_lock<std::mutex> lock(mutex_);
  waiting_.push_back(&request);
  arrived_.notify_one();
  finished_.wait(lock, [&] { return request.done; });
  return request.error;
}

std::pair<size_t, size_t> Batcher::counts() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return {runs_, rows_};
}

void Batcher::work(mpc::Context &context) {
  uint32_t entry = 0;
  mpc_rt_find_entry(mpc_rt_context_model(context.handle()), "predict", &entry); // create() found it
  std::vector<float> in(options_.largestBatch * inputSize_),
      out(options_.largestBatch * outputSize_);
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    arrived_.wait(lock, [&] { return ending_ || !waiting_.empty(); });
    if (waiting_.empty())
      return; // ending, and nobody waits any more
    auto waitingRows = [&] {
      size_t rows = 0;
      for (const Request *request : waiting_)
        rows += request->rows;
      return rows;
    };
    arrived_.wait_for(lock, options_.patience, [&] {
      return ending_ || waiting_.empty() || waitingRows() >= options_.largestBatch;
    });
    std::vector<Request *> taken;
    size_t rows = 0;
    while (!waiting_.empty() && rows + waiting_.front()->rows <= options_.largestBatch) {
      taken.push_back(waiting_.front());
      rows += taken.back()->rows;
      waiting_.pop_front();
    }
    if (taken.empty())
      continue; // another worker took them
    lock.unlock();
    size_t at = 0;
    for (const Request *request : taken) {
      std::copy_n(request->in, request->rows * inputSize_, in.data() + at * inputSize_);
      at += request->rows;
    }
    const void *inputs[] = {in.data()};
    void *outputs[] = {out.data()};
    const mpc_rt_status_t status =
        mpc_rt_context_run(context.handle(), entry, inputs, outputs, static_cast<int64_t>(rows));
    const std::string error = status ? mpc_rt_last_error() : "";
    at = 0;
    for (Request *request : taken) {
      if (error.empty())
        std::copy_n(out.data() + at * outputSize_, request->rows * outputSize_, request->out);
      at += request->rows;
    }
    lock.lock();
    ++runs_;
    rows_ += rows;
    for (Request *request : taken) {
      request->error = error;
      request->done = true;
    }
    finished_.notify_all();
  }
}
