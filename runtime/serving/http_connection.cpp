// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A connection's life: wait, read, answer, again. Each step has its time.
#include "runtime/serving/http_connection.h"

#include "mpc-rt/model.h"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>

namespace mpc::serving {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

HttpConnection::HttpConnection(asio::ip::tcp::socket socket, std::shared_ptr<ConnectionShare> share)
    : stream_(std::move(socket)), share_(std::move(share)),
      buffer_(share_->limits.headerBytes + (size_t(128) << 10)) {
  ++share_->count;
  share_->metrics->connections = static_cast<int64_t>(share_->count.load());
}

HttpConnection::~HttpConnection() {
  release();
  --share_->count;
  share_->metrics->connections = static_cast<int64_t>(share_->count.load());
}

bool HttpConnection::hold(size_t bytes) {
  size_t before = share_->heldBytes.load();
  do {
    if (bytes > share_->limits.heldBytes() - std::min(before, share_->limits.heldBytes()))
      return false;
  } while (!share_->heldBytes.compare_exchange_weak(before, before + bytes));
  held_ += bytes;
  return true;
}

void HttpConnection::release() {
  share_->heldBytes -= held_;
  held_ = 0;
}

void HttpConnection::start() {
  Error ignored;
  stream_.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
  asio::dispatch(stream_.get_executor(), [self = shared_from_this()] { self->waitForRequest(); });
}

void HttpConnection::refuse() {
  HttpReply reply = refusal(503, "there are too many connections");
  reply.canRetry = true;
  asio::dispatch(stream_.get_executor(), [self = shared_from_this(), reply] {
    self->stream_.expires_after(std::chrono::seconds(1));
    self->send(reply, /*closes=*/true);
  });
}

void HttpConnection::closeIdle() {
  asio::post(stream_.get_executor(), [self = shared_from_this()] {
    Error ignored;
    if (self->isIdle_)
      self->stream_.socket().close(ignored);
  });
}

void HttpConnection::waitForRequest() {
  parser_.emplace();
  parser_->header_limit(static_cast<uint32_t>(share_->limits.headerBytes));
  parser_->body_limit(share_->limits.bodyBytes);
  if (buffer_.size()) // a client that does not wait for replies
    return readHeader();
  if (share_->isEnding)
    return finish(/*closes=*/true);
  isIdle_ = true;
  stream_.expires_after(share_->limits.idle);
  stream_.async_read_some(buffer_.prepare(4096),
                          [self = shared_from_this()](Error error, size_t bytes) {
                            self->isIdle_ = false;
                            if (error) // nothing was asked
                              return;
                            self->buffer_.commit(bytes);
                            self->readHeader();
                          });
}

void HttpConnection::readHeader() {
  began_ = std::chrono::steady_clock::now();
  isInference_ = false;
  stream_.expires_after(share_->limits.header);
  http::async_read_header(stream_, buffer_, *parser_,
                          [self = shared_from_this()](Error error, size_t) {
                            error ? self->fail(error) : self->checkHeader();
                          });
}

void HttpConnection::checkHeader() {
  const auto &header = parser_->get();
  const std::string method(header.method_string()), target(header.target());
  isInference_ = share_->endpoints->takesTensors(method, target);
  const size_t most = isInference_ ? share_->limits.bodyBytes : share_->limits.smallBodyBytes;
  parser_->body_limit(most);
  const bool hasLength = parser_->content_length().has_value();
  const size_t length = hasLength ? *parser_->content_length() : parser_->chunked() ? most : 0;
  if (length > most)
    return fail(http::error::body_limit);
  if (!hold(length)) {
    HttpReply reply = refusal(503, "too many bytes of requests are at hand");
    reply.canRetry = true;
    return send(std::move(reply), /*closes=*/true);
  }
  if (!beast::iequals(header[http::field::expect], "100-continue"))
    return readBody();
  auto goOn = std::make_shared<http::response<http::empty_body>>(http::status::continue_, 11);
  stream_.expires_after(share_->limits.reply);
  http::async_write(stream_, *goOn, [self = shared_from_this(), goOn](Error error, size_t) {
    if (!error)
      self->readBody();
  });
}

void HttpConnection::readBody() {
  stream_.expires_after(share_->limits.body);
  http::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](Error error, size_t) {
    error ? self->fail(error) : self->handle();
  });
}

