// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/collectives/event_log.h"

namespace mpc::rt {

void EventLog::add(Kind kind, int64_t begin, uint64_t bytes) {
  const int64_t end = now();
  std::lock_guard<std::mutex> lock(mutex);
  events.push_back({kind, begin, end, bytes});
}

std::string EventLog::lines() const {
  std::lock_guard<std::mutex> lock(mutex);
  std::string text;
  for (const Event &event : events)
    text += std::string(event.kind == Kind::message ? "message " : "wait ") +
            std::to_string(event.begin) + " " + std::to_string(event.end) + " " +
            std::to_string(event.bytes) + "\n";
  return text;
}

} // namespace mpc::rt
