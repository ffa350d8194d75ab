// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams and graphs of the software device. Work is done late, when somebody waits for it: who
// forgets to wait sees old data.
#ifndef MPC_TEST_FAKECUDA_STREAM_H
#define MPC_TEST_FAKECUDA_STREAM_H

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
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
  std::string name; // for the log
  std::function<void()> run;
};

struct Graph {
  std::vector<Work> work;
};

struct Stream {
  std::vector<Work> pending;
  Graph *recording = nullptr;
  std::thread::id recorder; // the thread whose calls are recorded
};

void enqueue(Stream &stream, Work work);
// Does all that is pending.
void drain(Stream &stream);
void drainAll();
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
extern "C" void mpc_fake_enqueue(void *stream, const char *name, void (*run)(void *), void *data,
                                 void (*release)(void *));
extern "C" void mpc_fake_log(const char *line);
extern "C" int mpc_fake_is_device(const void *address, size_t bytes);

#endif
