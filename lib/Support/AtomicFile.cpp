// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Temporary files, fsync, rename.
#include "mpc/Support/AtomicFile.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <unistd.h>

using namespace mpc;
using llvm::StringRef;

static llvm::Error fileError(StringRef path, const llvm::Twine &what, std::error_code code) {
  return llvm::createStringError(code, path + ": " + what + ": " + code.message());
}

static llvm::Error writeTemporary(StringRef path, StringRef content) {
  int descriptor = -1;
  if (std::error_code code =
          llvm::sys::fs::openFileForWrite(path, descriptor, llvm::sys::fs::CD_CreateAlways))
    return fileError(path, "cannot be created", code);
  // raw_fd_ostream would abort the process on an unchecked error; the flag is read and cleared
  // here.
  llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/false);
  stream << content;
  stream.flush();
  std::error_code code = stream.error();
  stream.clear_error();
  if (!code && ::fsync(descriptor) != 0)
    code = std::error_code(errno, std::generic_category());
  ::close(descriptor);
  return code ? fileError(path, "cannot be written", code) : llvm::Error::success();
}

llvm::Error
mpc::writeFilesAtomically(StringRef directory,
                          const std::vector<std::pair<std::string, std::string>> &files) {
  if (std::error_code code = llvm::sys::fs::create_directories(directory))
    return fileError(directory, "the folder cannot be made", code);
  std::vector<std::string> temporaries;
  llvm::scope_exit removeTemporaries([&] {
    for (const std::string &path : temporaries)
      llvm::sys::fs::remove(path);
  });
  for (const auto &[name, content] : files) {
    llvm::SmallString<128> path(directory);
    llvm::sys::path::append(path, "." + name + ".tmp" + std::to_string(::getpid()));
    temporaries.push_back(path.str().str());
    if (llvm::Error error = writeTemporary(path, content))
      return error;
  }
  for (size_t i = 0; i < files.size(); ++i) {
    llvm::SmallString<128> path(directory);
    llvm::sys::path::append(path, files[i].first);
    if (std::error_code code = llvm::sys::fs::rename(temporaries[i], path))
      return fileError(path, "cannot be replaced", code);
  }
  return llvm::Error::success();
}
