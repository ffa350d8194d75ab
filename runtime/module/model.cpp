// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loading of compiled models.
#include "runtime/module/model.h"
#include "runtime/base/status.h"
#include "runtime/module/open_library.h"
#include "runtime/module/seal.h"

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <new>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

using namespace mpc::rt;

namespace {

mpc_rt_status_t findLibrary(const char *path, std::string &library) {
  struct stat info;
  if (stat(path, &info) != 0)
    return fail(MPC_RT_NOT_FOUND,
                "%s: %s; expected a compiled model: libNAME.so, the folder that holds it, or an "
                "archive",
                path, std::strerror(errno));
  library = path;
  if (!S_ISDIR(info.st_mode))
    return MPC_RT_OK;
  DIR *folder = opendir(path);
  if (!folder)
    return fail(MPC_RT_NOT_FOUND, "%s: %s; make the folder readable", path, std::strerror(errno));
  std::vector<std::string> found;
  while (const dirent *item = readdir(folder)) {
    std::string name = item->d_name;
    if (name.size() > 6 && name.compare(0, 3, "lib") == 0 &&
        name.compare(name.size() - 3, 3, ".so") == 0)
      found.push_back(name);
  }
  closedir(folder);
  if (found.size() != 1)
    return fail(MPC_RT_NOT_FOUND,
                "%s: the folder holds %zu libraries lib*.so; expected exactly one; %s", path,
                found.size(),
                found.empty() ? "compile a model into it with mpcc" : "name the library itself");
  library += "/" + found[0];
  return MPC_RT_OK;
}

// A later chdir() must not lead to other files: contexts read the weights beside the library.
mpc_rt_status_t makeAbsolute(std::string &path) {
  if (path[0] == '/')
    return MPC_RT_OK;
  char folder[PATH_MAX];
  if (!getcwd(folder, sizeof folder))
    return fail(MPC_RT_NOT_FOUND, "%s: the current folder has no path: %s; name an absolute one",
                path.c_str(), std::strerror(errno));
  path = std::string(folder) + "/" + path;
  return MPC_RT_OK;
}

/// Names the kind of a file that is no library; null where its first bytes do not say.
const char *describeOther(const char *path) {
  char start[8] = {};
  std::FILE *file = std::fopen(path, "rb");
  if (!file)
    return nullptr;
  const size_t size = std::fread(start, 1, sizeof start, file);
  std::fclose(file);
  if (size >= 8 && std::memcmp(start, "\x89HDF\r\n\x1a\n", 8) == 0)
    return "an HDF5 file such as Keras's .h5";
  if (size >= 1 && start[0] == '{')
    return "JSON such as a model's manifest";
  return nullptr;
}

mpc_rt_status_t findTables(mpc_rt_model_t &model, void *library, const char *place) {
  auto query =
      reinterpret_cast<mpc_rt_executable_query_fn>(dlsym(library, MPC_RT_EXECUTABLE_QUERY_SYMBOL));
  if (!query)
    return fail(MPC_RT_FAILED_PRECONDITION,
                "%s: not a compiled model: no symbol " MPC_RT_EXECUTABLE_QUERY_SYMBOL
                "; expected a library made by mpcc",
                place);
  model.executable = query(MPC_RT_ABI_VERSION);
  return checkTables(model.executable, place);
}

// Loads a model that is one file; `isOneFile` is false where it is none.
mpc_rt_status_t openArchive(mpc_rt_model_t &model, bool &isOneFile) {
  const int file = ::open(model.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  isOneFile = file >= 0 && isZip(file);
  if (file >= 0)
    ::close(file);
  if (!isOneFile)
    return MPC_RT_OK; // the loader of libraries says what it is
  if (auto status = Archive::open(model.path.c_str(), model.archive))
    return status;
  const Archive &archive = *model.archive;
  if (auto status = findTables(model, archive.library(), archive.index().library.place.c_str()))
    return status;
  return archive.checkParts(*model.executable);
}

mpc_rt_status_t load(const char *path, mpc_rt_model_t &model) {
  if (auto status = findLibrary(path, model.path))
    return status;
  if (auto status = makeAbsolute(model.path))
    return status;
  bool isOneFile = false;
  if (auto status = openArchive(model, isOneFile); status || isOneFile)
    return status;
  if (auto status = checkSeal(model.path.c_str()))
    return status;
  if (const char *kind = describeOther(model.path.c_str()))
    return fail(MPC_RT_FAILED_PRECONDITION,
                "%s: is %s, no compiled model; expected libNAME.so, the folder that holds it, or "
                "an archive; "
                "compile a Keras model with mpcc, which writes one",
                model.path.c_str(), kind);
  model.library = openLibrary(model.path);
  if (!model.library) {
    const char *reason = dlerror();
    return fail(MPC_RT_FAILED_PRECONDITION,
                "%s: not a loadable library: %s; compile the model again", model.path.c_str(),
                reason ? reason : "unknown reason");
  }
  return findTables(model, model.library, model.path.c_str());
}

mpc_rt_status_t find(const char *what, const char *name, uint32_t count,
                     const char *(*nameOf)(const mpc_rt_executable_t &, uint32_t),
                     const mpc_rt_model_t *model, uint32_t *index) {
  if (!model || !name || !index)
    return fail(MPC_RT_INVALID_ARGUMENT, "no %s is looked for: a null argument", what);
  auto &executable = *model->executable;
  for (uint32_t i = 0; i < count; ++i)
    if (std::strcmp(nameOf(executable, i), name) == 0) {
      *index = i;
      return MPC_RT_OK;
    }
  return guard("looking up a name", [&] {
    std::string known;
    for (uint32_t i = 0; i < count && known.size() < 800; ++i)
      known += (i ? ", " : "") + std::string(nameOf(executable, i));
    return fail(MPC_RT_NOT_FOUND, "%s: no %s '%s'; it has: %s", executable.model_name, what, name,
                known.c_str());
  });
}

} // namespace

extern "C" {

mpc_rt_status_t mpc_rt_model_load(const char *path, mpc_rt_model_t **model) {
  if (!path || !model)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_model_load: path or model is null");
  *model = nullptr;
  return guard("mpc_rt_model_load", [&] {
    auto *loaded = new mpc_rt_model_t;
    mpc_rt_status_t status = guard("mpc_rt_model_load", [&] { return load(path, *loaded); });
    if (status)
      mpc_rt_model_release(loaded);
    else
      *model = loaded;
    return status;
  });
}

mpc_rt_status_t mpc_rt_model_from_executable(const mpc_rt_executable_t *executable,
                                             mpc_rt_model_t **model) {
  if (!executable || !model)
    return fail(MPC_RT_INVALID_ARGUMENT,
                "mpc_rt_model_from_executable: executable or model is null");
  *model = nullptr;
  if (auto status = checkTables(executable, "linked model"))
    return status;
  return guard("mpc_rt_model_from_executable", [&]() -> mpc_rt_status_t {
    *model = new mpc_rt_model_t;
    (*model)->executable = executable;
    return MPC_RT_OK;
  });
}

mpc_rt_status_t mpc_rt_model_expect(const mpc_rt_model_t *model,
                                    const mpc_rt_expectation_t *expected) {
  if (!model || !expected || expected->struct_size < sizeof(*expected))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "mpc_rt_model_expect: a null argument, or expected.struct_size is not set");
  const mpc_rt_executable_t &e = *model->executable;
  const struct {
    const char *what, *have, *want;
  } rows[] = {
      {"name", e.model_name, expected->model_name},
      {"policy", MPC_RT_EXECUTABLE_HAS(&e, policy) ? e.policy : "", expected->policy},
      {"source hash", e.source_hash, expected->source_hash},
      {"header hash", MPC_RT_EXECUTABLE_HAS(&e, header_hash) ? e.header_hash : "",
       expected->header_hash},
  };
  for (const auto &row : rows)
    if (row.want && std::strcmp(row.have ? row.have : "", row.want) != 0)
      return fail(MPC_RT_FAILED_PRECONDITION,
                  "%s: the library has the %s '%s', the program was compiled for '%s'; compile the "
                  "program again with the header that lies beside the library",
                  model->path.empty() ? e.model_name : model->path.c_str(), row.what,
                  row.have ? row.have : "", row.want);
  return MPC_RT_OK;
}

void mpc_rt_model_release(mpc_rt_model_t *model) {
  if (!model || model->references.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  if (model->library)
    dlclose(model->library);
  delete model;
}

const mpc_rt_executable_t *mpc_rt_model_executable(const mpc_rt_model_t *model) {
  return model ? model->executable : nullptr;
}

const char *mpc_rt_model_path(const mpc_rt_model_t *model) {
  return model ? model->path.c_str() : "";
}

mpc_rt_status_t mpc_rt_find_entry(const mpc_rt_model_t *model, const char *name, uint32_t *entry) {
  return find(
      "entry", name, model ? model->executable->entry_count : 0,
      [](const mpc_rt_executable_t &e, uint32_t i) { return e.entries[i].name; }, model, entry);
}

mpc_rt_status_t mpc_rt_find_variable(const mpc_rt_model_t *model, const char *name,
                                     uint32_t *variable) {
  return find(
      "variable", name, model ? model->executable->variable_count : 0,
      [](const mpc_rt_executable_t &e, uint32_t i) { return e.variables[i].tensor.name; }, model,
      variable);
}

uint64_t mpc_rt_entry_arena_bytes(const mpc_rt_model_t *model, uint32_t entry, int64_t batch) {
  uint64_t bytes = 0;
  if (!model || entry >= model->executable->entry_count ||
      !arenaBytes(model->executable->entries[entry], batch, bytes))
    return 0;
  return bytes;
}

uint32_t mpc_rt_abi_version(void) { return MPC_RT_ABI_VERSION; }
const char *mpc_rt_version(void) { return MPC_VERSION; }

} // extern "C"
