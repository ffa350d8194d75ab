// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variables of a context to and from safetensors files, under the names of weights files; metrics
// and random states besides.
#include "mpc-rt/training.h"
#include "runtime/base/sha256.h"
#include "runtime/base/status.h"
#include "runtime/data/checksum.h"
#include "runtime/data/input_file.h"
#include "runtime/data/mapped_file.h"
#include "runtime/data/variable_match.h"
#include "runtime/data/weights_file.h"
#include "runtime/execution/context.h"
#include "runtime/untrusted/outlets.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <string_view>
#include <sys/stat.h>

using namespace mpc::rt;
using mpc::data::Array;
using mpc::data::dimsOf;
using mpc::data::Result;
using mpc::data::Safetensors;
using mpc::data::Status;
using mpc::data::tensorName;

namespace {

constexpr char stateVersion[] = "1";

// At most a few messages: a file of another model has a fault for every tensor.
mpc_rt_status_t failWith(mpc_rt_status_code_t code, const mpc::data::Failure &failure) {
  constexpr size_t shown = 8;
  const std::vector<std::string> &messages = failure.messages;
  std::string text;
  for (size_t i = 0; i < messages.size() && i < shown; ++i)
    text += (i ? "\n" : "") + mpc::untrusted::forLine(messages[i]);
  if (messages.size() > shown)
    text += "\nand " + std::to_string(messages.size() - shown) + " more";
  return failWithLines(failure.memory ? MPC_RT_RESOURCE_EXHAUSTED : code, text.c_str());
}

bool isText(const Safetensors &content, const char *key, const char *value) {
  auto at = content.metadata.find(key);
  return at != content.metadata.end() && at->second == value;
}

// Variables copy a file's tensors or borrow them.
enum class Source {
  copy,
  borrow,         // stay where the tensors are, as far as that is possible
  borrowReadOnly, // the same, in memory that must not be written
};

bool canBorrow(const mpc_rt_context_t &context, uint32_t index, const Array &array, Source source) {
  // Entries that update no weights may still write non-trainable variables (states of layers), and
  // metrics.
  const uint32_t role = context.executable().variables[index].role;
  const bool isWritten = role != MPC_RT_ROLE_TRAINABLE && source == Source::borrowReadOnly;
  return source != Source::copy && !isWritten && role != MPC_RT_ROLE_METRIC &&
         mayBeElsewhere(context, index) &&
         reinterpret_cast<uintptr_t>(array.data()) % bufferAlignment == 0;
}

// How complete a file must be.
enum class Demand {
  nothing, // variables that it lacks keep their values
  weights, // all model variables
  state,   // and, where it has a state of an optimizer, that of the model's
};

void report(const mpc_rt_executable_t &executable, const mpc::data::VariableMatch &match,
            mpc_rt_loaded_t &loaded) {
  loaded.variables = static_cast<uint32_t>(match.fitted.size());
  loaded.optimizer_variables = static_cast<uint32_t>(
      std::count_if(match.fitted.begin(), match.fitted.end(), [&](const auto &fitted) {
        return executable.variables[fitted.first].role == MPC_RT_ROLE_OPTIMIZER;
      }));
  loaded.optimizer_missing = static_cast<uint32_t>(match.withoutOptimizer.size());
  loaded.optimizer_ignored = static_cast<uint32_t>(match.otherOptimizer.size());
}

// Gives the variables the tensors' values, or says what does not fit and changes nothing.
mpc_rt_status_t restore(mpc_rt_context_t &context, const Safetensors &content,
                        const std::string &place, Demand demand, Source source,
                        mpc_rt_loaded_t &loaded) {
  auto &executable = context.executable();
  auto version = content.metadata.find("version");
  if (isText(content, "kind", "state") &&
      (version == content.metadata.end() || version->second != stateVersion))
    return fail(MPC_RT_FAILED_PRECONDITION,
                "%s: has state format '%s'; expected %s; read it with the libmpcrt that wrote it",
                place.c_str(), version == content.metadata.end() ? "" : version->second.c_str(),
                stateVersion);
  mpc::data::VariableMatch match =
      mpc::data::matchVariables(executable, content, place, tensorName);
  if (demand != Demand::nothing)
    match.refuseMissing(executable, place);
  if (demand == Demand::state)
    match.refuseOtherOptimizer(executable, place);
  if (!match.wrong.empty())
    return failWith(MPC_RT_FAILED_PRECONDITION, match.wrong);
  for (auto &[index, array] : match.fitted)
    if (array.bytes())
      if (auto status = fetchForWriting(context, index))
        return status;
  for (auto &[index, array] : match.fitted) {
    if (canBorrow(context, index, array, source)) {
      borrowVariable(context, index, array.owner(), array.data());
      continue;
    }
    replaceVariable(context, index);
    if (array.bytes())
      std::memcpy(context.variables[index], array.data(), array.bytes());
  }
  report(executable, match, loaded);
  return mpc_rt_context_variables_changed(&context);
}

// Takes the bytes of a file; `place` begins messages.
mpc_rt_status_t loadBytes(mpc_rt_context_t &context, std::string_view bytes,
                          const std::string &place, Demand demand, mpc_rt_loaded_t &loaded) {
  const bool isChecked = mpc::data::hasChecksum(bytes);
  if (isChecked)
    if (Status status = mpc::data::verifyChecksum(bytes, place); !status)
      return failWith(MPC_RT_DATA_LOSS, status.failure());
  Result<Safetensors> content = mpc::data::parseSafetensors(
      reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size(), place);
  if (!content)
    return failWith(MPC_RT_DATA_LOSS, content.failure());
  if (!isChecked && isText(*content, "kind", "state"))
    return fail(MPC_RT_DATA_LOSS,
                "%s: is damaged: a state file without its checksum; use an older "
                "file",
                place.c_str());
  mpc::data::dropCheckpointPrefix(*content);
  return restore(context, *content, place, demand, Source::copy, loaded);
}

mpc_rt_status_t loadFile(mpc_rt_context_t &context, const std::string &path, Demand demand,
                         mpc_rt_loaded_t &loaded) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0)
    return fail(MPC_RT_NOT_FOUND, "%s: %s; expected a safetensors file of variables", path.c_str(),
                std::strerror(errno));
  Result<std::string> bytes = mpc::data::readWholeFile(path, UINT64_MAX);
  if (!bytes)
    return failWith(MPC_RT_NOT_FOUND, bytes.failure());
  return loadBytes(context, *bytes, path, demand, loaded);
}

