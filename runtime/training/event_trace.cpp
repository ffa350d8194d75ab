// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/training/event_trace.h"

#include "runtime/data/atomic_file.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>

namespace mpc::training {

using data::Result;
using data::Status;

namespace {

struct Event {
  std::string kind;
  int64_t begin = 0, end = 0;
  uint64_t number = 0; // bytes, or which step
};

// Between ranks.
bool isMessage(const Event &event) { return event.kind == "message" || event.kind == "gather"; }

std::vector<Event> parse(const std::string &lines) {
  std::vector<Event> events;
  std::istringstream stream(lines);
  for (Event event; stream >> event.kind >> event.begin >> event.end >> event.number;)
    events.push_back(event);
  return events;
}

int64_t now() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
}

nlohmann::json nameOf(const char *what, size_t rank, int thread, const std::string &name) {
  return {{"name", what}, {"ph", "M"}, {"pid", rank}, {"tid", thread}, {"args", {{"name", name}}}};
}

} // namespace

EventTrace::EventTrace(RankJob &job) : job_(job) { job.record(); }

Status EventTrace::stepBegin(int64_t, const std::vector<int64_t> &) {
  begin_ = now();
  return Status();
}

std::string EventTrace::stepEnd(const StepResult &result) {
  steps_ += "step " + std::to_string(begin_) + " " + std::to_string(now()) + " " +
            std::to_string(result.globalStep) + "\n";
  return "";
}

std::string EventTrace::lines() const { return steps_ + job_.events(); }

std::string EventTrace::describeOverlap() const {
  int64_t messages = 0, waits = 0, bytes = 0;
  uint64_t rounding = 0;
  for (const Event &event : parse(lines())) {
    messages += isMessage(event) ? event.end - event.begin : 0;
    bytes += isMessage(event) ? static_cast<int64_t>(event.number) : 0;
    waits += event.kind == "wait" ? event.end - event.begin : 0;
    rounding = std::max(rounding, event.kind == "rounding" ? event.number : 0);
  }
  if (messages == 0)
    return "";
  const int64_t hidden = std::max<int64_t>(0, messages - waits);
  std::ostringstream text;
  text << "messages of " << bytes / 1000 << " kB took " << messages / 1000000 << " ms, of which "
       << hidden * 100 / messages << " % went while this rank computed";
  if (rounding)
    text << "; bfloat16 changed what was sent by up to " << static_cast<double>(rounding) / 1e7
         << " %";
  return text.str();
}

std::string timelineOf(const std::vector<std::string> &ranks) {
  nlohmann::json events = nlohmann::json::array();
  constexpr int computing = 0, sending = 1;
  std::vector<std::vector<Event>> parsed;
  int64_t first = INT64_MAX;
  for (const std::string &lines : ranks) {
    parsed.push_back(parse(lines));
    for (const Event &event : parsed.back())
      first = std::min(first, event.begin);
  }
  auto microseconds = [](int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e3; };
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    events.push_back(nameOf("process_name", rank, computing, "rank " + std::to_string(rank)));
    events.push_back(nameOf("thread_name", rank, computing, "computes"));
    events.push_back(nameOf("thread_name", rank, sending, "messages"));
    for (const Event &event : parsed[rank]) {
      if (event.kind == "rounding")
        continue;
      const bool isStep = event.kind == "step";
      const std::string name = isStep ? "step " + std::to_string(event.number) : event.kind;
      nlohmann::json shown = {{"name", name},
                              {"ph", "X"},
                              {"pid", rank},
                              {"tid", isMessage(event) ? sending : computing},
                              {"ts", microseconds(event.begin - first)},
                              {"dur", microseconds(event.end - event.begin)}};
      if (!isStep)
        shown["args"] = {{"bytes", event.number}};
      events.push_back(shown);
    }
  }
  return nlohmann::json{{"displayTimeUnit", "ms"}, {"traceEvents", events}}.dump() + "\n";
}

Status EventTrace::write(const std::string &path) const {
  Result<std::vector<std::string>> all = job_.gather(lines());
  if (!all)
    return all.failure();
  if (!job_.isFirst())
    return Status();
  data::AtomicFile file(path);
  if (Status status = file.open(); !status)
    return status;
  file.write(timelineOf(*all));
  return file.commit();
}

} // namespace mpc::training
