// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Signal handlers.
#include "commands/interruption.h"

#include <csignal>
#include <initializer_list>

namespace mpc::commands {

static volatile std::sig_atomic_t received = 0;

static void remember(int number) { received = number; }

Interruption::Interruption() {
  received = 0;
  for (int number : {SIGINT, SIGTERM}) {
    struct sigaction action = {};
    action.sa_handler = remember;
    // The default comes back with the first signal; interrupted reads and writes go on.
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    sigaction(number, &action, nullptr);
  }
}

Interruption::~Interruption() {
  for (int number : {SIGINT, SIGTERM})
    std::signal(number, SIG_DFL);
}

int Interruption::signal() { return received; }

} // namespace mpc::commands