// A first prediction may well read only a part of a larger file (an embedding's rows).
constexpr uint64_t touchedWhole = uint64_t{1} << 30;

void touchAll(mpc_rt_context_t &context, const mpc::data::MappedFile &file) {
  constexpr uint64_t block = uint64_t{2} << 20; // a huge page
  if (file.size() == 0 || file.size() > touchedWhole)
    return;
  const auto blocks = static_cast<int64_t>((file.size() - 1) / block + 1);
  context.hostTeam.begin();
  context.hostTeam.forRange(blocks, 4, [&](int64_t begin, int64_t end) {
    file.touch(static_cast<uint64_t>(begin) * block,
               std::min(file.size(), static_cast<uint64_t>(end) * block));
  });
  context.hostTeam.end();
}

// The same without reading what nobody wants yet. The file is mpcc's: no state of training, and no
// checksum, which would read all of it.
mpc_rt_status_t loadMapped(mpc_rt_context_t &context,
                           const std::shared_ptr<mpc::data::MappedFile> &file,
                           const std::string &place, mpc_rt_loaded_t &loaded) {
  auto content = mpc::data::viewSafetensors(file, file->data(), file->size(), place);
  if (!content)
    return failWith(MPC_RT_DATA_LOSS, content.failure());
  if (content->metadata.count("crc32c") || isText(*content, "kind", "state"))
    return loadBytes(context, {reinterpret_cast<const char *>(file->data()), file->size()}, place,
                     Demand::nothing, loaded);
  if (!context.driver->ownsMemory())
    touchAll(context, *file);
  return restore(context, *content, place, Demand::nothing, Source::borrow, loaded);
}

