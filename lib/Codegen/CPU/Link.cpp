// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs lld. A library has no start files: nothing but our code goes into it.
#include "lib/Codegen/CPU/ObjectFile.h"
#include "mpc-rt/seal.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <cstring>

using namespace mpc;
using llvm::StringRef;

namespace {
/// A folder for the linker's files that disappears with its content.
struct ScratchFolder {
  llvm::SmallString<128> path;
  std::error_code code = llvm::sys::fs::createUniqueDirectory("mpcc", path);
  ~ScratchFolder() {
    if (!code)
      llvm::sys::fs::remove_directories(path);
  }
  std::string file(StringRef name) const {
    llvm::SmallString<128> result(path);
    llvm::sys::path::append(result, name);
    return result.str().str();
  }
};
} // namespace

static llvm::Expected<std::string> findLinker() {
  for (StringRef name : {"ld.lld-22", "ld.lld"}) {
    if (llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName(name))
      return *path;
    if (llvm::ErrorOr<std::string> path =
            llvm::sys::findProgramByName(name, {"/usr/lib/llvm-22/bin"}))
      return *path;
  }
  return llvm::createStringError(
      llvm::inconvertibleErrorCode(),
      "no linker found; expected ld.lld-22 on the PATH; install the package lld-22");
}

static std::string readAll(StringRef path) {
  auto buffer =
      llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

static std::error_code writeAll(StringRef path, StringRef content) {
  std::error_code code;
  llvm::raw_fd_ostream stream(path, code);
  if (code)
    return code;
  stream << content;
  stream.close();
  code = stream.error();
  stream.clear_error();
  return code;
}

/// Loaders refuse a library whose seal is broken instead of mapping it.
static void appendSeal(std::string &library) {
  mpc_rt_seal_t seal;
  seal.bytes = library.size();
  seal.checksum =
      mpc_rt_seal_checksum(reinterpret_cast<const unsigned char *>(library.data()), library.size());
  std::memcpy(seal.magic, MPC_RT_SEAL_MAGIC, sizeof seal.magic);
  library.append(reinterpret_cast<const char *>(&seal), sizeof seal);
}

llvm::Expected<std::string> mpc::linkSharedLibrary(llvm::ArrayRef<std::string> objects,
                                                   StringRef name) {
  auto linker = findLinker();
  if (!linker)
    return linker.takeError();
  ScratchFolder folder;
  if (folder.code)
    return llvm::createStringError(
        folder.code, llvm::sys::path::parent_path(folder.path) +
                         ": cannot make a temporary folder there: " + folder.code.message() +
                         "; expected a folder that can be written; set TMPDIR to one");
  const std::string output = folder.file("model.so"), log = folder.file("log");
  std::vector<std::string> inputs;
  for (const std::string &object : objects) {
    inputs.push_back(folder.file("part" + std::to_string(inputs.size()) + ".o"));
    if (std::error_code code = writeAll(inputs.back(), object))
      return llvm::createStringError(code,
                                     inputs.back() + ": cannot be written: " + code.message());
  }
  std::string soname = "-soname=lib" + name.str() + ".so";
  std::vector<StringRef> arguments = {*linker,
                                      "-shared",
                                      "--no-undefined",
                                      "--as-needed",
                                      "--build-id=none",
                                      "--hash-style=gnu",
                                      "--gc-sections",
                                      "-z",
                                      "relro",
                                      "-z",
                                      "now",
                                      "-z",
                                      "noexecstack",
                                      soname,
                                      "-L/lib/x86_64-linux-gnu",
                                      "-L/usr/lib/x86_64-linux-gnu",
                                      "-o",
                                      output};
  llvm::append_range(arguments, inputs);
  llvm::append_range(arguments, std::initializer_list<StringRef>{"-l:libm.so.6", "-l:libc.so.6"});
  std::string message;
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(log), StringRef(log)};
  int status = llvm::sys::ExecuteAndWait(*linker, arguments, std::nullopt, redirects,
                                         /*SecondsToWait=*/120, 0, &message);
  if (status != 0)
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   *linker + " failed (" + std::to_string(status) +
                                       "): " + message + readAll(log));
  std::string library = readAll(output);
  appendSeal(library);
  return library;
}
