// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The endpoints, one function each.
#include "runtime/serving/endpoints.h"

#include "mpc-rt/model.h"

#include <charconv>
#include <new>

namespace mpc::serving {

using data::Failure;
using data::Result;

HttpReply refusal(int status, const std::string &what) {
  HttpReply reply;
  reply.status = status;
  reply.body = "{\"error\":" + quoteJson(what) + "}";
  return reply;
}

static HttpReply refusal(int status, const Failure &failure) {
  std::string text;
  for (const std::string &message : failure.messages)
    text += (text.empty() ? "" : "\n") + message;
  return refusal(status, text);
}

static HttpReply refuseForNow(const std::string &what) {
  HttpReply reply = refusal(503, what);
  reply.canRetry = true;
  return reply;
}

namespace {
enum class Place { Server, Live, Ready, Model, ModelReady, Infer, Metrics, OtherModel, Nowhere };
} // namespace

static Place placeOf(const std::string &target, const std::string &model) {
  const std::string path = target.substr(0, target.find('?'));
  if (path == "/v2" || path == "/v2/")
    return Place::Server;
  if (path == "/v2/health/live")
    return Place::Live;
  if (path == "/v2/health/ready")
    return Place::Ready;
  if (path == "/metrics")
    return Place::Metrics;
  const std::string models = "/v2/models/";
  if (path.rfind(models, 0) != 0)
    return Place::Nowhere;
  const std::string rest = path.substr(models.size());
  const size_t slash = rest.find('/');
  if (rest.substr(0, slash) != model)
    return Place::OtherModel;
  std::string tail = slash == std::string::npos ? "" : rest.substr(slash);
  const std::string version = "/versions/1";
  if (tail.rfind(version, 0) == 0)
    tail.erase(0, version.size());
  return tail.empty()       ? Place::Model
         : tail == "/ready" ? Place::ModelReady
         : tail == "/infer" ? Place::Infer
                            : Place::Nowhere;
}

bool Endpoints::takesTensors(const std::string &method, const std::string &target) const {
  return method == "POST" && placeOf(target, model_.name) == Place::Infer;
}

HttpReply Endpoints::describeServer() const {
  HttpReply reply;
  reply.body = std::string("{\"name\":\"mpc-run\",\"version\":\"") + mpc_rt_version() +
               "\",\"extensions\":[\"binary_tensor_data\"]}";
  return reply;
}

HttpReply Endpoints::describeModel() const {
  HttpReply reply;
  std::string &text = reply.body;
  auto describe = [&](const std::vector<ServedTensor> &tensors) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      text += (i ? ",{\"name\":" : "{\"name\":") + quoteJson(tensors[i].name) + ",\"datatype\":\"" +
              protocolName(tensors[i].dtype) + "\",\"shape\":[";
      for (size_t d = 0; d < tensors[i].shape.size(); ++d)
        text += (d ? "," : "") + std::to_string(tensors[i].shape[d]);
      text += "]}";
    }
  };
  text = "{\"name\":" + quoteJson(model_.name) +
         ",\"versions\":[\"1\"],\"platform\":\"mpc\",\"inputs\":[";
  describe(model_.inputs);
  text += "],\"outputs\":[";
  describe(model_.outputs);
  text += "]}";
  return reply;
}

HttpReply Endpoints::sayState(const char *key, bool isSo) const {
  HttpReply reply;
  reply.status = isSo ? 200 : 400; // which the protocol wants of it
  reply.body = std::string("{\"") + key + "\":" + (isSo ? "true" : "false") + "}";
  return reply;
}

