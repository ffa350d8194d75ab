// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Endpoints: the Open Inference Protocol (version 2) and /metrics, from requests to replies. Knows
// nothing of sockets.
#ifndef MPC_RUNTIME_SERVING_ENDPOINTS_H
#define MPC_RUNTIME_SERVING_ENDPOINTS_H

#include "runtime/serving/batch_queue.h"
#include "runtime/serving/infer_response.h"

namespace mpc::serving {

struct HttpRequest {
  std::string method, target;
  std::optional<std::string> inferenceHeaderLength, contentEncoding;
  std::string body;
};

struct HttpReply {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::optional<size_t> jsonBytes; // Inference-Header-Content-Length
  std::string allow;               // of a 405
  bool canRetry = false;           // of a 503: Retry-After
};

/// {"error": what} with a status.
HttpReply refusal(int status, const std::string &what);

class Endpoints {
public:
  using Reply = std::function<void(HttpReply)>;

  Endpoints(const ServedModel &model, BatchQueue &queue, ServingMetrics &metrics)
      : model_(model), queue_(queue), metrics_(metrics) {}

  /// Calls `reply` once, perhaps on another thread and later. What `request` has is used before
  /// this returns.
  void handle(HttpRequest request, const Reply &reply);
  /// Whether requests of this method and target have tensors in their body; bodies of others are
  /// small.
  bool takesTensors(const std::string &method, const std::string &target) const;
  /// From now on the server is not ready, and takes no inference.
  void end() { isEnding_ = true; }

private:
  void infer(const HttpRequest &request, const Reply &reply);
  HttpReply describeServer() const;
  HttpReply describeModel() const;
  HttpReply sayState(const char *key, bool isSo) const;

  const ServedModel &model_;
  BatchQueue &queue_;
  ServingMetrics &metrics_;
  std::atomic<bool> isEnding_{false};
};

} // namespace mpc::serving
#endif
