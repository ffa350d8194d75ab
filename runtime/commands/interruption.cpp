// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Signal handlers.
#include "commands/interruption.h"

#include <csignal>
#include <initializer_list>

namespace mpc::commands {

static volatile std::sig_atomic_t received = 0;

static void remember(int number) { received = number; }

static constexpr int numbers[] = {SIGINT, SIGTERM};
static struct sigaction before[2];

Interruption::Interruption() {
  received = 0;
  for (int i : {0, 1}) {
    struct sigaction action = {};
    action.sa_handler = remember;
    // The default comes back with the first signal; interrupted reads and writes go on.
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    sigaction(numbers[i], &action, &before[i]);
  }
}

Interruption::~Interruption() {
  for (int i : {0, 1})
    sigaction(numbers[i], &before[i], nullptr);
}

int Interruption::signal() { return received; }

} // namespace mpc::commands
