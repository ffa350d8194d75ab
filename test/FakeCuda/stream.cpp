// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queues.
#include "test/FakeCuda/stream.h"
#include "test/FakeCuda/device_memory.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>

namespace fake {
namespace {
std::set<Stream *> streams;
Stream ofNobody;
} // namespace

std::recursive_mutex &OneAtATime::mutex() {
  static std::recursive_mutex one;
  return one;
}

Stream &defaultStream() { return ofNobody; }

void log(const std::string &line) {
  static FILE *file = [] {
    const char *path = std::getenv("MPC_FAKE_CUDA_LOG");
    return path && *path ? std::fopen(path, "a") : nullptr;
  }();
  if (!file)
    return;
  std::fprintf(file, "%s\n", line.c_str());
  std::fflush(file);
}

void enqueue(Stream &stream, Work work) {
  if (stream.recording) {
    log("record " + work.name);
    stream.recording->work.push_back(std::move(work));
    return;
  }
  stream.pending.push_back(std::move(work));
}

bool advance(Stream &stream) {
  if (stream.pending.empty())
    return true;
  DeviceAccess access;
  while (!stream.pending.empty()) {
    Work &work = stream.pending.front();
    if (!work.hasBegun)
      log("do " + work.name);
    work.hasBegun = true;
    if (!work.run())
      return false;
    stream.pending.pop_front();
  }
  return true;
}

bool advanceAll() {
  bool isDone = advance(ofNobody);
  for (Stream *stream : streams)
    isDone &= advance(*stream);
  return isDone;
}

bool anyRecording() {
  for (Stream *stream : streams)
    if (stream->recording && stream->recorder == std::this_thread::get_id())
      return true;
  return false;
}

Stream *makeStream() {
  auto *stream = new Stream;
  streams.insert(stream);
  return stream;
}

bool destroyStream(Stream *stream) {
  if (!streams.erase(stream))
    return false;
  delete stream;
  return true;
}

size_t liveStreams() { return streams.size(); }

} // namespace fake

extern "C" __attribute__((visibility("default"))) std::recursive_mutex *mpc_fake_mutex() {
  return &fake::OneAtATime::mutex();
}

extern "C" __attribute__((visibility("default"))) void
mpc_fake_enqueue(void *stream, const char *name, int (*run)(void *), void *data,
                 void (*release)(void *)) {
  const fake::OneAtATime lock;
  std::shared_ptr<void> owned(data, release);
  fake::enqueue(*static_cast<fake::Stream *>(stream),
                fake::Work(name, [run, owned] { return run(owned.get()) != 0; }));
}

extern "C" __attribute__((visibility("default"))) void mpc_fake_log(const char *line) {
  fake::log(line);
}

extern "C" __attribute__((visibility("default"))) int mpc_fake_is_device(const void *address,
                                                                         size_t bytes) {
  const fake::OneAtATime lock;
  return fake::isDevice(address, bytes);
}
