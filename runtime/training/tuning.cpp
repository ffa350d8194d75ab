// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/training/tuning.h"

#include "mpc-rt/device.h"
#include "mpc-rt/tuning.h"
#include "runtime/data/atomic_file.h"
#include "runtime/data/input_file.h"
#include "runtime/data/json_guard.h"
#include "runtime/rules/isa_name.h"
#include "runtime/training/model_identity.h"

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

namespace mpc::training {

using data::Failure;
using data::Result;
using data::Status;
using Json = nlohmann::ordered_json;

namespace {

constexpr char formatKey[] = "mpc_tuning";
constexpr int formatVersion = 1;
// The largest models have some thousand products, a line of about 40 bytes each.
constexpr uint64_t mostBytes = 1 << 24;
constexpr char expected[] = "; expected a file that mpc-run tune wrote";

/// The speed of kernels depends on these, but for the number of threads.
struct Machine {
  std::string kind, isa;
};

Machine machineOf(Session &session) {
  mpc_rt_device_info_t info = {};
  info.struct_size = sizeof info;
  const bool isKnown = mpc_rt_device_info(0, &info) == MPC_RT_OK && info.cpu_kind;
  const char *name = rules::isaName(mpc_rt_context_isa(session.context()));
  return {isKnown ? info.cpu_kind : "unknown", name ? name : ""};
}

/// Whether choices are algorithms for a GPU. Their lines say of which one they are; the CPU beside
/// it does not matter.
bool areOfGpu(const std::string &kernels) { return kernels.rfind("cublaslt ", 0) == 0; }

/// The members that are text, or lines of it; nothing else is asked of a file.
class TuningFile {
public:
  static Result<TuningFile> read(const std::string &path) {
    Result<std::string> text = data::readWholeFile(path, mostBytes);
    if (!text)
      return text.failure();
    if (std::string wrong = data::checkJson(text->data(), text->size(), 4); !wrong.empty())
      return Failure(path + ": " + wrong + expected);
    TuningFile file;
    file.path = path;
    file.json = Json::parse(*text, nullptr, false);
    if (!file.json.is_object() || file.json.value(formatKey, Json()) != formatVersion)
      return Failure(path + ":" + formatKey + ": is not " + std::to_string(formatVersion) +
                     expected);
    return file;
  }
  Status require(const char *key, const std::string &wanted, const std::string &advice) const {
    const Json value = json.value(key, Json());
    const std::string is = value.is_string() ? value.get<std::string>() : "missing";
    if (value.is_string() && is == wanted)
      return Status();
    return Failure(path + ":" + key + ": is " + is + "; expected " + wanted + "; " + advice);
  }
  bool isOf(const ModelIdentity &identity) const {
    return json.value("model", Json()) == Json(identity);
  }
  /// -1 where there is no such number.
  int64_t threads() const {
    const Json value = json.value("threads", Json());
    return value.is_number_integer() ? value.get<int64_t>() : -1;
  }
  Result<std::string> kernels() const {
    const Json lines = json.value("kernels", Json());
    std::string text;
    if (!lines.is_array())
      return Failure(path + ":kernels: is no list" + expected);
    for (const Json &line : lines) {
      if (!line.is_string())
        return Failure(path + ":kernels: has an entry that is no text" + expected);
      text += line.get<std::string>() + "\n";
    }
    return text;
  }

private:
  std::string path;
  Json json = Json::object();
};

Status takeFile(const std::string &path, Session &session, std::vector<std::string> &notes) {
  const std::string advice = "measure here: mpc-run tune " + session.path() + " --out FILE";
  Result<TuningFile> file = TuningFile::read(path);
  if (!file)
    return file.failure();
  if (!file->isOf(identityOf(session)))
    return Failure(path + ":model: is another model than " + session.path() +
                   "; expected one of this compiled model; " + advice);
  Result<std::string> kernels = file->kernels();
  if (!kernels)
    return kernels.failure();
  const bool isOfCpu = !areOfGpu(*kernels);
  const Machine machine = machineOf(session);
  if (Status status = isOfCpu ? file->require("cpu_kind", machine.kind, advice) : Status(); !status)
    return status;
  if (Status status = isOfCpu ? file->require("isa", machine.isa, advice) : Status(); !status)
    return status;
  if (mpc_rt_context_set_kernel_choices(session.context(), kernels->c_str()))
    return Failure(path + ":kernels: " + mpc_rt_last_error());
  if (const uint32_t threads = mpc_rt_context_threads(session.context());
      isOfCpu && file->threads() != static_cast<int64_t>(threads))
    notes.push_back(path + ": was measured with another number of threads than " +
                    std::to_string(threads));
  return Status();
}

} // namespace

Status writeTuning(const std::string &path, Session &session, int64_t batchSize,
                   const std::string &kernels) {
  Json json = {{formatKey, formatVersion}, {"model", identityOf(session)}};
  if (!areOfGpu(kernels)) {
    const Machine machine = machineOf(session);
    json["cpu_kind"] = machine.kind;
    json["isa"] = machine.isa;
    json["threads"] = mpc_rt_context_threads(session.context());
  }
  json["batch_size"] = batchSize;
  json["kernels"] = Json::array();
  std::istringstream lines(kernels);
  for (std::string line; std::getline(lines, line);)
    json["kernels"].push_back(line);
  data::AtomicFile file(path);
  if (Status status = file.open(); !status)
    return status;
  file.write(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  return file.commit();
}

Status applyTuning(const TuningOptions &options, Session &session,
                   std::vector<std::string> &notes) {
  if (options.way == TuningOptions::Way::file)
    return takeFile(options.file, session, notes);
  if (options.way == TuningOptions::Way::measure)
    if (mpc_rt_status_t status = mpc_rt_context_tune(session.context()))
      return session.runtimeFailure(status);
  return Status();
}

std::string summarizeChoices(const std::string &choices) {
  std::map<std::string, int> products;
  std::istringstream lines(choices);
  for (std::string line; std::getline(lines, line);) {
    const std::string kernel = line.substr(line.rfind(' ') + 1);
    products[kernel.substr(0, kernel.find('/'))]++; // behind it are bytes of an algorithm
  }
  std::string found;
  for (const auto &[kernel, count] : products)
    found += (found.empty() ? "" : ", ") + kernel + " for " + std::to_string(count);
  return found;
}

} // namespace mpc::training
