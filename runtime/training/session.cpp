// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loading a compiled model and asking its tables.
#include "runtime/training/session.h"

#include "mpc-rt/device.h"
#include "mpc-rt/training.h"
#include "runtime/data/json_guard.h"
#include "runtime/data/variable_tensor.h"
#include "runtime/training/initial_weights.h"
#include "runtime/training/memory_plan.h"
#include "runtime/training/text_tensors.h"
#include "runtime/training/tuning.h"
#include "runtime/training/weights.h"

#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>
#include <sys/stat.h>

namespace mpc::training {

using data::Failure;
using data::Result;
using data::Status;

Session::~Session() {
  mpc_rt_context_release(context_);
  mpc_rt_model_release(model_);
}

Failure Session::runtimeFailure(mpc_rt_status_t status) const {
  std::string text = mpc_rt_last_error();
  // The runtime's messages about a file begin with its path already.
  Failure failure(text.compare(0, path_.size(), path_) == 0 ? text : path_ + ": " + text);
  failure.internal = status == MPC_RT_INTERNAL;
  return failure;
}

Result<std::unique_ptr<Session>> Session::openTables(const std::string &library) {
  std::unique_ptr<Session> session(new Session);
  session->path_ = library;
  if (mpc_rt_status_t status = mpc_rt_model_load(library.c_str(), &session->model_))
    return session->runtimeFailure(status);
  session->path_ = mpc_rt_model_path(session->model_);
  session->residentWhenOpened_ = residentBytes();
  return session;
}

Result<std::unique_ptr<Session>> Session::openContext(const SessionOptions &options) {
  Result<std::unique_ptr<Session>> session = openTables(options.library);
  if (!session)
    return session;
  mpc_rt_context_options_t contextOptions;
  mpc_rt_context_options_init(&contextOptions);
  contextOptions.threads = options.threads;
  contextOptions.device = options.device.c_str();
  contextOptions.seed = options.initialize ? options.initializeSeed : options.seed;
  if (mpc_rt_status_t status =
          mpc_rt_context_create((*session)->model_, &contextOptions, &(*session)->context_))
    return (*session)->runtimeFailure(status);
  (*session)->noteDevice(options.device);
  if (Status status = applyTuning(options.tuning, **session, (*session)->notes_); !status)
    return status.failure();
  return session;
}

Result<std::unique_ptr<Session>> Session::open(const SessionOptions &options) {
  Result<std::unique_ptr<Session>> session = openContext(options);
  if (!session)
    return session;
  if (Status status = (*session)->loadWeights(options); !status)
    return status.failure();
  return session;
}

// Keras's compatibility check, for GPUs: what the model's policy does not gain on this one.
void Session::noteDevice(const std::string &device) {
  const mpc_rt_executable_t &tables = executable();
  if (device.compare(0, 4, "cuda") != 0 || !MPC_RT_EXECUTABLE_HAS(&tables, policy) ||
      !tables.policy)
    return;
  for (uint32_t i = 0; i < mpc_rt_device_count(); ++i) {
    mpc_rt_device_info_t info = {};
    info.struct_size = sizeof info;
    mpc_rt_policy_gain_t gain = {};
    gain.struct_size = sizeof gain;
    bool isIt =
        !mpc_rt_device_info(i, &info) && (device == info.name || device + ":0" == info.name);
    if (isIt && !mpc_rt_device_policy_gain(i, tables.policy, &gain) && gain.warning[0])
      notes_.push_back(device + ": " + gain.warning);
  }
}

Status Session::verifyWeights() {
  const mpc_rt_status_t status = mpc_rt_model_verify_weights(model_);
  return status ? Status(Failure(mpc_rt_last_error())) : Status();
}

Status Session::loadWeights(const SessionOptions &options) {
  if (options.verify)
    if (Status status = verifyWeights(); !status)
      return status;
  const mpc_rt_executable_t &tables = executable();
  // Random layers follow --seed also when the weights follow --initialize.
  for (uint32_t i = 0; i < tables.variable_count; ++i)
    if (tables.variables[i].role == MPC_RT_ROLE_RANDOM) {
      int64_t state[2] = {static_cast<int64_t>(options.seed), 0};
      std::memcpy(variable(i), state, sizeof state);
    }
  if (options.weights.empty() && !options.initialize) {
    if (Status status = loadInitialWeights(); !status)
      return status;
  }
  if (!options.weights.empty()) {
    WeightsReport report;
    if (Status status = loadVariables(*this, options.weights, /*complete=*/true, report); !status)
      return status;
    notes_.insert(notes_.end(), report.notes.begin(), report.notes.end());
  }
  if (mpc_rt_status_t status = mpc_rt_context_variables_changed(context_))
    return runtimeFailure(status);
  return Status();
}

// Those that mpcc wrote stay where they are, mapped or in the library, until something changes
// them.
Status Session::loadInitialWeights() {
  const mpc_rt_executable_t &tables = executable();
  const InitialWeights weights = findInitialWeights(path_, tables.model_name);
  const std::string &file = weights.place;
  WeightsReport report;
  const bool isEmbedded = MPC_RT_EXECUTABLE_HAS(&tables, weights_bytes) && tables.weights;
  const bool isBeside = !isEmbedded && tables.weights_hash && *tables.weights_hash;
  struct stat info;
  if (!isEmbedded && !isBeside && ::stat(file.c_str(), &info) == 0) {
    // Compiled without weights, which somebody has put there since.
    Status status = loadVariables(*this, file, /*complete=*/false, report);
    notes_.insert(notes_.end(), report.notes.begin(), report.notes.end());
    return status;
  }
  const mpc_rt_status_t status = mpc_rt_context_load_initial(context_, nullptr);
  if (status == MPC_RT_NOT_FOUND)
    return Failure(file + ": is missing; expected the weights that mpcc wrote " +
                   (weights.isInArchive ? "into " : "beside ") + path_ +
                   "; restore it, name another file with --weights, or use --initialize");
  if (status && isBeside) {
    // The messages, a line each, begin with the file's path already.
    Failure failure;
    std::istringstream lines(mpc_rt_last_error());
    for (std::string line; std::getline(lines, line);)
      failure.append(Failure(line));
    failure.internal = status == MPC_RT_INTERNAL;
    return failure;
  }
  if (status)
    return runtimeFailure(status);
  if (isBeside)
    noteMissingVariables(*this, weights, report);
  notes_.insert(notes_.end(), report.notes.begin(), report.notes.end());
  return Status();
}

const mpc_rt_entry_info_t *Session::findEntry(const char *name) const {
  const mpc_rt_executable_t &tables = executable();
  for (uint32_t i = 0; i < tables.entry_count; ++i)
    if (std::strcmp(tables.entries[i].name, name) == 0)
      return &tables.entries[i];
  return nullptr;
}

Result<const mpc_rt_entry_info_t *> Session::requireEntry(const char *name) const {
  if (const mpc_rt_entry_info_t *entry = findEntry(name))
    return entry;
  return Failure(path_ + ": has no '" + name + "'; expected a model that was compiled with a loss" +
                 (std::strcmp(name, "train_step") ? "" : " and an optimizer") +
                 "; compile it with mpcc --mode=train --loss=... --optimizer=...");
}

std::vector<std::string> Session::outputNames() const {
  std::vector<std::string> names;
  const char *text = executable().manifest;
  if (!text || !data::checkJson(text, std::strlen(text), 64).empty())
    return names;
  nlohmann::json manifest = nlohmann::json::parse(text, nullptr, false);
  if (!manifest.is_object() || !manifest.contains("outputs") || !manifest["outputs"].is_array())
    return names;
  for (const auto &output : manifest["outputs"]) {
    // "alias" is the model's own name where "name" is the interface's "out0".
    std::string name;
    for (const char *key : {"alias", "name"})
      if (name.empty() && output.is_object() && output.contains(key) && output[key].is_string())
        name = output[key].get<std::string>();
    names.push_back(name);
  }
  return names;
}

/// Whether the first dimension of every input counts the same samples.
static bool inputsHaveRows(const mpc_rt_executable_t &tables, const mpc_rt_entry_info_t &entry) {
  for (uint32_t i = 0; i < entry.input_count; ++i) {
    // The code points of a text are no samples.
    const uint32_t own = isText(tables, entry, /*isOutput=*/false, i) ? 1 : 0;
    if (entry.inputs[i].rank == own || entry.inputs[i].dims[0] != entry.inputs[0].dims[0])
      return false;
  }
  return true;
}

data::Signature Session::signature(const mpc_rt_entry_info_t &entry) const {
  data::Signature signature;
  std::vector<std::string> outputs = outputNames();
  const mpc_rt_entry_info_t *predict = findEntry("predict");
  uint32_t inputs = predict ? predict->input_count : entry.input_count;
  // The number behind a prefix is that of the output.
  auto nameOutput = [&](data::TensorSpec &spec, std::string_view prefix, const std::string &alias) {
    size_t index = outputs.size();
    const char *name = spec.name.data(), *end = name + spec.name.size();
    std::from_chars(name + prefix.size(), end, index);
    if (index < outputs.size() && !outputs[index].empty() && alias + outputs[index] != spec.name)
      spec.aliases.push_back(alias + outputs[index]);
  };
  const bool haveRows = inputsHaveRows(executable(), entry);
  for (uint32_t i = 0; i < entry.input_count; ++i) {
    const mpc_rt_tensor_info_t &tensor = entry.inputs[i];
    data::TensorSpec spec;
    spec.name = tensor.name;
    spec.dtype = tensor.dtype;
    spec.indexLimit = tensor.index_limit;
    spec.isText = isText(executable(), entry, /*isOutput=*/false, i);
    spec.isWhole = !haveRows && (!tensor.rank || tensor.dims[0] != MPC_RT_DYNAMIC);
    if (tensor.rank)
      spec.dims.assign(tensor.dims + (spec.isWhole ? 0 : 1), tensor.dims + tensor.rank);
    if (i < inputs) {
      std::string alias = "x" + std::to_string(i);
      if (spec.name != alias)
        spec.aliases.push_back(alias);
      signature.inputs.push_back(spec);
    } else if (spec.name == "sample_weight") { // of the only target
      spec.aliases = {"sample_weight0"};
      if (!signature.targets.empty() && !signature.targets[0].aliases.empty())
        spec.aliases.push_back("sample_weight_" + signature.targets[0].aliases[0]);
      signature.sampleWeights.push_back(spec);
    } else if (spec.name.rfind("sample_weight", 0) == 0) {
      nameOutput(spec, "sample_weight", "sample_weight_");
      signature.sampleWeights.push_back(spec);
    } else {
      // Targets are called y<output>; outputs that nothing is compared with have none.
      nameOutput(spec, "y", "");
      signature.targets.push_back(spec);
    }
  }
  return signature;
}

int64_t Session::fixedBatch(const mpc_rt_entry_info_t &entry) const {
  if (!inputsHaveRows(executable(), entry))
    return 0;
  for (uint32_t i = 0; i < entry.input_count; ++i)
    if (entry.inputs[i].rank && entry.inputs[i].dims[0] != MPC_RT_DYNAMIC)
      return entry.inputs[i].dims[0];
  return 0;
}

data::Array Session::variableArray(uint32_t index) {
  const mpc_rt_tensor_info_t &tensor = variableInfo(index).tensor;
  return data::Array::copyOf(tensor.dtype, data::dimsOf(tensor, 0), variable(index));
}

} // namespace mpc::training
