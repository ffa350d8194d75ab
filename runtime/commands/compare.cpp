// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-run compare: two compiled forms of one model, layer by layer, and over steps of training.
#include "runtime/commands/commands.h"
#include "runtime/commands/entry_rows.h"
#include "runtime/data/atomic_file.h"
#include "runtime/reports/comparison.h"
#include "runtime/reports/html_page.h"
#include "runtime/reports/value_report.h"
#include "runtime/training/metrics.h"
#include "runtime/untrusted/outlets.h"

#include <algorithm>
#include <cmath>

namespace mpc::commands {

using data::Result;
using data::Status;
using reports::ComparedValue;
using reports::Json;

namespace {

struct CompareOptions {
  training::SessionOptions session;
  std::string second, data, out, html;
  int64_t batchSize = 0, steps = 0;
  bool json = false;
};

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json describe(const ComparedValue &compared) {
  Json json = Json::parse(reports::describe(compared.value));
  json["dtype_of_first"] = compared.dtypeOfFirst;
  json["relative_error"] = number(compared.value.relativeError());
  json["own_error"] = compared.value.ownError ? number(*compared.value.ownError) : Json(nullptr);
  json["cosine"] = number(compared.cosine());
  return json;
}

/// Roundings of float32 differ by less.
constexpr double divergence = 1e-5;

Json describe(const std::vector<ComparedValue> &values) {
  Json json = Json::object();
  json["first_divergence"] = nullptr;
  for (const ComparedValue &value : values)
    if (!(value.value.relativeError() <= divergence)) {
      json["first_divergence"] = Json::object();
      json["first_divergence"]["layer"] = value.value.layer;
      json["first_divergence"]["op"] = value.value.op;
      json["first_divergence"]["direction"] = reports::directionName(value.value.direction);
      break;
    }
  json["values"] = Json::array();
  for (const ComparedValue &value : values)
    json["values"].push_back(describe(value));
  return json;
}

/// Trains both on the same rows: {"loss": [[a, b], …], "metrics": {name: [a, b]}}.
Result<Json> compareTraining(EntryRows &first, EntryRows &second, const CompareOptions &options) {
  Json json = Json::object();
  json["loss"] = Json::array();
  json["metrics"] = Json::object();
  training::Batcher one(*first.session, *first.entry), other(*second.session, *second.entry);
  for (training::Session *session : {first.session.get(), second.session.get()})
    if (Status status = training::resetMetrics(*session); !status)
      return status.failure();
  for (int64_t step = 0; step < options.steps; ++step) {
    std::vector<int64_t> rows;
    for (int64_t j = 0; j < options.batchSize; ++j)
      rows.push_back((step * options.batchSize + j) % first.data.rows);
    Json losses = Json::array();
    for (auto [batcher, data] : {std::pair(&one, &first.data), std::pair(&other, &second.data)}) {
      if (Status status = batcher->run(*data, rows); !status)
        return status.failure();
      const data::Array *loss = batcher->findOutput("loss");
      losses.push_back(loss ? number(static_cast<double>(*loss->as<float>())) : Json(nullptr));
    }
    json["loss"].push_back(losses);
  }
  Result<training::Logs> a = training::readMetrics(*first.session);
  Result<training::Logs> b = training::readMetrics(*second.session);
  if (!a || !b)
    return a ? b.failure() : a.failure();
  for (const auto &[name, value] : *a) {
    const double *same = training::findLog(*b, name);
    json["metrics"][name] = Json::array({number(value), same ? number(*same) : Json(nullptr)});
  }
  return json;
}

CompareOptions readOptions(Arguments &arguments) {
  CompareOptions options;
  arguments.requirePositional(2, "A and B (libNAME.so or their folders)");
  options.session = sessionOptions(arguments, /*libraries=*/2);
  if (arguments.positional().size() == 2)
    options.second = arguments.positional()[1];
  arguments.require("data", "D");
  options.data = arguments.text("data");
  options.out = arguments.text("out");
  options.html = arguments.text("html");
  arguments.requireSuffix("out", {".json"});
  arguments.requireSuffix("html", {".html", ".htm"});
  arguments.requireDistinct({"out", "html"}, {"data", "weights"});
  options.batchSize = arguments.integer("batch-size", 0, 1, INT32_MAX);
  options.steps = arguments.integer("steps", 0, 1, INT32_MAX);
  options.json = arguments.has("json");
  return options;
}

std::string summarize(const std::vector<ComparedValue> &values, const Json &report) {
  const ComparedValue *worst = nullptr;
  for (const ComparedValue &value : values)
    if (!worst || value.value.relativeError() > worst->value.relativeError())
      worst = &value;
  std::string text = std::to_string(values.size()) + " values compared";
  if (worst)
    text += "; the largest relative error, " + training::formatShort(worst->value.relativeError()) +
            ", is that of '" + worst->value.layer + "', " + worst->value.op + " (" +
            reports::directionName(worst->value.direction) + ")";
  if (const Json &first = report["first_divergence"]; !first.is_null())
    text += "; the first difference beyond float32's roundings is in '" +
            first["layer"].get<std::string>() + "', " + first["op"].get<std::string>();
  return text;
}

} // namespace

int compare(Arguments &arguments, Console &console) {
  CompareOptions options = readOptions(arguments);
  if (!arguments.errors().empty())
    return console.usage("mpc-run compare", arguments.errors());
  for (const std::string *file : {&options.out, &options.html})
    if (!file->empty())
      if (Status status = data::checkWritable(*file); !status)
        return console.fail(status.failure());
  training::SessionOptions second = options.session;
  second.library = options.second;
  bool trains = true;
  for (const std::string *library : {&options.session.library, &second.library}) {
    Result<std::unique_ptr<training::Session>> tables = training::Session::openTables(*library);
    if (!tables)
      return console.fail(tables.failure());
    trains &= (*tables)->findEntry("train_step") != nullptr;
  }
  if (!trains && options.steps)
    return console.usage("mpc-run compare",
                         {"--steps trains both models, and one of them cannot; leave it out"});
  const char *entry = trains ? "train_step" : "predict";
  Result<EntryRows> one =
      openEntryRows(options.session, entry, options.data, data::Split::Train, console);
  if (!one)
    return console.fail(one.failure());
  Result<EntryRows> other = openEntryRows(second, entry, options.data, data::Split::Train, console);
  if (!other)
    return console.fail(other.failure());
  if (Status status = reports::copyVariables(*one->session, *other->session); !status)
    return console.fail(status.failure());
  const int64_t fixed = one->session->fixedBatch(*one->entry);
  if (options.batchSize == 0)
    options.batchSize = fixed ? fixed : 32;
  console.doing("comparing values of " + std::to_string(options.batchSize) + " rows",
                runningAdvice);
  std::vector<int64_t> rows;
  for (int64_t j = 0; j < std::min(options.batchSize, one->data.rows); ++j)
    rows.push_back(j);
  Result<std::vector<ComparedValue>> values =
      reports::compareValues(*one->session, *other->session, trains, one->data, rows);
  if (!values)
    return console.fail(values.failure());
  Json report = describe(*values);
  if (options.steps) {
    Result<Json> training = compareTraining(*one, *other, options);
    if (!training)
      return console.fail(training.failure());
    report["training"] = *training;
  }
  console.print(untrusted::forLine(summarize(*values, report)));
  const std::string text =
      untrusted::forJson(report.dump(1, ' ', false, nlohmann::json::error_handler_t::replace)) +
      "\n";
  if (!options.out.empty())
    if (Status status = data::writeFileAtomically(options.out, text); !status)
      return console.fail(status.failure());
  if (!options.html.empty()) {
    std::vector<reports::TracedValue> shown;
    for (const ComparedValue &value : *values)
      shown.push_back(value.value);
    if (Status status = data::writeFileAtomically(
            options.html,
            reports::writePage(
                "Numbers of " + options.second + " against " + options.session.library, shown));
        !status)
      return console.fail(status.failure());
  }
  return options.json ? console.json(text) : Done;
}

} // namespace mpc::commands
