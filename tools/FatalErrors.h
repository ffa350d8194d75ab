// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's libraries end a process for some errors; this says them in mpc's words and with mpc's exit
// codes: a stream that could not be written, found when it is closed, and errors inside of LLVM,
// which are crashes.
#ifndef MPC_TOOLS_FATAL_ERRORS_H
#define MPC_TOOLS_FATAL_ERRORS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace mpc {

inline void reportFatalErrors() {
  llvm::install_fatal_error_handler([](void *, const char *reason, bool) {
    // llvm::outs() is closed after main, when llvm::errs() can be gone already.
    llvm::StringRef cause(reason);
    if (cause.consume_front("IO failure on output stream: ")) {
      std::fprintf(stderr, "error: the output cannot be written: %s\n", cause.data());
      ::_exit(1);
    }
    if (cause.consume_front("pthread_create failed: ")) {
      std::fprintf(stderr,
                   "error: no thread can be started: %s; expected the system to grant a few; raise "
                   "its limit (ulimit -u)\n",
                   cause.data());
      ::_exit(1);
    }
    std::fprintf(stderr, "error: internal error: %s\n", reason);
    std::abort();
  });
}

} // namespace mpc

#endif // MPC_TOOLS_FATAL_ERRORS_H
