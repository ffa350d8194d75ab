// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/mpcc/search/TemporaryFolder.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include <csignal>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

using namespace mpc;

namespace {
// The handler of signals reads these: it may neither allocate nor lock.
char folderToRemove[4096];
volatile sig_atomic_t childToEnd = 0;
} // namespace

static void removeAndExit(int received) {
  if (childToEnd > 0) {
    ::kill(pid_t(childToEnd), SIGTERM);
    ::waitpid(pid_t(childToEnd), nullptr, 0); // it may write until then
  }
  // A handler may call _Fork, execl and _exit; it may not walk over the folder, and fork waits for
  // malloc's locks, which the thread may hold that was interrupted.
  if (*folderToRemove && ::_Fork() == 0) {
    ::execl("/bin/rm", "rm", "-rf", "--", folderToRemove, static_cast<char *>(nullptr));
    ::_exit(127);
  }
  ::_exit(128 + received);
}

llvm::Error TemporaryFolder::make() {
  for (int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action = {};
    if (sigaction(number, nullptr, &action) != 0 || action.sa_handler == SIG_IGN)
      continue; // nohup's wish
    action.sa_handler = removeAndExit;
    sigaction(number, &action, nullptr);
  }
  llvm::SmallString<128> made;
  if (std::error_code code = llvm::sys::fs::createUniqueDirectory("mpcc-search", made))
    return llvm::createStringError(
        code, "a folder for temporary files cannot be made: " + code.message() +
                  "; expected one that can be written; set TMPDIR");
  path = made.str().str();
  if (path.size() >= sizeof folderToRemove) // longer than the system's paths
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   path + ": is too long a path; set TMPDIR to a shorter one");
  std::memcpy(folderToRemove, path.c_str(), path.size() + 1);
  return llvm::Error::success();
}

TemporaryFolder::~TemporaryFolder() {
  if (!path.empty())
    llvm::sys::fs::remove_directories(path, /*IgnoreErrors=*/true);
  *folderToRemove = 0;
}

void TemporaryFolder::remove(llvm::StringRef name) const {
  const std::string place = pathOf(name);
  if (llvm::sys::fs::is_directory(place))
    llvm::sys::fs::remove_directories(place, /*IgnoreErrors=*/true);
  else
    llvm::sys::fs::remove(place);
}

void TemporaryFolder::setChild(pid_t child) { childToEnd = child; }
