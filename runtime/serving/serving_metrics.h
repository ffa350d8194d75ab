// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ServingMetrics: what the server counts, and its text for Prometheus.
#ifndef MPC_RUNTIME_SERVING_SERVING_METRICS_H
#define MPC_RUNTIME_SERVING_SERVING_METRICS_H

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace mpc::serving {

/// Observations in buckets, any thread's.
class Histogram {
public:
  explicit Histogram(std::vector<double> bounds)
      : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}
  void observe(double value);
  /// `name`'s series; `labels` is empty or `model="m"`.
  std::string text(const char *name, const std::string &labels) const;

private:
  std::vector<double> bounds_; // upper ones, growing; a bucket without one follows
  std::vector<std::atomic<uint64_t>> counts_;
  std::atomic<double> sum_{0};
};

class ServingMetrics {
public:
  explicit ServingMetrics(const std::string &model) : model_(model) {}

  /// A reply of any endpoint.
  void countReply(int status);
  std::atomic<uint64_t> rows{0}, runs{0}, failures{0}, refusedConnections{0}, allConnections{0};
  std::atomic<int64_t> connections{0}, waiting{0};
  Histogram requestSeconds{{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}};
  Histogram queueSeconds{{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}};
  Histogram runSeconds{{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}};
  Histogram batchRows{{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}};

  /// All of it in Prometheus's text format.
  std::string text(size_t queueCapacity) const;

private:
  std::string model_; // a C identifier
  mutable std::mutex mutex_;
  std::map<int, uint64_t> replies_; // by status
};

} // namespace mpc::serving
#endif
