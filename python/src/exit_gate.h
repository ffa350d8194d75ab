// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keeps daemon threads out of native code while the process ends.
#ifndef MPC_PYTHON_EXIT_GATE_H
#define MPC_PYTHON_EXIT_GATE_H

#include <atomic>
#include <chrono>
#include <pthread.h>
#include <thread>
#include <unistd.h>

namespace mpc::python {

/// Behind the interpreter's end come the destructors of libraries, oneDNN's among them, whose
/// kernels a daemon thread may still run. The gate is closed before: calls that are under way end,
/// and no other thread begins one. Atomics alone, so that a fork finds nothing locked.
class ExitGate {
public:
  static ExitGate &instance() {
    static ExitGate gate;
    return gate;
  }

  /// Counts a call. A thread that comes after the gate was closed waits for the process to end.
  void enter() noexcept {
    calls.fetch_add(1);
    if (!isClosed.load() || pthread_equal(closer, pthread_self()))
      return;
    calls.fetch_sub(1);
    for (;;)
      ::pause();
  }
  void leave() noexcept { calls.fetch_sub(1); }

  /// Called by the thread that ends the interpreter, outside of calls. A call that takes longer
  /// than `patience` does not keep the process.
  void close() noexcept {
    constexpr std::chrono::seconds patience(10);
    closer = pthread_self();
    isClosed.store(true);
    const auto end = std::chrono::steady_clock::now() + patience;
    while (calls.load() > 0 && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

private:
  /// A child has none of the threads whose calls were under way.
  ExitGate() {
    pthread_atfork(nullptr, nullptr, [] { instance().calls.store(0); });
  }

  std::atomic<int> calls{0};
  std::atomic<bool> isClosed{false};
  pthread_t closer = {};
};

} // namespace mpc::python
#endif
