// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writing and reading one checkpoint.
#include "checkpoint/checkpoint.h"

#include "data/checksum.h"
#include "data/input_file.h"
#include "data/json_guard.h"
#include "data/safetensors.h"
#include "data/variable_tensor.h"
#include "module/optimizer_scalar.h"
#include "module/restored_scale.h"
#include "mpc-rt/tuning.h"
#include "training/model_identity.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

namespace mpc::checkpoint {

using data::Array;
using data::Failure;
using data::Result;
using data::Safetensors;
using data::Status;
using training::FitState;
using training::Logs;
using training::Session;

namespace {

constexpr char formatVersion[] = "1";

/// "" for variables that a checkpoint does not hold.
std::string nameInCheckpoint(const mpc_rt_variable_info_t &variable) {
  std::string name = data::tensorName(variable);
  return data::isModelVariable(variable) ? data::modelPrefix + name : name;
}

std::string formatHistory(const std::vector<Logs> &history) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const Logs &logs : history) {
    nlohmann::ordered_json epoch = nlohmann::ordered_json::array();
    for (const auto &[name, value] : logs)
      epoch.push_back({name, training::formatReal(value)}); // text: JSON has no NaN
    json.push_back(epoch);
  }
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool parseHistory(const std::string &text, std::vector<Logs> &history) {
  nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_array())
    return false;
  for (const auto &epoch : json) {
    Logs logs;
    if (!epoch.is_array())
      return false;
    for (const auto &pair : epoch) {
      if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string())
        return false;
      std::string number = pair[1].get<std::string>();
      double value = 0;
      std::from_chars(number.data(), number.data() + number.size(), value);
      logs.emplace_back(pair[0].get<std::string>(), value);
    }
    history.push_back(std::move(logs));
  }
  return true;
}

using Texts = training::ModelIdentity;

/// These values do not change when the same command compiles the same model again, nor with the
/// machine.
Texts modelText(const Session &session) {
  Texts texts;
  for (auto &[key, value] : training::identityOf(session))
    texts.emplace("run." + key, value);
  return texts;
}

constexpr char rateKey[] = "compiled.learning_rate", stepsKey[] = "run.--steps";

/// The rate that training of the model begins with; "" where a schedule decides.
std::string compiledLearningRate(const mpc_rt_executable_t &tables) {
  const int64_t rate = rt::findOptimizerScalar(tables, rt::OptimizerScalar::learningRate);
  return rate < 0 ? "" : training::formatReal(tables.variables[rate].init_a);
}

Texts identityText(const Session &session, const RunIdentity &identity) {
  Texts texts = modelText(session);
  texts.insert({{"run.--batch-size", std::to_string(identity.batchSize)},
                {"run.rows", std::to_string(identity.rows)},
                {stepsKey, std::to_string(identity.steps)},
                {"run.--shuffle", identity.shuffle},
                {"run.--seed", std::to_string(identity.seed)}});
  return texts;
}

bool fits(const Array &array, const mpc_rt_tensor_info_t &tensor) {
  return array.dtype() == tensor.dtype && array.dims() == data::dimsOf(tensor, 0);
}

/// Callbacks keep copies of the model's variables, of each one or of none. Names here are
/// CALLBACK/VARIABLE; `path` begins the messages.
Failure checkCallbackArrays(const std::string &path, const mpc_rt_executable_t &tables,
                            const data::NamedArrays &arrays) {
  std::map<std::string, const mpc_rt_tensor_info_t *> variables;
  for (uint32_t i = 0; i < tables.variable_count; ++i)
    if (data::isModelVariable(tables.variables[i]))
      variables.emplace(data::tensorName(tables.variables[i]), &tables.variables[i].tensor);
  Failure failure;
  std::set<std::string> callbacks;
  for (const auto &[name, array] : arrays) {
    const size_t end = name.find('/');
    const auto at =
        end == std::string::npos ? variables.end() : variables.find(name.substr(end + 1));
    if (at == variables.end())
      failure.append(Failure(path + ":" + data::callbackPrefix + name +
                             ": the model has no such variable; expected a checkpoint of this "
                             "compiled model"));
    else if (!fits(array, *at->second))
      failure.append(Failure(path + ":" + data::callbackPrefix + name +
                             ": is of another type or shape; expected a checkpoint of this "
                             "compiled model"));
    else
      callbacks.insert(name.substr(0, end));
  }
  for (const std::string &callback : callbacks)
    for (const auto &[variable, tensor] : variables)
      if (!arrays.count(callback + "/" + variable))
        failure.append(Failure(path + ":" + data::callbackPrefix + callback + "/" + variable +
                               ": is missing; expected a checkpoint of this compiled model"));
  return failure;
}

