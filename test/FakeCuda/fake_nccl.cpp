// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libnccl.so.2 of the software device: messages between processes of one machine, through shared
// memory that has a ring for each pair of ranks and direction.
//
//   MPC_FAKE_CUDA_LOG   gets a line for each group of messages, as for all that is done
#include "test/FakeCuda/driver_functions.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <memory>
#include <random>
#include <sched.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

enum : int { success = 0, systemError = 2, invalidArgument = 4, invalidUsage = 5, remoteError = 6 };
constexpr size_t ringBytes = size_t(64) << 10;
constexpr int mostRanks = 64;
constexpr unsigned secondsToJoin = 60;

struct UniqueId {
  char name[128];
};

struct Ring {
  std::atomic<uint64_t> written, read;
  char data[ringBytes];
};

// Zero when it is made.
struct Shared {
  std::atomic<int> joined, left;
  std::atomic<pid_t> process[mostRanks];
  Ring rings[]; // from * ranks + to
};

struct Communicator {
  Shared *shared = nullptr;
  size_t bytes = 0;
  int ranks = 0, rank = 0;
  std::atomic<int> error{success};

  Ring &ring(int from, int to) const { return shared->rings[from * ranks + to]; }
};

struct Message {
  Communicator *communicator;
  void *stream;
  char *data;
  size_t count, done;
  int peer;
  bool isSent;
};

thread_local int groups = 0;
thread_local std::vector<Message> grouped;

// Whether anything went on.
bool advance(Message &message) {
  Communicator &c = *message.communicator;
  Ring &ring = message.isSent ? c.ring(c.rank, message.peer) : c.ring(message.peer, c.rank);
  const uint64_t written = ring.written.load(), read = ring.read.load();
  const uint64_t from = message.isSent ? written : read, begin = from % ringBytes;
  const size_t there = message.isSent ? ringBytes - (written - read) : written - read;
  const size_t many = std::min({there, message.count - message.done, size_t(ringBytes - begin)});
  if (many == 0)
    return false;
  char *own = message.data + message.done;
  std::memcpy(message.isSent ? ring.data + begin : own, message.isSent ? own : ring.data + begin,
              many);
  message.done += many;
  (message.isSent ? ring.written : ring.read).store(from + many);
  return true;
}

// The work of a stream: all messages of a group at once.
void carry(std::vector<Message> &messages) {
  auto isOver = [](const Message &message) { return message.done == message.count; };
  for (unsigned idle = 0; !std::all_of(messages.begin(), messages.end(), isOver); ++idle) {
    bool advanced = false;
    for (Message &message : messages)
      advanced |= advance(message);
    if (advanced) {
      idle = 0;
      continue;
    }
    sched_yield();
    if (idle % 1024 != 1023)
      continue;
    const timespec pause = {0, 100000};
    nanosleep(&pause, nullptr);
    for (const Message &message : messages)
      if (!isOver(message) && kill(message.communicator->shared->process[message.peer], 0) != 0 &&
          errno == ESRCH) {
        message.communicator->error = remoteError;
        return;
      }
  }
}

int endGroup() {
  std::vector<Message> messages = std::exchange(grouped, {});
  if (messages.empty())
    return success;
  static auto enqueue = fake::findInDriver<decltype(&mpc_fake_enqueue)>("mpc_fake_enqueue");
  void *stream = messages.front().stream;
  const std::string name = "messages " + std::to_string(messages.size());
  enqueue(
      stream, name.c_str(), [](void *data) { carry(*static_cast<std::vector<Message> *>(data)); },
      new std::vector<Message>(std::move(messages)),
      [](void *data) { delete static_cast<std::vector<Message> *>(data); });
  return success;
}

int add(Message message) {
  static auto isDevice = fake::findInDriver<decltype(&mpc_fake_is_device)>("mpc_fake_is_device");
  const Communicator *c = message.communicator;
  if (!c || message.peer < 0 || message.peer >= c->ranks || message.peer == c->rank ||
      !message.stream || !isDevice(message.data, message.count))
    return invalidArgument;
  grouped.push_back(message);
  return groups ? success : endGroup();
}

} // namespace

EXPORT const char *ncclGetErrorString(int error) {
  return error == remoteError       ? "remote process exited or there was a network error"
         : error == invalidArgument ? "invalid argument"
         : error == systemError     ? "unhandled system error"
                                    : "software device";
}

EXPORT int ncclGetUniqueId(UniqueId *id) {
  // No number of a process: containers repeat them, and a killed job leaves its memory behind.
  std::random_device random;
  std::snprintf(id->name, sizeof id->name, "/mpc-fake-nccl-%08x%08x", random(), random());
  return success;
}

EXPORT int ncclCommInitRank(Communicator **communicator, int ranks, UniqueId id, int rank) {
  if (ranks < 1 || ranks > mostRanks || rank < 0 || rank >= ranks || id.name[127])
    return invalidArgument;
  const int file = shm_open(id.name, O_CREAT | O_RDWR, 0600);
  const size_t bytes = sizeof(Shared) + size_t(ranks) * size_t(ranks) * sizeof(Ring);
  if (file < 0)
    return systemError;
  // Where the machine grants less, a first touch of memory that is only promised would end the
  // process without a word.
  if (posix_fallocate(file, 0, off_t(bytes)) != 0) {
    close(file);
    shm_unlink(id.name);
    return systemError;
  }
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED)
    return systemError;
  auto made = std::make_unique<Communicator>();
  made->shared = static_cast<Shared *>(memory);
  made->bytes = bytes;
  made->ranks = ranks;
  made->rank = rank;
  made->shared->process[rank] = getpid();
  ++made->shared->joined;
  const time_t begin = std::time(nullptr);
  while (made->shared->joined < ranks && std::time(nullptr) - begin < secondsToJoin)
    sched_yield();
  // The last rank removes the name; the memory stays while a rank maps it.
  if (++made->shared->left == ranks)
    shm_unlink(id.name);
  if (made->shared->joined < ranks)
    return systemError;
  *communicator = made.release();
  return success;
}

EXPORT int ncclCommDestroy(Communicator *communicator) {
  if (!communicator)
    return invalidArgument;
  munmap(communicator->shared, communicator->bytes);
  delete communicator;
  return success;
}
EXPORT int ncclCommAbort(Communicator *communicator) { return ncclCommDestroy(communicator); }

EXPORT int ncclCommGetAsyncError(Communicator *communicator, int *error) {
  *error = communicator->error;
  return success;
}

EXPORT int ncclGroupStart() {
  ++groups;
  return success;
}
EXPORT int ncclGroupEnd() {
  if (groups == 0)
    return invalidUsage;
  return --groups == 0 ? endGroup() : success;
}

EXPORT int ncclSend(const void *data, size_t count, int, int peer, Communicator *communicator,
                    void *stream) {
  auto *bytes = static_cast<char *>(const_cast<void *>(data));
  return add({communicator, stream, bytes, count, 0, peer, /*isSent=*/true});
}
EXPORT int ncclRecv(void *data, size_t count, int, int peer, Communicator *communicator,
                    void *stream) {
  return add({communicator, stream, static_cast<char *>(data), count, 0, peer, /*isSent=*/false});
}