static std::optional<std::string> fieldOf(const http::request<http::string_body> &message,
                                          beast::string_view name) {
  const auto at = message.find(name);
  if (at == message.end())
    return std::nullopt;
  return std::string(at->value());
}

void HttpConnection::handle() {
  stream_.expires_never(); // the queue is bounded
  http::request<http::string_body> message = parser_->release();
  const bool closes = !message.keep_alive();
  HttpRequest request;
  request.method = std::string(message.method_string());
  request.target = std::string(message.target());
  request.inferenceHeaderLength = fieldOf(message, "Inference-Header-Content-Length");
  request.contentEncoding = fieldOf(message, "Content-Encoding");
  request.body = std::move(message.body());
  share_->endpoints->handle(std::move(request), [self = shared_from_this(),
                                                 closes](HttpReply reply) {
    asio::post(self->stream_.get_executor(), [self, closes, reply = std::move(reply)]() mutable {
      if (self->isInference_)
        self->share_->metrics->requestSeconds.observe(
            std::chrono::duration<double>(std::chrono::steady_clock::now() - self->began_).count());
      self->send(std::move(reply), closes);
    });
  });
}

void HttpConnection::fail(Error error) {
  // A client that went away, or that took too long, which closed the stream.
  if (error == http::error::end_of_stream || error == http::error::partial_message ||
      error.category() != make_error_code(http::error::bad_target).category())
    return;
  const HttpLimits &limits = share_->limits;
  if (error == http::error::header_limit || error == http::error::buffer_overflow)
    return send(
        refusal(431, "the header is longer than " + std::to_string(limits.headerBytes) + " bytes"),
        /*closes=*/true);
  if (error == http::error::body_limit)
    return send(
        refusal(413, "the body is longer than " +
                         std::to_string(isInference_ ? limits.bodyBytes : limits.smallBodyBytes) +
                         " bytes"),
        /*closes=*/true);
  send(refusal(400, "this is no HTTP/1.1: " + error.message()), /*closes=*/true);
}

void HttpConnection::send(HttpReply reply, bool closes) {
  closes |= share_->isEnding;
  share_->metrics->countReply(reply.status);
  response_ = std::make_shared<http::response<http::string_body>>();
  response_->version(11);
  response_->result(static_cast<unsigned>(reply.status));
  response_->set(http::field::server, std::string("mpc-run/") + mpc_rt_version());
  response_->set(http::field::content_type, reply.type);
  response_->set("X-Content-Type-Options", "nosniff");
  if (reply.jsonBytes)
    response_->set("Inference-Header-Content-Length", std::to_string(*reply.jsonBytes));
  if (!reply.allow.empty())
    response_->set(http::field::allow, reply.allow);
  if (reply.canRetry)
    response_->set(http::field::retry_after, "1");
  response_->keep_alive(!closes);
  const bool isHead =
      parser_ && parser_->is_header_done() && parser_->get().method() == http::verb::head;
  response_->body() = isHead ? "" : std::move(reply.body);
  response_->prepare_payload();
  stream_.expires_after(share_->limits.reply);
  http::async_write(stream_, *response_, [self = shared_from_this(), closes](Error error, size_t) {
    self->response_.reset();
    self->release();
    if (!error)
      self->finish(closes);
  });
}

void HttpConnection::finish(bool closes) {
  if (!closes)
    return waitForRequest();
  Error ignored;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  stream_.expires_after(std::chrono::seconds(1));
  buffer_.clear();
  linger();
}

void HttpConnection::linger() {
  stream_.async_read_some(buffer_.prepare(4096),
                          [self = shared_from_this()](Error error, size_t bytes) {
                            self->lingered_ += bytes;
                            if (!error && self->lingered_ < self->share_->limits.bodyBytes)
                              self->linger();
                          });
}

} // namespace mpc::serving
