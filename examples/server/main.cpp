// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A small HTTP server for compiled models.
//
//   server MODEL [--port=N] [--contexts=N] [--batch=N]
//
//   POST /predict  {"inputs": [[...], ...]}   rows of numbers; {"outputs": [[...], ...]}, in which
//                  JSON has null for what is not finite
//   GET  /health   {"model": ..., "runs": ..., "rows": ...}
//   POST /stop     ends the server
//
// Requests that come together are run as one batch. With --port=0 the system picks a port; the
// first line of output says it.
#include "batcher.h"

#include <cmath>
#include <cstdlib>
#include <httplib.h>
#include <iostream>
#include <nlohmann/json.hpp>

using nlohmann::json;

static void refuse(httplib::Response &response, int status, const std::string &what) {
  response.status = status;
  response.set_content(json{{"error", what}}.dump(-1, ' ', true, json::error_handler_t::replace),
                       "application/json");
}

static void predict(Batcher &batcher, const httplib::Request &request,
                    httplib::Response &response) {
  const json body = json::parse(request.body, nullptr, /*allow_exceptions=*/false);
  if (!body.is_object() || !body.contains("inputs") || !body["inputs"].is_array())
    return refuse(response, 400, "expected {\"inputs\": [[numbers], ...]}");
  std::vector<float> in, out;
  for (const json &row : body["inputs"]) {
    if (!row.is_array() || row.size() != batcher.inputSize())
      return refuse(response, 400,
                    "expected rows of " + std::to_string(batcher.inputSize()) + " numbers");
    for (const json &value : row) {
      if (!value.is_number())
        return refuse(response, 400, "expected numbers only");
      in.push_back(value.get<float>());
      if (!std::isfinite(in.back()))
        return refuse(response, 400, "expected numbers that float32 can hold");
    }
  }
  const size_t rows = body["inputs"].size();
  if (std::string error = batcher.predict(in, rows, out); !error.empty())
    return refuse(response, 400, error);
  json outputs = json::array();
  for (size_t row = 0; row < rows; ++row)
    outputs.push_back(
        std::vector<float>(out.begin() + static_cast<long>(row * batcher.outputSize()),
                           out.begin() + static_cast<long>((row + 1) * batcher.outputSize())));
  response.set_content(json{{"outputs", outputs}}.dump(), "application/json");
}

// Whether `argument` is --NAME=N with N from `low` to `high`, which goes to `number`.
static bool isNumber(const std::string &argument, const std::string &name, long low, long high,
                     long &number) {
  const std::string start = "--" + name + "=";
  if (argument.rfind(start, 0) != 0 || argument.size() == start.size())
    return false;
  char *end = nullptr;
  number = std::strtol(argument.c_str() + start.size(), &end, 10);
  return *end == '\0' && number >= low && number <= high;
}

int main(int argc, char **argv) {
  std::string path;
  int port = 8080;
  Batcher::Options options;
  bool isUnderstood = true;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    long number = 0;
    if (isNumber(argument, "port", 0, 65535, number))
      port = static_cast<int>(number);
    else if (isNumber(argument, "contexts", 1, 1024, number))
      options.contexts = static_cast<unsigned>(number);
    else if (isNumber(argument, "batch", 1, 65536, number))
      options.largestBatch = static_cast<size_t>(number);
    else if (path.empty() && !argument.empty() && argument[0] != '-')
      path = argument;
    else
      isUnderstood = false;
  }
  if (path.empty() || !isUnderstood) {
    std::cerr << "usage: server MODEL [--port=N] [--contexts=N] [--batch=N]\n";
    return 2;
  }
  auto batcher = Batcher::create(path, options);
  if (!batcher) {
    std::cerr << "error: " << batcher.error().message << "\n";
    return 1;
  }
  httplib::Server server;
  server.set_payload_max_length(64 << 20);
  server.Post("/predict", [&](const httplib::Request &request, httplib::Response &response) {
    predict(**batcher, request, response);
  });
  server.Get("/health", [&](const httplib::Request &, httplib::Response &response) {
    const auto [runs, rows] = (*batcher)->counts();
    response.set_content(json{{"model", path}, {"runs", runs}, {"rows", rows}}.dump(),
                         "application/json");
  });
  server.Post("/stop", [&](const httplib::Request &, httplib::Response &response) {
    response.set_content("{}", "application/json");
    server.stop();
  });
  const bool isBound = port ? server.bind_to_port("127.0.0.1", port)
                            : (port = server.bind_to_any_port("127.0.0.1")) > 0;
  if (!isBound) {
    std::cerr << "error: port " << port << " cannot be used; name another one with --port\n";
    return 1;
  }
  std::cout << "listening on http://127.0.0.1:" << port << std::endl;
  server.listen_after_bind();
  return 0;
}
