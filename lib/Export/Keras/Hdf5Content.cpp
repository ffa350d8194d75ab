// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parent's side of writing HDF5: a child process makes the file and sends its bytes.
#include "mpc/Export/Keras/Hdf5Content.h"

#include "lib/Export/Keras/Hdf5Image.h"
#include "mpc/Import/Keras/InputError.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mpc::keras {
namespace {

/// Never returns.
[[noreturn]] void runChild(int pipe, const Hdf5Content &content) {
  for (int signal : {SIGINT, SIGTERM, SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL})
    ::signal(signal, SIG_DFL);
  const std::string image = makeHdf5Image(content);
  const char *next = image.data();
  size_t left = image.size();
  while (left) {
    const ssize_t done = ::write(pipe, next, left);
    if (done < 0 && errno == EINTR)
      continue;
    if (done < 0)
      _exit(1);
    next += done;
    left -= size_t(done);
  }
  _exit(image.empty() ? 1 : 0);
}

/// The most that the layout of a file can add to its data: headers of groups, datasets and
/// attributes.
uint64_t maxImageBytes(const Hdf5Content &content) {
  uint64_t bytes = uint64_t(1) << 20;
  for (const auto &[path, tensor] : content.datasets)
    bytes += tensor->bytes.size() + 16 * path.size() + 4096;
  for (const std::string &group : content.groups)
    bytes += 16 * group.size() + 8192;
  for (const Hdf5Content::Text &text : content.texts)
    bytes += 2 * text.value.size() + 8192;
  for (const Hdf5Content::List &list : content.lists)
    for (const std::string &value : list.values)
      bytes += 64 * value.size() + 8192;
  return bytes;
}

} // namespace

llvm::Expected<std::string> writeHdf5(const Hdf5Content &content) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return llvm::createStringError(llvm::errc::io_error, "cannot start the HDF5 writer: no pipe");
  const pid_t child = ::fork();
  if (child == 0)
    runChild(ends[1], content);
  ::close(ends[1]);
  std::string image;
  const uint64_t most = maxImageBytes(content);
  char buffer[1 << 16];
  while (child > 0 && image.size() <= most) {
    const ssize_t got = ::read(ends[0], buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      break;
    image.append(buffer, size_t(got));
  }
  ::close(ends[0]);
  int status = -1;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (child < 0 || image.size() > most || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return llvm::createStringError(llvm::errc::io_error,
                                   "the HDF5 file could not be made (out of memory, or a variable "
                                   "and a group of one name)");
  return image;
}

} // namespace mpc::keras
