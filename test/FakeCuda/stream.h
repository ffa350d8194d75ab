// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams and graphs of the software device. Work is done late, when somebody waits for it: who
// forgets to wait sees old data.
#ifndef MPC_TEST_FAKECUDA_STREAM_H
#define MPC_TEST_FAKECUDA_STREAM_H

#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <sched.h>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace fake {

// Threads come one after the other, each with all that its call does.
class OneAtATime {
public:
  OneAtATime() : lock(mutex()) {}
  static std::recursive_mutex &mutex();

private:
  const std::lock_guard<std::recursive_mutex> lock;
};

struct Work {
  Work(std::string name, std::function<bool()> run) : name(std::move(name)), run(std::move(run)) {}

  std::string name; // for the log
  // Goes on, and says whether all is done. What waits for another process is not, again and again.
  std::function<bool()> run;
  bool hasBegun = false;
};

struct Graph {
  std::vector<Work> work;
};

struct Stream {
  std::deque<Work> pending;
  Graph *recording = nullptr;
  std::thread::id recorder; // the thread whose calls are recorded
};

void enqueue(Stream &stream, Work work);
// Work that is done when it has run.
template <typename Run> void enqueue(Stream &stream, std::string name, Run run) {
  enqueue(stream, Work(std::move(name), [run] {
            run();
            return true;
          }));
}
// Does what is pending, as far as it goes. Whether all is done.
bool advance(Stream &stream);
bool advanceAll();
// Until `isOver`. Between its calls other threads have their turn.
template <typename Over> void waitUntil(Over isOver) {
  for (;; sched_yield()) {
    const OneAtATime lock;
    if (isOver())
      return;
  }
}
// By the thread that asks.
bool anyRecording();

// The one that a null handle means, which other streams do not wait for.
Stream &defaultStream();
Stream *makeStream();
bool destroyStream(Stream *stream);
size_t liveStreams();

// Appends a line to the file that MPC_FAKE_CUDA_LOG names, if any.
void log(const std::string &line);

} // namespace fake

// The other look-alikes call these in libcuda's (driver_functions.h).
extern "C" std::recursive_mutex *mpc_fake_mutex();
// `run` says whether it is done.
extern "C" void mpc_fake_enqueue(void *stream, const char *name, int (*run)(void *), void *data,
                                 void (*release)(void *));
extern "C" void mpc_fake_log(const char *line);
extern "C" int mpc_fake_is_device(const void *address, size_t bytes);

#endif
