// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Counters, histograms and their text.
#include "runtime/serving/serving_metrics.h"

#include "runtime/training/memory_plan.h"

#include <cstdio>

namespace mpc::serving {

static std::string decimal(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

void Histogram::observe(double value) {
  size_t bucket = 0;
  while (bucket < bounds_.size() && value > bounds_[bucket])
    ++bucket;
  counts_[bucket].fetch_add(1, std::memory_order_relaxed);
  double sum = sum_.load(std::memory_order_relaxed);
  while (!sum_.compare_exchange_weak(sum, sum + value, std::memory_order_relaxed)) {
  }
}

std::string Histogram::text(const char *name, const std::string &labels) const {
  std::string text;
  uint64_t count = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    count += counts_[i].load(std::memory_order_relaxed);
    text += std::string(name) + "_bucket{" + labels + ",le=\"" +
            (i < bounds_.size() ? decimal(bounds_[i]) : "+Inf") + "\"} " + std::to_string(count) +
            "\n";
  }
  text += std::string(name) + "_sum{" + labels + "} " +
          decimal(sum_.load(std::memory_order_relaxed)) + "\n";
  return text + name + "_count{" + labels + "} " + std::to_string(count) + "\n";
}

void ServingMetrics::countReply(int status) {
  std::lock_guard<std::mutex> lock(mutex_);
  ++replies_[status];
}

std::string ServingMetrics::text(size_t queueCapacity) const {
  const std::string labels = "model=\"" + model_ + "\"";
  std::string text;
  auto head = [&](const char *name, const char *type, const char *help) {
    text += std::string("# HELP ") + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
  };
  auto single = [&](const char *name, const char *type, const char *help,
                    const std::string &value) {
    head(name, type, help);
    text += std::string(name) + "{" + labels + "} " + value + "\n";
  };
  auto histogram = [&](const char *name, const Histogram &values, const char *help) {
    head(name, "histogram", help);
    text += values.text(name, labels);
  };
  head("mpc_requests_total", "counter", "HTTP requests that were answered, by status.");
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto &[status, count] : replies_)
      text += "mpc_requests_total{" + labels + ",code=\"" + std::to_string(status) + "\"} " +
              std::to_string(count) + "\n";
  }
  single("mpc_inference_failures_total", "counter", "Inference requests that were not computed.",
         std::to_string(failures.load()));
  single("mpc_rows_total", "counter", "Rows that the model computed.", std::to_string(rows.load()));
  single("mpc_runs_total", "counter", "Runs of the model.", std::to_string(runs.load()));
  histogram("mpc_request_duration_seconds", requestSeconds,
            "From a request's header to its reply, inference only.");
  histogram("mpc_queue_duration_seconds", queueSeconds, "How long requests waited for a run.");
  histogram("mpc_run_duration_seconds", runSeconds, "Runs of the model.");
  histogram("mpc_batch_rows", batchRows, "Rows of a run.");
  single("mpc_queue_length", "gauge", "Requests that wait for a run.",
         std::to_string(waiting.load()));
  single("mpc_queue_capacity", "gauge", "Requests that may wait.", std::to_string(queueCapacity));
  single("mpc_connections", "gauge", "Open connections.", std::to_string(connections.load()));
  single("mpc_connections_total", "counter", "Connections that were accepted.",
         std::to_string(allConnections.load()));
  single("mpc_connections_refused_total", "counter", "Connections beyond the largest number.",
         std::to_string(refusedConnections.load()));
  single("process_resident_memory_bytes", "gauge", "Resident memory.",
         std::to_string(training::residentBytes()));
  return text;
}

} // namespace mpc::serving
