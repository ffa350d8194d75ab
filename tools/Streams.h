// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prepares the streams that a process inherits, so that a write that cannot be done fails, and
// nothing else does.
#ifndef MPC_TOOLS_STREAMS_H
#define MPC_TOOLS_STREAMS_H

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <unistd.h>

namespace mpc {

/// To be called first in main().
inline void prepareStreams() {
  // If a standard stream is closed (`2>&-`), the next file would get its number, and messages would
  // go into that file. A stream is opened there instead, in the direction that nobody uses.
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF)
      (void)::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  // A file that may not grow any more (`ulimit -f`) is a write error, reported as such.
  std::signal(SIGXFSZ, SIG_IGN);
}

} // namespace mpc

#endif // MPC_TOOLS_STREAMS_H
