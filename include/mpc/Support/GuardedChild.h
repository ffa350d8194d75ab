// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A child process in which a parser that mpc did not write reads a hostile file: it has limits on
// memory and time, one pipe, and no way to open a file, start a program or reach the network. It
// may crash or hang; the parent sees a stream that ends early.
#ifndef MPC_SUPPORT_GUARDEDCHILD_H
#define MPC_SUPPORT_GUARDEDCHILD_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <chrono>
#include <cstdint>
#include <sys/types.h>

namespace mpc {

struct ChildLimits {
  /// Bytes of address space beyond what the process has when it forks.
  uint64_t memory = uint64_t{256} << 20;
  /// Seconds of processor time, and of wall time that the parent waits for the stream.
  unsigned processorSeconds = 60, wallSeconds = 60;
};

class GuardedChild {
public:
  /// Forks. The child calls `work` with the descriptor of its end of the pipe and ends with status
  /// 0 if that returns true. False where the system grants no pipe or no process.
  bool start(const ChildLimits &limits, llvm::function_ref<bool(int pipe)> work);

  /// Reads exactly `bytes` of the stream; false where it breaks off or takes longer than
  /// `wallSeconds` from the start on.
  bool read(void *data, uint64_t bytes);

  /// Whether the child ended with status 0. To be called when it has nothing more to write.
  bool finish();

  GuardedChild() = default;
  GuardedChild(const GuardedChild &) = delete;
  GuardedChild &operator=(const GuardedChild &) = delete;
  /// Ends the child: it has said all that it has to say, or is stuck or hostile.
  ~GuardedChild();

private:
  int reap();

  pid_t child = -1;
  int pipe = -1;
  std::chrono::steady_clock::time_point deadline;
};

} // namespace mpc

#endif // MPC_SUPPORT_GUARDEDCHILD_H
