// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Signal handlers.
#include "runtime/commands/interruption.h"

#include <csignal>
#include <iterator>

namespace mpc::commands {

static volatile std::sig_atomic_t received = 0;

// SIGHUP: the terminal is gone, often with a network.
static constexpr int numbers[] = {SIGINT, SIGTERM, SIGHUP};
static constexpr size_t count = std::size(numbers);
static struct sigaction before[count];

static void remember(int number) {
  received = number;
  for (size_t i = 0; i < count; ++i) // the next one ends the process as it did before
    sigaction(numbers[i], &before[i], nullptr);
}

Interruption::Interruption() {
  received = 0;
  struct sigaction action = {};
  action.sa_handler = remember;
  action.sa_flags = SA_RESTART; // interrupted reads and writes go on
  for (size_t i = 0; i < count; ++i) {
    sigaction(numbers[i], nullptr, &before[i]); // all, before the first may come
    sigaddset(&action.sa_mask, numbers[i]);
  }
  for (size_t i = 0; i < count; ++i)
    if (before[i].sa_handler != SIG_IGN) // as nohup asks for
      sigaction(numbers[i], &action, nullptr);
}

Interruption::~Interruption() {
  for (size_t i = 0; i < count; ++i)
    sigaction(numbers[i], &before[i], nullptr);
}

int Interruption::signal() { return received; }

} // namespace mpc::commands
