// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files without names (O_TMPFILE), fsync, rename. llvm::sys::fs::TempFile would take over signals,
// also where a caller ignores them: a file that grows too large would end the process instead of
// failing.
#include "mpc/Support/AtomicFile.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <csignal>
#include <fcntl.h>
#include <iterator>
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

/// Beside the file, hidden, of this process alone.
static std::string temporaryName(StringRef path) {
  return inside(llvm::sys::path::parent_path(path),
                "." + llvm::sys::path::filename(path) + ".tmp" + llvm::Twine(::getpid()));
}

/// The directories on the way to `directory` that do not exist, outermost first.
static std::vector<std::string> missingDirectories(StringRef directory) {
  std::vector<std::string> missing;
  for (; !directory.empty() && !llvm::sys::fs::exists(directory);
       directory = llvm::sys::path::parent_path(directory))
    missing.insert(missing.begin(), directory.str());
  return missing;
}

AtomicFiles::~AtomicFiles() { discard(); }

void AtomicFiles::discard() {
  for (const File &file : files) {
    if (file.descriptor >= 0)
      ::close(file.descriptor);
    if (!file.temporary.empty())
      llvm::sys::fs::remove(file.temporary);
  }
  files.clear();
  // Only empty ones go.
  for (const std::string &made : llvm::reverse(madeDirectories))
    ::rmdir(made.c_str());
  madeDirectories.clear();
}

llvm::Error AtomicFiles::makeDirectory() {
  std::vector<std::string> missing = missingDirectories(directory);
  madeDirectories.insert(madeDirectories.end(), missing.begin(), missing.end());
  if (std::error_code code = llvm::sys::fs::create_directories(directory, /*IgnoreExisting=*/true,
                                                               llvm::sys::fs::all_all))
    return fileError(directory, "the folder cannot be made", code);
  return llvm::Error::success();
}

llvm::Error AtomicFiles::open(File &file) {
  // On the file system where the directory is or will be.
  const std::vector<std::string> missing = missingDirectories(directory);
  StringRef place =
      missing.empty() ? StringRef(directory) : llvm::sys::path::parent_path(missing.front());
  if (place.empty())
    place = ".";
  if (!llvm::sys::fs::is_directory(place))
    return llvm::createStringError(llvm::errc::not_a_directory,
                                   place + ": is no folder; expected one for the files that are "
                                           "written; name another with -o");
  // A name comes by way of the descriptor's entry there.
  if (::access("/proc/self/fd", X_OK) == 0)
    file.descriptor = ::open(place.str().c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (file.descriptor >= 0)
    return llvm::Error::success();
  if (llvm::Error error = makeDirectory())
    return error;
  file.temporary = temporaryName(file.path);
  if (std::error_code code = llvm::sys::fs::openFileForWrite(file.temporary, file.descriptor,
                                                             llvm::sys::fs::CD_CreateAlways))
    return fileError(file.path, "cannot be created", code);
  return llvm::Error::success();
}

llvm::Error AtomicFiles::add(StringRef name, llvm::function_ref<void(llvm::raw_ostream &)> print) {
  files.push_back({inside(directory, name), "", -1});
  File &file = files.back();
  if (llvm::Error error = open(file))
    return error;
  // raw_fd_ostream would abort the process on an unchecked error; the flag is read and cleared
  // here.
  llvm::raw_fd_ostream stream(file.descriptor, /*shouldClose=*/false);
  print(stream);
  stream.flush();
  std::error_code code = stream.error();
  stream.clear_error();
  if (!code && ::fsync(file.descriptor) != 0)
    code = std::error_code(errno, std::generic_category());
  return code ? fileError(file.path, "cannot be written", code) : llvm::Error::success();
}

namespace {
/// While one exists, the signals that users and systems end tools with wait, in every thread: of
/// files that belong together all are replaced, and none keeps a temporary name. One at a time.
class SignalDelay {
public:
  SignalDelay() {
    received = 0;
    struct sigaction action = {};
    action.sa_handler = [](int number) { received = number; };
    action.sa_flags = SA_RESTART;
    for (size_t i = 0; i < std::size(numbers); ++i)
      if (::sigaction(numbers[i], nullptr, &before[i]) == 0 && before[i].sa_handler != SIG_IGN)
        ::sigaction(numbers[i], &action, nullptr);
  }
  ~SignalDelay() {
    for (size_t i = 0; i < std::size(numbers); ++i)
      ::sigaction(numbers[i], &before[i], nullptr);
    if (received)
      ::raise(received);
  }
  SignalDelay(const SignalDelay &) = delete;

private:
  static constexpr int numbers[] = {SIGINT, SIGTERM, SIGHUP};
  static inline volatile std::sig_atomic_t received = 0;
  struct sigaction before[std::size(numbers)] = {};
};
} // namespace

llvm::Error AtomicFiles::commit() {
  SignalDelay delay;
  llvm::Error error = replace();
  if (error)
    discard();
  return error;
}

llvm::Error AtomicFiles::replace() {
  if (llvm::Error error = makeDirectory())
    return error;
  // A name cannot be taken from another file by a link, only by a rename.
  for (File &file : files) {
    if (!file.temporary.empty())
      continue;
    const std::string entry = "/proc/self/fd/" + std::to_string(file.descriptor);
    const std::string temporary = temporaryName(file.path);
    ::unlink(temporary.c_str()); // of a process with our number that was killed
    if (::linkat(AT_FDCWD, entry.c_str(), AT_FDCWD, temporary.c_str(), AT_SYMLINK_FOLLOW) != 0)
      return fileError(file.path, "cannot be created",
                       std::error_code(errno, std::generic_category()));
    file.temporary = temporary;
  }
  // What is known to fail fails before the first file is replaced: they belong together.
  for (const File &file : files)
    if (llvm::sys::fs::is_directory(file.path))
      return fileError(file.path, "cannot be replaced; expected no folder of this name; remove it",
                       std::make_error_code(std::errc::is_a_directory));
  for (File &file : files) {
    if (std::error_code code = llvm::sys::fs::rename(file.temporary, file.path))
      return fileError(file.path, "cannot be replaced", code);
    file.temporary.clear();
  }
  madeDirectories.clear();
  return llvm::Error::success();
}
