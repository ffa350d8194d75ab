// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-run serve: a model behind the Open Inference Protocol.
#include "runtime/commands/commands.h"
#include "runtime/commands/interruption.h"
#include "runtime/serving/http_server.h"
#include "runtime/training/batcher.h"

#include <algorithm>
#include <csignal>
#include <sched.h>

namespace mpc::commands {

using data::Result;
using data::Status;
using training::Session;

namespace {
struct ServeOptions {
  serving::HttpServer::Options http;
  serving::BatchOptions batches;
  int64_t contexts = 0;
};
} // namespace

static std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

static ServeOptions readOptions(Arguments &arguments) {
  ServeOptions options;
  options.http.host = arguments.text("host", "127.0.0.1");
  options.http.port = static_cast<uint16_t>(arguments.integer("port", 8000, 0, 65535));
  serving::HttpLimits &limits = options.http.limits;
  limits.connections = static_cast<size_t>(arguments.integer("max-connections", 256, 1, 65536));
  limits.bodyBytes = static_cast<size_t>(arguments.integer("max-body", 64, 1, 4096)) << 20;
  limits.body = limits.reply = milliseconds(arguments.real("timeout", 30, 0.001, 86400));
  limits.header = std::min(limits.header, limits.body);
  limits.idle = milliseconds(arguments.real("idle-timeout", 60, 0.001, 86400));
  options.http.grace = milliseconds(arguments.real("grace", 30, 0, 86400));
  options.batches.largestBatch = arguments.integer("batch-size", 0, 1, INT32_MAX);
  options.batches.patience = std::chrono::microseconds(
      static_cast<int64_t>(arguments.real("max-delay", 1, 0, 60000) * 1000));
  options.batches.capacity = static_cast<size_t>(arguments.integer("queue", 256, 1, 1 << 20));
  options.contexts = arguments.integer("contexts", 0, 1, 1024);
  return options;
}

static uint32_t usableProcessors() {
  cpu_set_t set;
  const int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return static_cast<uint32_t>(std::max(count, 1));
}

/// A session for each context; all of them share the library and its mapped weights.
static Result<std::vector<serving::BatchRunner>> openRunners(training::SessionOptions options,
                                                             int64_t contexts,
                                                             serving::ServedModel &model,
                                                             Console &console) {
  std::vector<serving::BatchRunner> runners;
  for (int64_t i = 0; i < contexts; ++i) {
    Result<std::unique_ptr<Session>> session = Session::open(options);
    if (!session)
      return session.failure();
    if (i == 0) {
      console.notes((*session)->notes());
      Result<serving::ServedModel> described = serving::describeServed(**session);
      if (!described)
        return described.failure();
      model = std::move(*described);
    }
    runners.emplace_back(model, std::move(*session));
    if (Status status = runners.back().warmUp(); !status)
      return status.failure();
    options.verify = false; // once is enough
  }
  return runners;
}

int serve(Arguments &arguments, Console &console) {
  training::SessionOptions sessionOptions = commands::sessionOptions(arguments);
  ServeOptions options = readOptions(arguments);
  if (!arguments.errors().empty())
    return console.usage("mpc-run serve", arguments.errors());
  // Small models gain more from several contexts than from several threads of one.
  if (sessionOptions.threads == 0)
    sessionOptions.threads = 1;
  if (options.contexts == 0)
    options.contexts = sessionOptions.device == "cpu"
                           ? std::max<int64_t>(usableProcessors() / sessionOptions.threads, 1)
                           : 1;
  console.doing("loading " + sessionOptions.library, loadingAdvice);
  serving::ServedModel model;
  Result<std::vector<serving::BatchRunner>> runners =
      openRunners(sessionOptions, options.contexts, model, console);
  if (!runners)
    return console.fail(runners.failure());
  if (Status status = training::checkFixedBatch(
          model.fixedBatch,
          options.batches.largestBatch ? options.batches.largestBatch : model.fixedBatch, 0,
          model.path);
      !status)
    return console.fail(status.failure());
  if (options.batches.largestBatch == 0)
    options.batches.largestBatch = model.fixedBatch ? model.fixedBatch : 64;

  serving::ServingMetrics metrics(model.name);
  Result<std::unique_ptr<serving::HttpServer>> server =
      serving::HttpServer::listen(options.http, metrics);
  if (!server)
    return console.fail(server.failure());
  if (!(*server)->isLocal())
    console.warn(options.http.host + ": other machines can connect, and nothing asks who they are; "
                                     "put a proxy in front that does");
  const std::string host = options.http.host.find(':') == std::string::npos
                               ? options.http.host
                               : "[" + options.http.host + "]";
  Interruption interruption;
  console.print("serving http://" + host + ":" + std::to_string((*server)->port()) + "/v2/models/" +
                model.name + " (contexts: " + std::to_string(options.contexts) +
                ", threads of each: " + std::to_string(sessionOptions.threads) +
                ", rows of a run: up to " + std::to_string(options.batches.largestBatch) + ")");
  console.doing("serving " + model.path, runningAdvice);
  serving::BatchQueue queue(model, std::move(*runners), options.batches, metrics);
  serving::Endpoints endpoints(model, queue, metrics);
  const std::function<bool()> isAskedToEnd = [] { return Interruption::signal() != 0; };
  if ((*server)->run(endpoints, isAskedToEnd))
    return Done;
  console.warn("requests were left unanswered after --grace");
  return 128 + Interruption::signal();
}

} // namespace mpc::commands
