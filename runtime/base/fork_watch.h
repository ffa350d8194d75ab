// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fork leaves no threads behind, and no libgomp team of the thread that forked, although libgomp
// does not know. Code that keeps either asks here.
#ifndef MPC_RUNTIME_BASE_FORK_WATCH_H
#define MPC_RUNTIME_BASE_FORK_WATCH_H

namespace mpc::rt {

// The functions below count only after this call; it is cheap when repeated.
void watchForks() noexcept;

// How many forks lie between the first process that watched and this one.
unsigned forksSeen() noexcept;

// True in the thread of a child process that the fork returned in: libgomp would wait there for
// workers that it had before. Other threads of the child are as new as anywhere.
bool cameOutOfFork() noexcept;

// While one exists, forks wait: a child never finds what it guards half done. May nest.
class ForkBarrier {
public:
  ForkBarrier() noexcept;
  ~ForkBarrier();
  ForkBarrier(const ForkBarrier &) = delete;
  ForkBarrier &operator=(const ForkBarrier &) = delete;
};

} // namespace mpc::rt

#endif