void Endpoints::handle(HttpRequest request, const Reply &reply) {
  const Place place = placeOf(request.target, model_.name);
  if (place == Place::OtherModel)
    return reply(refusal(404, "there is no such model; this server has '" + model_.name + "'"));
  if (place == Place::Nowhere)
    return reply(refusal(404, "there is nothing of this name; see /v2"));
  const std::string method = place == Place::Infer ? "POST" : "GET";
  if (request.method != method) {
    HttpReply wrong = refusal(405, "expected " + method);
    wrong.allow = method;
    return reply(std::move(wrong));
  }
  switch (place) {
  case Place::Server:
    return reply(describeServer());
  case Place::Live:
    return reply(sayState("live", true));
  case Place::Ready:
  case Place::ModelReady:
    return reply(sayState("ready", !isEnding_));
  case Place::Model:
    return reply(describeModel());
  case Place::Metrics: {
    HttpReply metrics;
    metrics.type = "text/plain; version=0.0.4; charset=utf-8";
    metrics.body = metrics_.text(queue_.options().capacity);
    return reply(std::move(metrics));
  }
  default:
    break;
  }
  auto fail = [&](HttpReply refused) {
    ++metrics_.failures;
    reply(std::move(refused));
  };
  if (isEnding_)
    return fail(refuseForNow("the server ends"));
  if (request.contentEncoding && *request.contentEncoding != "identity")
    return fail(refusal(415, "the body is compressed; expected it as it is"));
  try {
    infer(request, reply);
  } catch (const std::bad_alloc &) {
    fail(refuseForNow("there is no memory for this request"));
  }
}

/// The arrays of a request as the model takes them, with predict's rules.
static Result<data::Dataset> bind(const ServedModel &model, InferRequest &request) {
  for (const auto &[name, array] : request.inputs) {
    bool isKnown = false;
    for (const data::TensorSpec &spec : model.signature.inputs) {
      isKnown |= spec.name == name;
      for (const std::string &alias : spec.aliases)
        isKnown |= alias == name;
    }
    if (!isKnown)
      return Failure("input '" + name + "': the model has none of this name");
  }
  data::Source source;
  source.path = model.name;
  source.arrays = std::move(request.inputs);
  for (const auto &[name, array] : source.arrays)
    source.order.push_back(name);
  return data::bindSource(source, model.signature, /*withTargets=*/false);
}

static std::string checkRows(const ServedModel &model, int64_t rows, int64_t largest) {
  if (model.fixedBatch && !model.joinsRows && rows != model.fixedBatch)
    return "the request has " + std::to_string(rows) + " rows; the model was compiled for " +
           std::to_string(model.fixedBatch);
  if (rows < 1 || (rows > largest && (model.joinsRows || !model.fixedBatch)))
    return "the request has " + std::to_string(rows) + " rows; expected 1 to " +
           std::to_string(largest) + "; send several requests";
  return "";
}

void Endpoints::infer(const HttpRequest &request, const Reply &reply) {
  auto fail = [&](int status, const Failure &failure) {
    ++metrics_.failures;
    reply(refusal(status, failure));
  };
  std::optional<size_t> jsonBytes;
  if (const auto &text = request.inferenceHeaderLength) {
    size_t value = 0;
    const auto [end, problem] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (problem != std::errc() || end != text->data() + text->size())
      return fail(400, Failure("Inference-Header-Content-Length is no number of bytes"));
    jsonBytes = value;
  }
  Result<InferRequest> parsed = parseInferRequest(request.body, jsonBytes);
  if (!parsed)
    return fail(400, parsed.failure());
  Result<std::vector<WantedOutput>> wanted = resolveOutputs(model_, *parsed);
  if (!wanted)
    return fail(400, wanted.failure());
  Result<data::Dataset> rows = bind(model_, *parsed);
  if (!rows)
    return fail(400, rows.failure());
  const std::string problem = checkRows(model_, rows->rows, queue_.options().largestBatch);
  if (!problem.empty())
    return fail(400, Failure(problem));
  auto answer = [this, reply, id = parsed->id, wanted = *wanted](BatchQueue::Outputs outputs) {
    HttpReply made;
    try {
      if (outputs) {
        InferResponse response = formatInferResponse(model_, id, wanted, *outputs);
        made.body = std::move(response.body);
        made.jsonBytes = response.jsonBytes;
        if (made.jsonBytes)
          made.type = "application/octet-stream";
      } else {
        ++metrics_.failures;
        made = outputs.failure().memory ? refuseForNow("there is no memory for this request")
                                        : refusal(500, outputs.failure());
      }
    } catch (const std::bad_alloc &) {
      made = refuseForNow("there is no memory for the response");
    }
    reply(std::move(made));
  };
  if (!queue_.submit(std::move(*rows), std::move(answer))) {
    ++metrics_.failures;
    reply(refuseForNow("the queue is full"));
  }
}

} // namespace mpc::serving