bool isSame(const Texts &metadata, const std::string &key, const std::string &value) {
  auto at = metadata.find(key);
  if (at == metadata.end())
    return key == "run.--policy" || key == "run.policies of layers";
  // A run may go on for more steps, as for more epochs; but with --steps no batch is a smaller one.
  if (key == stepsKey)
    return (at->second == "0") == (value == "0");
  return at->second == value;
}

} // namespace

Status writeCheckpoint(const std::string &path, Session &session, const RunIdentity &identity,
                       const FitState &state, const training::CallbackState &callbacks) {
  Safetensors content;
  const mpc_rt_executable_t &tables = session.executable();
  for (uint32_t i = 0; i < tables.variable_count; ++i)
    if (std::string name = nameInCheckpoint(tables.variables[i]); !name.empty())
      content.tensors.emplace(name, session.variableArray(i));
  content.metadata = identityText(session, identity);
  content.metadata[rateKey] = compiledLearningRate(tables);
  content.metadata["format"] = "mpc-checkpoint";
  content.metadata["version"] = formatVersion;
  content.metadata["compiler"] = tables.compiler_version;
  content.metadata["state.epoch"] = std::to_string(state.epoch);
  content.metadata["state.step"] = std::to_string(state.step);
  content.metadata["state.global_step"] = std::to_string(state.globalStep);
  content.metadata["state.skipped"] = std::to_string(state.skipped);
  content.metadata["state.stop_reason"] = state.stopReason;
  content.metadata["state.history"] = formatHistory(state.history);
  if (std::string kernels = mpc_rt_context_kernel_choices(session.context()); !kernels.empty())
    content.metadata["kernels"] = kernels;
  for (const auto &[name, value] : callbacks.texts)
    content.metadata["callback." + name] = value;
  for (const auto &[name, array] : callbacks.arrays)
    content.tensors.emplace(data::callbackPrefix + name, array);
  return data::writeWithChecksum(path, std::move(content));
}

static Result<std::string> readVerified(const std::string &path) {
  Result<std::string> bytes = data::readWholeFile(path, UINT64_MAX);
  if (!bytes)
    return bytes;
  if (Status status = data::verifyChecksum(*bytes, path); !status)
    return status.failure();
  return bytes;
}

Status verifyCheckpoint(const std::string &path) {
  Result<std::string> bytes = readVerified(path);
  return bytes ? Status() : Status(bytes.failure());
}

// The tensors may lie in `bytes`. Refuses other formats than this one.
static Result<Safetensors> readContent(const std::string &path, std::string &bytes) {
  Result<std::string> read = readVerified(path);
  if (!read)
    return read.failure();
  bytes = std::move(*read);
  Result<Safetensors> content =
      data::parseSafetensors(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size(), path);
  if (content && content->metadata["version"] != formatVersion)
    return Failure(path + ": has checkpoint format '" + content->metadata["version"] +
                   "'; expected " + formatVersion + "; resume with the mpc-run that wrote it");
  return content;
}

Result<KernelRecord> readKernels(const std::string &path, const Session &session) {
  std::string bytes;
  Result<Safetensors> content = readContent(path, bytes);
  if (!content)
    return content.failure();
  auto &metadata = content->metadata;
  for (const auto &[key, value] : modelText(session))
    if (!isSame(metadata, key, value))
      return Failure(path + ": is a checkpoint of another model than " + session.path() +
                     "; expected one of this compiled model");
  KernelRecord record{0, metadata["kernels"]};
  const std::string &rows = metadata["run.--batch-size"];
  auto [rest, error] = std::from_chars(rows.data(), rows.data() + rows.size(), record.batchSize);
  if (error != std::errc() || rest != rows.data() + rows.size() || record.batchSize < 1)
    return Failure(path + ":run.--batch-size: is '" + rows + "'; expected a checkpoint of mpc-run");
  return record;
}