// The library that holds the tables; "" when they are a part of the program.
std::string libraryOf(const mpc_rt_model_t &model) {
  if (!model.path.empty())
    return model.path;
  Dl_info info;
  if (!dladdr(model.executable, &info) || !info.dli_fname)
    return "";
  return info.dli_fname;
}

bool hasEmbeddedWeights(const mpc_rt_executable_t &executable) {
  return MPC_RT_EXECUTABLE_HAS(&executable, weights_bytes) && executable.weights;
}

// NAME.safetensors beside the library, or where it is in an archive; "" where mpcc wrote none.
std::string initialFile(const mpc_rt_model_t &model) {
  const mpc_rt_executable_t &executable = *model.executable;
  if (hasEmbeddedWeights(executable) || !executable.weights_hash || !*executable.weights_hash)
    return "";
  if (model.archive)
    return model.path + ":" + executable.model_name + ".safetensors";
  const std::string library = libraryOf(model);
  const size_t slash = library.rfind('/');
  return (slash == std::string::npos ? "" : library.substr(0, slash + 1)) + executable.model_name +
         ".safetensors";
}

// A private mapping of `file`, which initialFile() named.
mpc_rt_status_t mapInitial(const mpc_rt_model_t &model, const std::string &file,
                           std::shared_ptr<mpc::data::MappedFile> &mapped) {
  struct stat info;
  if (model.archive ? !model.archive->index().weights : ::stat(file.c_str(), &info) != 0)
    return fail(MPC_RT_NOT_FOUND, "%s: %s; expected a safetensors file of variables", file.c_str(),
                model.archive ? "is not in the archive" : std::strerror(errno));
  auto opened =
      model.archive
          ? mpc::data::MappedFile::map(model.archive->file(), model.archive->index().weights->begin,
                                       model.archive->index().weights->size, file)
          : mpc::data::MappedFile::open(file);
  if (!opened)
    return failWith(MPC_RT_NOT_FOUND, opened.failure());
  mapped = std::move(*opened);
  return MPC_RT_OK;
}

mpc_rt_status_t loadInitial(mpc_rt_context_t &context, mpc_rt_loaded_t &loaded) {
  auto &executable = context.executable();
  if (hasEmbeddedWeights(executable)) {
    // The library outlives every context of its model.
    auto *bytes = static_cast<uint8_t *>(const_cast<void *>(executable.weights));
    Result<Safetensors> content =
        mpc::data::viewSafetensors(nullptr, bytes, executable.weights_bytes, executable.model_name);
    if (!content)
      return failWith(MPC_RT_DATA_LOSS, content.failure());
    return restore(context, *content, executable.model_name, Demand::nothing,
                   Source::borrowReadOnly, loaded);
  }
  const std::string file = initialFile(*context.model);
  std::shared_ptr<mpc::data::MappedFile> mapped;
  if (file.empty())
    return MPC_RT_OK;
  if (auto status = mapInitial(*context.model, file, mapped))
    return status;
  return loadMapped(context, mapped, file, loaded);
}

// The file beside the library is the one that mpcc wrote. Weights inside of the library are under
// its seal.
mpc_rt_status_t verifyInitial(const mpc_rt_model_t &model) {
  const std::string file = initialFile(model);
  if (file.empty())
    return MPC_RT_OK;
  std::shared_ptr<mpc::data::MappedFile> mapped;
  if (auto status = mapInitial(model, file, mapped))
    return status;
  const std::string hash = mpc::rt::sha256(mapped->data(), mapped->size());
  if (hash == model.executable->weights_hash)
    return MPC_RT_OK;
  return fail(
      MPC_RT_DATA_LOSS,
      "%s: is not the file that mpcc wrote with the library: its SHA-256 is %s; expected %s; "
      "restore it, or compile the model again",
      file.c_str(), hash.c_str(), model.executable->weights_hash);
}

