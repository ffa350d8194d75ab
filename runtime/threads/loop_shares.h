// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The iterations of a loop in one share per thread, side by side, so that threads meet what they
// computed in the loop before. A thread that is through with its share takes from the others':
// CPUs of a host that others use, or of two kinds, are not equally fast (docs/decisions/0169).
#ifndef MPC_RUNTIME_THREADS_LOOP_SHARES_H
#define MPC_RUNTIME_THREADS_LOOP_SHARES_H

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace mpc::rt {

// One line each: written by different threads.
struct alignas(64) LoopShare {
  std::atomic<int64_t> next{0}; // not yet taken
  int64_t end = 0;
};

// Cuts [0, count) into as many shares.
inline void cutIntoShares(LoopShare *shares, int64_t parts, int64_t count) noexcept {
  // 128-bit: count * part may pass 2^63.
  const auto edge = [&](int64_t part) {
    return static_cast<int64_t>(static_cast<__int128>(count) * part / parts);
  };
  for (int64_t part = 0; part < parts; ++part) {
    shares[part].next.store(edge(part), std::memory_order_relaxed);
    shares[part].end = edge(part + 1);
  }
}

// The iterations that one thread takes.
class Turns {
public:
  // No two threads in the loop have the same `slot`.
  Turns(LoopShare *shares, int64_t parts, int64_t slot) noexcept
      : shares(shares), parts(parts), place(slot), current(slot % parts) {}

  // For memory of the thread's own.
  std::size_t slot() const noexcept { return static_cast<std::size_t>(place); }

  // False: all are taken.
  bool take(int64_t &index) noexcept {
    for (; visited < parts; ++visited, current = current + 1 == parts ? 0 : current + 1) {
      LoopShare &share = shares[current];
      // A share that is over is only read, so that its line stays with all who look.
      if (share.next.load(std::memory_order_relaxed) >= share.end)
        continue;
      index = share.next.fetch_add(1, std::memory_order_relaxed);
      if (index < share.end)
        return true;
    }
    return false;
  }

private:
  LoopShare *shares;
  int64_t parts, place, current, visited = 0;
};

} // namespace mpc::rt

#endif
