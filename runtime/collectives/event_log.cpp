// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/collectives/event_log.h"

namespace mpc::rt {

void EventLog::add(Kind kind, int64_t begin, uint64_t bytes) {
  const int64_t end = now();
  std::lock_guard<std::mutex> lock(mutex);
  events.push_back({kind, begin, end, bytes});
}

void EventLog::addRounding(double error) {
  add(Kind::rounding, now(), static_cast<uint64_t>(error * 1e9));
}

std::string EventLog::lines() const {
  constexpr const char *names[] = {"message ", "gather ", "wait ", "rounding "}; // by kind
  std::lock_guard<std::mutex> lock(mutex);
  std::string text;
  for (const Event &event : events)
    text += names[int(event.kind)] + std::to_string(event.begin) + " " + std::to_string(event.end) +
            " " + std::to_string(event.bytes) + "\n";
  return text;
}

} // namespace mpc::rt
