// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Temporary files, fsync, rename. llvm::sys::fs::TempFile would take over signals, also where a
// caller ignores them: a file that grows too large would end the process instead of failing.
#include "mpc/Support/AtomicFile.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <unistd.h>

using namespace mpc;
using llvm::StringRef;

static llvm::Error fileError(StringRef path, const llvm::Twine &what, std::error_code code) {
  return llvm::createStringError(code, path + ": " + what + ": " + code.message());
}

static std::string inside(StringRef directory, const llvm::Twine &name) {
  llvm::SmallString<128> path(directory);
  llvm::sys::path::append(path, name);
  return path.str().str();
}

/// The directories on the way to `directory` that do not exist, outermost first.
static std::vector<std::string> missingDirectories(StringRef directory) {
  std::vector<std::string> missing;
  for (; !directory.empty() && !llvm::sys::fs::exists(directory);
       directory = llvm::sys::path::parent_path(directory))
    missing.insert(missing.begin(), directory.str());
  return missing;
}

AtomicFiles::~AtomicFiles() {
  for (const File &file : files)
    llvm::sys::fs::remove(file.temporary);
  // Only empty ones go.
  for (const std::string &made : llvm::reverse(madeDirectories))
    ::rmdir(made.c_str());
}

llvm::Error AtomicFiles::add(StringRef name, llvm::function_ref<void(llvm::raw_ostream &)> print) {
  if (files.empty()) {
    madeDirectories = missingDirectories(directory);
    if (std::error_code code = llvm::sys::fs::create_directories(directory))
      return fileError(directory, "the folder cannot be made", code);
  }
  files.push_back(
      {inside(directory, "." + name + ".tmp" + llvm::Twine(::getpid())), inside(directory, name)});
  const std::string &path = files.back().temporary;
  int descriptor = -1;
  if (std::error_code code =
          llvm::sys::fs::openFileForWrite(path, descriptor, llvm::sys::fs::CD_CreateAlways))
    return fileError(path, "cannot be created", code);
  // raw_fd_ostream would abort the process on an unchecked error; the flag is read and cleared
  // here.
  llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/false);
  print(stream);
  stream.flush();
  std::error_code code = stream.error();
  stream.clear_error();
  if (!code && ::fsync(descriptor) != 0)
    code = std::error_code(errno, std::generic_category());
  ::close(descriptor);
  return code ? fileError(path, "cannot be written", code) : llvm::Error::success();
}

llvm::Error AtomicFiles::commit() {
  for (const File &file : files)
    if (std::error_code code = llvm::sys::fs::rename(file.temporary, file.path))
      return fileError(file.path, "cannot be replaced", code);
  files.clear();
  return llvm::Error::success();
}
