// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// HttpConnection: one client's requests, one after the other.
#ifndef MPC_RUNTIME_SERVING_HTTP_CONNECTION_H
#define MPC_RUNTIME_SERVING_HTTP_CONNECTION_H

#include "runtime/serving/http_server.h"

#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

namespace mpc::serving {

/// The state that all connections of a server share.
struct ConnectionShare {
  HttpLimits limits;
  Endpoints *endpoints = nullptr;
  ServingMetrics *metrics = nullptr;
  std::atomic<size_t> heldBytes{0}, count{0};
  std::atomic<bool> isEnding{false};
};

class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
public:
  HttpConnection(boost::asio::ip::tcp::socket socket, std::shared_ptr<ConnectionShare> share);
  ~HttpConnection();

  void start();
  /// Says that there are too many, and closes.
  void refuse();
  /// Closes unless a request is at hand. Any thread may call it.
  void closeIdle();

private:
  using Error = boost::beast::error_code;
  void waitForRequest();
  void readHeader();
  void checkHeader();
  void readBody();
  void handle();
  void fail(Error error);
  void send(HttpReply reply, bool closes);
  void finish(bool closes);
  /// Reads what the client still sends, for a while, so that it gets the reply.
  void linger();
  bool hold(size_t bytes);
  void release();

  boost::beast::tcp_stream stream_;
  std::shared_ptr<ConnectionShare> share_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  std::shared_ptr<boost::beast::http::response<boost::beast::http::string_body>> response_;
  std::chrono::steady_clock::time_point began_;
  size_t held_ = 0, lingered_ = 0;
  bool isIdle_ = false, isInference_ = false;
};

} // namespace mpc::serving
#endif
