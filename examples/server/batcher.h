// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Batcher: collects the rows of requests that come at the same time, and runs them as one batch on
// a pool of contexts over one shared model.
#pragma once

#include <mpc/model.hpp>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

class Batcher {
public:
  struct Options {
    unsigned contexts = 2;                    // threads that run the model
    unsigned threads = 1;                     // of each of them
    size_t largestBatch = 64;                 // rows of one run
    std::chrono::microseconds patience{1000}; // how long the first row waits for others
  };

  // Contexts share the model's weights, which are mapped: a further one costs scratch memory only.
  static mpc::Result<std::unique_ptr<Batcher>> create(const std::string &path, Options options);
  ~Batcher();

  // Floats of one row of the (only) input and output.
  size_t inputSize() const { return inputSize_; }
  size_t outputSize() const { return outputSize_; }
  // `rows` rows in, as many out; waits for the result. The text says what is wrong, or is empty.
  std::string predict(const std::vector<float> &in, size_t rows, std::vector<float> &out);
  // Runs and rows so far.
  std::pair<size_t, size_t> counts() const;

private:
  struct Request {
    const float *in;
    float *out;
    size_t rows;
    bool done = false;
    std::string error;
  };
  Batcher(mpc::Model model, Options options) : model_(std::move(model)), options_(options) {}
  void work(mpc::Context &context);

  mpc::Model model_;
  Options options_;
  size_t inputSize_ = 0, outputSize_ = 0, runs_ = 0, rows_ = 0;
  std::vector<mpc::Context> contexts_;
  std::vector<std::thread> workers_;
  std::deque<Request *> waiting_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_, finished_;
  bool ending_ = false;
};
