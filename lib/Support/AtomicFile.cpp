// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Temporary files, fsync, rename. llvm::sys::fs::TempFile would take over signals,
// also where a caller ignores them: a file that grows too large would end the process instead of
// failing.
#include "mpc/Support/AtomicFile.h"
#include "runtime/rules/temporary_file.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <csignal>
#include <iterator>

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

/// Beside the file, hidden, of names that its next writer tries, too: what a killed one left is
/// found.
static std::string temporaryName(StringRef path, unsigned number) {
  constexpr size_t longest = 200; // of the 255 bytes that a name may have
  return inside(llvm::sys::path::parent_path(path),
                "." + llvm::sys::path::filename(path).take_front(longest) + ".tmp" +
                    llvm::Twine(number));
}

/// A free temporary name of the file that `take` takes; empty, and errno says why, where none is.
static std::string takeName(StringRef path, llvm::function_ref<bool(const char *)> take) {
  return rules::takeTemporaryName([&](unsigned number) { return temporaryName(path, number); },
                                  take);
}

static std::error_code lastError() { return {errno, std::generic_category()}; }

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
    for (const std::string &name : {file.temporary, file.old})
      if (!name.empty())
        llvm::sys::fs::remove(name);
    if (file.descriptor >= 0)
      ::close(file.descriptor);
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
                                   place +
                                       ": is no folder; expected one for the files that are "
                                       "written; name another with " +
                                       option);
  file.descriptor = rules::openUnnamed(place.str());
  if (file.descriptor >= 0)
    return llvm::Error::success();
  if (llvm::Error error = makeDirectory())
    return error;
  file.temporary = takeName(file.path, [&](const char *name) {
    file.descriptor = rules::createLocked(name);
    return file.descriptor >= 0;
  });
  if (file.temporary.empty())
    return fileError(file.path, "cannot be created", lastError());
  return llvm::Error::success();
}

llvm::Error AtomicFiles::add(StringRef name, llvm::function_ref<void(llvm::raw_ostream &)> print) {
  files.push_back({inside(directory, name), "", "", -1, false});
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

llvm::Error AtomicFiles::link(File &file) {
  file.temporary = takeName(
      file.path, [&](const char *name) { return rules::linkUnnamed(file.descriptor, name); });
  if (file.temporary.empty())
    return fileError(file.path, "cannot be created", lastError());
  return llvm::Error::success();
}

/// The old files back, as far as the file system has links.
void AtomicFiles::restore(llvm::ArrayRef<File> replaced) {
  for (const File &file : replaced) {
    if (!file.old.empty())
      ::rename(file.old.c_str(), file.path.c_str());
    else if (file.isNew)
      ::unlink(file.path.c_str());
  }
}

llvm::Error AtomicFiles::replace() {
  if (llvm::Error error = makeDirectory())
    return error;
  for (File &file : files)
    if (file.temporary.empty())
      if (llvm::Error error = link(file))
        return error;
  // Known failures happen before the first file is replaced: the files belong together.
  for (File &file : files) {
    if (llvm::sys::fs::is_directory(file.path))
      return fileError(file.path, "cannot be replaced; expected no folder of this name; remove it",
                       std::make_error_code(std::errc::is_a_directory));
    file.old =
        takeName(file.path, [&](const char *name) { return ::link(file.path.c_str(), name) == 0; });
    file.isNew = file.old.empty() && errno == ENOENT;
  }
  for (size_t i = 0; i < files.size(); ++i) {
    if (::rename(files[i].temporary.c_str(), files[i].path.c_str()) != 0) {
      llvm::Error error = fileError(files[i].path, "cannot be replaced", lastError());
      restore(llvm::ArrayRef<File>(files).take_front(i));
      return error;
    }
    files[i].temporary.clear();
  }
  for (File &file : files) {
    if (!file.old.empty())
      ::unlink(file.old.c_str());
    file.old.clear();
  }
  madeDirectories.clear();
  return llvm::Error::success();
}
