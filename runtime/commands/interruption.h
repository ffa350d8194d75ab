// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Interruption: SIGINT, SIGTERM and SIGHUP as a wish that training asks about after each step.
#ifndef MPC_RUNTIME_COMMANDS_INTERRUPTION_H
#define MPC_RUNTIME_COMMANDS_INTERRUPTION_H

namespace mpc::commands {

/// While it lives, the first signal is only remembered; a second one ends the process. Those that
/// were ignored before stay so.
class Interruption {
public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption &) = delete;
  Interruption &operator=(const Interruption &) = delete;
  /// 0, or the signal that came first.
  static int signal();
};

} // namespace mpc::commands
#endif
