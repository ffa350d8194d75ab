// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SIGINT and SIGTERM end the tools with the exit codes 130 and 143, which a shell makes of signals
// and other parents do not. Files that were not finished have no names and vanish.
#ifndef MPC_TOOLS_EXIT_ON_SIGNALS_H
#define MPC_TOOLS_EXIT_ON_SIGNALS_H

#include <csignal>
#include <initializer_list>
#include <unistd.h>

namespace mpc {

inline void exitOnSignals() {
  for (int number : {SIGINT, SIGTERM}) {
    struct sigaction action = {};
    if (sigaction(number, nullptr, &action) != 0 || action.sa_handler == SIG_IGN)
      continue; // nohup's wish
    action.sa_handler = [](int received) { ::_exit(128 + received); };
    sigaction(number, &action, nullptr);
  }
}

} // namespace mpc

#endif // MPC_TOOLS_EXIT_ON_SIGNALS_H
