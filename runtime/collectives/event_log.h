// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When a rank sent and when it waited, for a timeline. The clock is the system's, which the ranks
// of several machines share as far as their clocks agree.
#ifndef MPC_RUNTIME_COLLECTIVES_EVENT_LOG_H
#define MPC_RUNTIME_COLLECTIVES_EVENT_LOG_H

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace mpc::rt {

class EventLog {
public:
  enum class Kind { message, gather, wait, rounding };

  void open() { isOpened = true; }
  bool isOpen() const { return isOpened; }
  static int64_t now() {
    using namespace std::chrono;
    return duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
  }
  void add(Kind kind, int64_t begin, uint64_t bytes);
  // The error of float32 that was sent in bfloat16, relative to the numbers (combine.h).
  void addRounding(double error);
  // A line for each event: kind, begin and end in nanoseconds, bytes; of "rounding" billionths.
  std::string lines() const;

private:
  struct Event {
    Kind kind;
    int64_t begin, end;
    uint64_t bytes;
  };
  std::atomic<bool> isOpened{false};
  mutable std::mutex mutex;
  std::vector<Event> events;
};

} // namespace mpc::rt

#endif
