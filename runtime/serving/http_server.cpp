// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Accepting connections, and ending.
#include "runtime/serving/http_server.h"

#include "runtime/serving/http_connection.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <list>

namespace mpc::serving {

namespace asio = boost::asio;
using asio::ip::tcp;
using Error = boost::beast::error_code;

/// How often the wish to end is looked at.
static constexpr std::chrono::milliseconds glance(20);
/// Threads that read and write; the model runs on others.
static constexpr unsigned socketThreads = 2;

class HttpServer::Listener {
public:
  explicit Listener(const Options &options, ServingMetrics &metrics)
      : options_(options), share_(std::make_shared<ConnectionShare>()) {
    share_->limits = options.limits;
    share_->metrics = &metrics;
  }

  data::Status listen();
  bool run(Endpoints &endpoints, const std::function<bool()> &isAskedToEnd);
  tcp::endpoint endpoint() const {
    Error ignored;
    return acceptor_.local_endpoint(ignored);
  }

private:
  void accept();
  void glanceAtEnd(const std::function<bool()> &isAskedToEnd);
  void beginToEnd();

  Options options_;
  std::shared_ptr<ConnectionShare> share_;
  asio::io_context io_{static_cast<int>(socketThreads)};
  asio::strand<asio::io_context::executor_type> strand_{io_.get_executor()};
  tcp::acceptor acceptor_{strand_};
  asio::steady_timer timer_{strand_}, retry_{strand_};
  std::list<std::weak_ptr<HttpConnection>> connections_;
  std::chrono::steady_clock::time_point deadline_;
  bool hasFinished_ = true;
};

data::Status HttpServer::Listener::listen() {
  const std::string place = options_.host + ":" + std::to_string(options_.port);
  Error error;
  tcp::resolver resolver(io_);
  const auto found =
      resolver.resolve(options_.host, std::to_string(options_.port),
                       tcp::resolver::passive | tcp::resolver::numeric_service, error);
  if (error || found.empty())
    return data::Failure(place + ": is no address of this machine (" + error.message() +
                         "); expected one, as 127.0.0.1 or ::1; name another one with --host");
  const tcp::endpoint endpoint = found.begin()->endpoint();
  acceptor_.open(endpoint.protocol(), error);
  if (!error)
    acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  if (!error)
    acceptor_.bind(endpoint, error);
  if (!error)
    acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error)
    return data::Failure(place + ": cannot be listened on (" + error.message() +
                         "); expected a free port; name another one with --port");
  return data::Status();
}

void HttpServer::Listener::accept() {
  acceptor_.async_accept(asio::make_strand(io_), [this](Error error, tcp::socket socket) {
    if (!acceptor_.is_open())
      return;
    if (error) { // no file descriptor is left, for example
      retry_.expires_after(std::chrono::milliseconds(50));
      retry_.async_wait([this](Error stopped) {
        if (!stopped)
          accept();
      });
      return;
    }
    ++share_->metrics->allConnections;
    const bool isOneTooMany = share_->count >= options_.limits.connections;
    // Refusals are short, and many at once are not answered.
    if (share_->count < 2 * options_.limits.connections) {
      auto connection = std::make_shared<HttpConnection>(std::move(socket), share_);
      connections_.remove_if([](const auto &known) { return known.expired(); });
      connections_.push_back(connection);
      isOneTooMany ? connection->refuse() : connection->start();
    }
    share_->metrics->refusedConnections += isOneTooMany;
    accept();
  });
}

void HttpServer::Listener::beginToEnd() {
  share_->isEnding = true;
  share_->endpoints->end();
  deadline_ = std::chrono::steady_clock::now() + options_.grace;
  Error ignored;
  acceptor_.close(ignored);
  retry_.cancel();
  for (const std::weak_ptr<HttpConnection> &known : connections_)
    if (std::shared_ptr<HttpConnection> connection = known.lock())
      connection->closeIdle();
}

void HttpServer::Listener::glanceAtEnd(const std::function<bool()> &isAskedToEnd) {
  timer_.expires_after(glance);
  timer_.async_wait([this, &isAskedToEnd](Error) {
    if (!share_->isEnding && isAskedToEnd())
      beginToEnd();
    if (share_->isEnding && share_->count == 0)
      return io_.stop();
    if (share_->isEnding && std::chrono::steady_clock::now() > deadline_) {
      hasFinished_ = false;
      return io_.stop();
    }
    glanceAtEnd(isAskedToEnd);
  });
}

bool HttpServer::Listener::run(Endpoints &endpoints, const std::function<bool()> &isAskedToEnd) {
  share_->endpoints = &endpoints;
  accept();
  glanceAtEnd(isAskedToEnd);
  auto serve = [this] {
    while (!io_.stopped()) {
      try {
        io_.run();
      } catch (const std::bad_alloc &) { // that connection is gone, others go on
      }
    }
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < socketThreads; ++i)
    others.emplace_back(serve);
  serve();
  for (std::thread &other : others)
    other.join();
  return hasFinished_;
}

HttpServer::HttpServer(std::unique_ptr<Listener> listener) : listener_(std::move(listener)) {}
HttpServer::~HttpServer() = default;

data::Result<std::unique_ptr<HttpServer>> HttpServer::listen(const Options &options,
                                                             ServingMetrics &metrics) {
  auto listener = std::make_unique<Listener>(options, metrics);
  if (data::Status status = listener->listen(); !status)
    return status.failure();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(listener)));
}

uint16_t HttpServer::port() const { return listener_->endpoint().port(); }
bool HttpServer::isLocal() const { return listener_->endpoint().address().is_loopback(); }

bool HttpServer::run(Endpoints &endpoints, const std::function<bool()> &isAskedToEnd) {
  return listener_->run(endpoints, isAskedToEnd);
}

} // namespace mpc::serving
