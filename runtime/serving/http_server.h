// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// HttpServer: HTTP/1.1 on a socket, with a limit on all that a client may make it hold or wait for.
#ifndef MPC_RUNTIME_SERVING_HTTP_SERVER_H
#define MPC_RUNTIME_SERVING_HTTP_SERVER_H

#include "runtime/serving/endpoints.h"

namespace mpc::serving {

struct HttpLimits {
  size_t connections = 256;
  size_t headerBytes = 16 << 10;
  size_t bodyBytes = size_t(64) << 20;
  size_t smallBodyBytes = 64 << 10; // where no tensors are expected
  /// Bodies of all connections together.
  size_t heldBytes() const { return std::max(4 * bodyBytes, size_t(256) << 20); }
  /// A client has so long to begin a request, to send its header, to send its body, and to take the
  /// reply, however slowly the bytes come.
  std::chrono::milliseconds idle{60000}, header{10000}, body{30000}, reply{30000};
};

class HttpServer {
public:
  struct Options {
    std::string host = "127.0.0.1";
    uint16_t port = 8000; // 0: any free one
    HttpLimits limits;
    std::chrono::milliseconds grace{30000}; // for requests at hand when the server ends
  };

  /// Listens; connections wait until run().
  static data::Result<std::unique_ptr<HttpServer>> listen(const Options &options,
                                                          ServingMetrics &metrics);
  ~HttpServer();

  uint16_t port() const;
  /// Whether only programs of this machine can connect.
  bool isLocal() const;
  /// Serves until `isAskedToEnd`, which is called now and then, says so; then finishes what is at
  /// hand. False where that took longer than the grace.
  bool run(Endpoints &endpoints, const std::function<bool()> &isAskedToEnd);

private:
  class Listener;
  explicit HttpServer(std::unique_ptr<Listener> listener);
  std::unique_ptr<Listener> listener_;
};

} // namespace mpc::serving
#endif
