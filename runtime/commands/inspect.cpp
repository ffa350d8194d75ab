// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-run inspect: what a compiled model is made of.
#include "runtime/commands/inspect.h"
#include "runtime/commands/commands.h"
#include "runtime/data/array.h"
#include "runtime/data/json_guard.h"
#include "runtime/data/variable_tensor.h"
#include "runtime/rules/isa_name.h"
#include "runtime/rules/isa_versions.h"
#include "runtime/untrusted/outlets.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

namespace mpc::commands {

using data::Result;
using data::Status;
using training::Session;
using Json = nlohmann::ordered_json;

static const char *const roles[] = {"trainable", "non-trainable", "optimizer",
                                    "metric",    "random",        "shadow"};

static std::string dtypeName(mpc_rt_dtype_t dtype) {
  const data::DtypeInfo *info = data::dtypeInfo(dtype);
  return info ? info->keras : "unknown";
}

static Json describeTensor(const mpc_rt_tensor_info_t &tensor) {
  Json json = Json::object();
  json["name"] = tensor.name;
  json["dtype"] = dtypeName(tensor.dtype);
  json["shape"] = Json::array();
  for (uint32_t i = 0; i < tensor.rank; ++i)
    json["shape"].push_back(tensor.dims[i] == MPC_RT_DYNAMIC ? Json(nullptr)
                                                             : Json(tensor.dims[i]));
  if (tensor.index_limit > 0)
    json["index_limit"] = tensor.index_limit;
  return json;
}

static uint64_t bytesOf(const mpc_rt_tensor_info_t &tensor) {
  const data::DtypeInfo *info = data::dtypeInfo(tensor.dtype);
  std::optional<uint64_t> bytes =
      info ? data::byteSize(data::dimsOf(tensor, 0), info->bytes) : std::nullopt;
  return bytes.value_or(0);
}

/// Says of a tensor what its type does not.
static void describeForms(const mpc_rt_executable_t &tables, uint32_t entry, bool isOutput,
                          uint32_t tensor, Json &json) {
  if (const mpc_rt_tensor_form_t *form =
          mpc_rt_find_form(&tables, entry, isOutput, tensor, MPC_RT_FORM_BOUNDED))
    json["bounded"] = {{"axis", form->axis}, {"extent_output", form->extent_output}};
  if (mpc_rt_find_form(&tables, entry, isOutput, tensor, MPC_RT_FORM_TEXT))
    json["text"] = true;
}

static Json describeEntry(const mpc_rt_executable_t &tables, uint32_t index) {
  const mpc_rt_entry_info_t &entry = tables.entries[index];
  Json json = Json::object();
  json["name"] = entry.name;
  json["inputs"] = Json::array();
  json["outputs"] = Json::array();
  for (uint32_t i = 0; i < entry.input_count; ++i) {
    json["inputs"].push_back(describeTensor(entry.inputs[i]));
    describeForms(tables, index, /*isOutput=*/false, i, json["inputs"].back());
  }
  for (uint32_t i = 0; i < entry.output_count; ++i) {
    json["outputs"].push_back(describeTensor(entry.outputs[i]));
    describeForms(tables, index, /*isOutput=*/true, i, json["outputs"].back());
  }
  json["arena_fixed"] = entry.arena_fixed;
  json["arena_per_sample"] = entry.arena_per_sample;
  return json;
}

/// The tables of the library and, under "manifest", what the compiler wrote.
static Json describe(const Session &session) {
  const mpc_rt_executable_t &tables = session.executable();
  Json json = Json::object();
  json["model"] = tables.model_name;
  json["library"] = session.path();
  struct stat info;
  json["library_bytes"] =
      ::stat(session.path().c_str(), &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
  json["compiler_version"] = tables.compiler_version;
  json["abi_version"] = tables.abi_version;
  json["source_hash"] = tables.source_hash;
  json["weights_hash"] = tables.weights_hash ? tables.weights_hash : "";
  json["targets"] = Json::array();
  for (uint32_t i = 0; i < tables.kernel_table_count; ++i) {
    if (tables.kernel_tables[i].isa == rules::isaV4WithBFloat16)
      continue; // a version of a level
    const char *name = rules::isaName(tables.kernel_tables[i].isa);
    json["targets"].push_back(name ? name : "ISA " + std::to_string(tables.kernel_tables[i].isa));
  }
  json["kernels"] = tables.kernel_count;
  json["entries"] = Json::array();
  for (uint32_t i = 0; i < tables.entry_count; ++i)
    json["entries"].push_back(describeEntry(tables, i));
  json["variables"] = Json::array();
  json["bytes_by_role"] = Json::object();
  for (uint32_t i = 0; i < tables.variable_count; ++i) {
    const mpc_rt_variable_info_t &variable = tables.variables[i];
    Json row = describeTensor(variable.tensor);
    const char *role = variable.role < std::size(roles) ? roles[variable.role] : "unknown";
    row["role"] = role;
    row["bytes"] = bytesOf(variable.tensor);
    json["bytes_by_role"][role] =
        json["bytes_by_role"].value(role, uint64_t(0)) + bytesOf(variable.tensor);
    json["variables"].push_back(row);
  }
  json["metrics"] = Json::array();
  for (uint32_t i = 0; i < tables.metric_count; ++i)
    json["metrics"].push_back(tables.metrics[i].name);
  const char *manifest = tables.manifest;
  if (manifest && data::checkJson(manifest, std::strlen(manifest), 64).empty())
    json["manifest"] = Json::parse(manifest, nullptr, false);
  return json;
}

/// As a cell of a table.
static std::string textOf(const Json &json, const char *key) {
  return json.is_object() && json.contains(key) && json[key].is_string()
             ? untrusted::forLine(json[key].get<std::string>())
             : std::string();
}

static std::string shapeOf(const Json &tensor) {
  std::vector<int64_t> dims;
  for (const auto &dim : tensor["shape"])
    dims.push_back(dim.is_null() ? -1 : dim.get<int64_t>());
  std::string text = textOf(tensor, "dtype") + " " + data::formatShape(dims);
  if (tensor.contains("bounded"))
    text += ", at most " + std::to_string(dims[tensor["bounded"]["axis"].get<size_t>()]) +
            " along axis " + std::to_string(tensor["bounded"]["axis"].get<size_t>()) + ": out" +
            std::to_string(tensor["bounded"]["extent_output"].get<int32_t>()) + " says how many";
  return tensor.contains("text") ? text + ", texts" : text;
}

static std::string padded(std::string text, size_t width) {
  text.append(text.size() < width ? width - text.size() : 1, ' ');
  return text;
}

/// Policy and types of each layer, from whatever of these the manifest's rows have.
static std::string layerTable(const Json &json) {
  if (!json.contains("manifest") || !json["manifest"].is_object() ||
      !json["manifest"].contains("layers"))
    return "";
  std::string table = "\nlayers:\n";
  const Json &layers = json["manifest"]["layers"];
  for (const auto &[key, layer] : layers.items()) {
    std::string path = textOf(layer, "path");
    table += "  " + padded(path.empty() ? untrusted::forLine(key) : path, 34) +
             padded(textOf(layer, "class"), 24);
    table += padded(layer.is_string() ? untrusted::forLine(layer.get<std::string>())
                                      : textOf(layer, "policy"),
                    18);
    for (const char *field : {"compute", "variable", "accumulate", "output", "rule"})
      if (std::string value = textOf(layer, field); !value.empty())
        table += std::string(field) + " " + value + "  ";
    table += "\n";
  }
  return table;
}

static std::string tableOf(const Json &json) {
  std::string table =
      "model " + textOf(json, "model") + ": " + textOf(json, "library") + ", " +
      std::to_string(json["library_bytes"].get<uint64_t>()) + " bytes\ncompiled by mpc " +
      textOf(json, "compiler_version") + ", ABI " +
      std::to_string(json["abi_version"].get<uint32_t>()) + "\nsource hash  " +
      textOf(json, "source_hash") + "\nweights hash " +
      (textOf(json, "weights_hash").empty() ? "none" : textOf(json, "weights_hash")) +
      "\ntargets      ";
  std::string list;
  for (const auto &target : json["targets"])
    list += (list.empty() ? "" : ", ") + target.get<std::string>();
  table += (list.empty() ? "none" : list) + "\n";
  for (const auto &entry : json["entries"]) {
    table += "\n" + textOf(entry, "name") + ": " +
             std::to_string(entry["arena_fixed"].get<uint64_t>()) + " + batch * " +
             std::to_string(entry["arena_per_sample"].get<uint64_t>()) + " bytes of scratch\n";
    for (const auto &input : entry["inputs"])
      table += "  in   " + padded(textOf(input, "name"), 30) + shapeOf(input) + "\n";
    for (const auto &output : entry["outputs"])
      table += "  out  " + padded(textOf(output, "name"), 30) + shapeOf(output) + "\n";
  }
  table += layerTable(json) + "\nvariables:\n";
  for (const auto &variable : json["variables"])
    table += "  " + padded(textOf(variable, "name"), 44) + padded(textOf(variable, "role"), 15) +
             shapeOf(variable) + "\n";
  for (const auto &[role, bytes] : json["bytes_by_role"].items())
    table += "  " + padded(std::string("all ") + role, 44) + std::to_string(bytes.get<uint64_t>()) +
             " bytes\n";
  return table;
}

/// "kernels of predict, batch 32, on this CPU:" and a line for each product, convolution and
/// attention.
static std::string kernelTable(const std::vector<PlannedKernels> &planned) {
  std::string table;
  for (const PlannedKernels &kernels : planned) {
    table += "\nkernels of " + kernels.entry + ", batch " + std::to_string(kernels.batchSize) +
             ", on this CPU:\n";
    for (const std::string &line : kernels.lines)
      table += "  " + untrusted::forLine(line) + "\n";
  }
  return table;
}

static Json describeKernels(const std::vector<PlannedKernels> &planned) {
  Json json = Json::object();
  for (const PlannedKernels &kernels : planned)
    json[kernels.entry] = {{"batch", kernels.batchSize}, {"kernels", kernels.lines}};
  return json;
}

/// The manifest, with what only the library knows put behind it.
static std::string manifestOf(const Json &json) {
  Json shown = Json::object();
  if (json.contains("manifest") && json["manifest"].is_object())
    shown = json["manifest"];
  for (const auto &[key, value] : json.items())
    if (key != "manifest" && !shown.contains(key))
      shown[key] = value;
  return shown.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string describeModel(const Session &session, const std::vector<PlannedKernels> &planned,
                          bool withKernels, bool asJson) {
  Json json = describe(session);
  if (withKernels)
    json["planned_kernels"] = describeKernels(planned);
  return asJson ? manifestOf(json) : tableOf(json) + kernelTable(planned);
}

int inspect(Arguments &arguments, Console &console) {
  arguments.requirePositional(1, "LIB (libNAME.so, its folder, or an archive)");
  PlannedKernelsOptions options;
  options.resume = arguments.text("resume");
  options.batchSize = arguments.integer("batch-size", 0, 1, INT32_MAX);
  options.threads = static_cast<uint32_t>(arguments.integer("threads", 0, 1, 4096));
  options.tuning = tuningOptions(arguments);
  if (options.tuning.way == training::TuningOptions::Way::measure)
    arguments.fault("--tune is without a file here; expected --tune=FILE, of mpc-run tune");
  if (arguments.has("tune") && arguments.has("resume"))
    arguments.fault("--tune=FILE and --resume exclude each other");
  for (const char *name : {"resume", "tune", "batch-size", "threads"})
    if (arguments.has(name) && !arguments.has("kernels"))
      arguments.fault(std::string("--") + name + " is for --kernels");
  if (!arguments.errors().empty())
    return console.usage("mpc-run inspect", arguments.errors());
  console.doing("loading " + arguments.positional()[0], loadingAdvice);
  Result<std::unique_ptr<Session>> session = Session::openTables(arguments.positional()[0]);
  if (!session)
    return console.fail(session.failure());
  if (arguments.has("verify"))
    if (Status status = (*session)->verifyWeights(); !status)
      return console.fail(status.failure());
  std::vector<PlannedKernels> planned;
  if (arguments.has("kernels")) {
    std::vector<std::string> notes;
    Result<std::vector<PlannedKernels>> found = planKernels(**session, options, notes);
    console.notes(notes);
    if (!found)
      return console.fail(found.failure());
    planned = std::move(*found);
  }
  const std::string text =
      describeModel(**session, planned, arguments.has("kernels"), arguments.has("json"));
  return arguments.has("json") ? console.json(text) : console.table(text);
}

} // namespace mpc::commands