bool isSameFile(const char *path, const std::string &other) {
  struct stat one, two;
  return !other.empty() && ::stat(path, &one) == 0 && ::stat(other.c_str(), &two) == 0 &&
         one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

// The call of this name, for both kinds of files.
mpc_rt_status_t load(const char *call, mpc_rt_context_t *context, const char *path, Demand demand,
                     mpc_rt_loaded_t &loaded) {
  if (!context || !path)
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: context or path is null", call);
  ContextUse use(&context->user, call);
  if (use.status())
    return use.status();
  return guard(call, [&]() -> mpc_rt_status_t {
    if (mpc::rt::checksAreOn() && isSameFile(path, initialFile(*context->model)))
      if (auto status = verifyInitial(*context->model))
        return status;
    return loadFile(*context, path, demand, loaded);
  });
}

} // namespace

extern "C" {

mpc_rt_status_t mpc_rt_context_save(mpc_rt_context_t *context, const char *path) {
  if (!context || !path)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_context_save: context or path is null");
  ContextUse use(&context->user, "mpc_rt_context_save");
  if (use.status())
    return use.status();
  return guard("mpc_rt_context_save", [&]() -> mpc_rt_status_t {
    auto &executable = context->executable();
    Safetensors content;
    for (uint32_t i = 0; i < executable.variable_count; ++i)
      if (std::string name = tensorName(executable.variables[i]); !name.empty()) {
        if (auto status = mpc::rt::fetchVariable(*context, i))
          return status;
        content.tensors.emplace(name, Array::copyOf(executable.variables[i].tensor.dtype,
                                                    dimsOf(executable.variables[i].tensor, 0),
                                                    context->variables[i]));
      }
    content.metadata = {
        {"format", "mpc"},
        {"kind", "state"},
        {"version", stateVersion},
        {"model", executable.model_name},
        {"source_hash", executable.source_hash ? executable.source_hash : ""},
        {"compiler", executable.compiler_version ? executable.compiler_version : ""}};
    if (Status status = mpc::data::writeWithChecksum(path, std::move(content)); !status)
      return failWith(MPC_RT_UNAVAILABLE, status.failure());
    return MPC_RT_OK;
  });
}

mpc_rt_status_t mpc_rt_context_load(mpc_rt_context_t *context, const char *path) {
  mpc_rt_loaded_t loaded = {};
  return load("mpc_rt_context_load", context, path, Demand::state, loaded);
}

mpc_rt_status_t mpc_rt_context_load_weights(mpc_rt_context_t *context, const char *path,
                                            mpc_rt_loaded_t *loaded) {
  if (loaded && loaded->struct_size < sizeof(*loaded))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "mpc_rt_context_load_weights: loaded.struct_size is not set");
  mpc_rt_loaded_t found = {};
  auto status = load("mpc_rt_context_load_weights", context, path, Demand::weights, found);
  if (loaded) {
    found.struct_size = loaded->struct_size;
    *loaded = status ? mpc_rt_loaded_t{found.struct_size, 0, 0, 0, 0, 0} : found;
  }
  return status;
}

mpc_rt_status_t mpc_rt_context_load_initial(mpc_rt_context_t *context, int32_t *loaded) {
  if (!context)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_context_load_initial: context is null");
  ContextUse use(&context->user, "mpc_rt_context_load_initial");
  if (use.status())
    return use.status();
  mpc_rt_loaded_t found = {};
  auto status = guard("mpc_rt_context_load_initial", [&]() -> mpc_rt_status_t {
    if (mpc::rt::checksAreOn())
      if (auto wrong = verifyInitial(*context->model))
        return wrong;
    return loadInitial(*context, found);
  });
  if (loaded)
    *loaded = found.variables && status == MPC_RT_OK;
  return status;
}

mpc_rt_status_t mpc_rt_model_verify_weights(const mpc_rt_model_t *model) {
  if (!model)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_model_verify_weights: model is null");
  return guard("mpc_rt_model_verify_weights", [&] { return verifyInitial(*model); });
}

} // extern "C"