Status readCheckpoint(const std::string &path, Session &session, const RunIdentity &identity,
                      FitState &state, training::CallbackState &callbacks,
                      std::vector<std::string> &notes) {
  std::string bytes;
  Result<Safetensors> content = readContent(path, bytes);
  if (!content)
    return content.failure();
  auto text = [&](const std::string &key) {
    auto at = content->metadata.find(key);
    return at == content->metadata.end() ? std::string() : at->second;
  };
  Failure failure;
  // Messages use the words of the user: rows that are shuffled anew in each pass have no --seed.
  auto shown = [](const std::string &value) -> std::string {
    return value == "each-pass" ? "on and no --seed" : value == "once" ? "on and a --seed" : value;
  };
  for (const auto &[key, value] : identityText(session, identity)) {
    if (isSame(content->metadata, key, value))
      continue;
    const std::string difference =
        key == stepsKey
            ? value == "0" ? "with --steps, not without" : "without --steps, not with it"
            : "with " + key.substr(4) + " " + shown(text(key)) + ", not " + shown(value);
    failure.append(Failure(path + ": was written " + difference +
                           "; expected the same run; use --weights to start a new one from trained "
                           "weights"));
  }
  FitState restored;
  auto number = [&](const char *key) {
    std::string value = text(key);
    int64_t result = -1;
    auto [rest, error] = std::from_chars(value.data(), value.data() + value.size(), result);
    if (error != std::errc() || rest != value.data() + value.size() || result < 0)
      failure.append(Failure(path + ":" + key + ": is '" + value + "'; expected a natural number"));
    return result;
  };
  restored.epoch = number("state.epoch");
  restored.step = number("state.step");
  restored.globalStep = number("state.global_step");
  restored.skipped = number("state.skipped");
  restored.stopReason = text("state.stop_reason");
  if (!parseHistory(text("state.history"), restored.history))
    failure.append(Failure(path + ":state.history: is no history; the file is damaged"));

  const mpc_rt_executable_t &tables = session.executable();
  std::vector<std::pair<uint32_t, Array>> values;
  for (uint32_t i = 0; i < tables.variable_count && failure.empty(); ++i) {
    std::string name = nameInCheckpoint(tables.variables[i]);
    if (name.empty())
      continue;
    auto at = content->tensors.find(name);
    if (at == content->tensors.end() || !fits(at->second, tables.variables[i].tensor))
      failure.append(Failure(path + ":" + name +
                             ": is missing or of another type or shape; expected "
                             "a checkpoint of this compiled model"));
    else if (std::string problem = rt::findScaleOutOfBounds(tables, i, at->second.data());
             !problem.empty())
      failure.append(Failure(path + ":" + name + ": " + problem));
    else
      values.emplace_back(i, at->second);
  }
  data::NamedArrays kept; // by callbacks
  for (const auto &[name, array] : content->tensors)
    if (data::hasPrefix(name, data::callbackPrefix))
      kept.emplace(name.substr(std::strlen(data::callbackPrefix)),
                   Array::copyOf(array.dtype(), array.dims(), array.data()));
  failure.append(checkCallbackArrays(path, tables, kept));
  if (!failure.empty())
    return failure;
  if (!identity.tune &&
      mpc_rt_context_set_kernel_choices(session.context(), text("kernels").c_str()))
    return Failure(path + ":kernels: " + mpc_rt_last_error() +
                   "; resume with --tune, which goes on with other last bits");
  for (auto &[index, array] : values)
    if (array.bytes())
      std::memcpy(session.variable(index), array.data(), array.bytes());
  if (mpc_rt_status_t status = mpc_rt_context_variables_changed(session.context()))
    return session.runtimeFailure(status);
  const std::string was = text(rateKey), is = compiledLearningRate(tables);
  if (!was.empty() && !is.empty() && was != is)
    notes.push_back(path + ": goes on with its own learning rate; the model was compiled with " +
                    was + " then and with " + is + " now; use --weights to train with that");
  state = std::move(restored);
  callbacks = {};
  for (const auto &[key, value] : content->metadata)
    if (key.compare(0, 9, "callback.") == 0)
      callbacks.texts[key.substr(9)] = value;
  callbacks.arrays = std::move(kept);
  return Status();
}

} // namespace mpc::checkpoint
