// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libnccl.so.2 of the software device: messages between processes of one machine, through shared
// memory that has a ring for each pair of ranks and direction.
//
//   MPC_FAKE_CUDA_LOG    gets a line for each group of messages, as for all that is done, and one
//                        for each communicator that is aborted
//   MPC_FAKE_NCCL_FAULT  "1 send 3": what fails on rank 1 after three groups of messages (Fault)
#include "test/FakeCuda/driver_functions.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <random>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

enum : int {
  success = 0,
  systemError = 2,
  invalidArgument = 4,
  invalidUsage = 5,
  remoteError = 6,
  inProgress = 7
};
constexpr size_t ringBytes = size_t(64) << 10;
constexpr int mostRanks = 64;

struct UniqueId {
  char name[128];
};

struct Config {
  size_t size;
  unsigned magic, version;
  int blocking;
};

// A fault that the environment asks of the NCCL of one rank.
struct Fault {
  char kind[16] = ""; // join, send, receive, end, ask, lose, connect, hang
  int rank = -1, groups = 0;

  static const Fault &asked() {
    static const Fault fault = [] {
      Fault read;
      const char *text = std::getenv("MPC_FAKE_NCCL_FAULT");
      if (text && std::sscanf(text, "%d %15s %d", &read.rank, read.kind, &read.groups) < 2)
        read.rank = -1;
      return read;
    }();
    return fault;
  }
};

struct Ring {
  std::atomic<uint64_t> written, read;
  char data[ringBytes];
};

// Zero when it is made.
struct Shared {
  std::atomic<int> joined;
  std::atomic<pid_t> process[mostRanks];
  Ring rings[]; // from * ranks + to
};

// Lives as long as messages of it are in a stream.
struct Connection {
  Connection(Shared *shared, size_t bytes) : shared(shared), bytes(bytes) {}
  Connection(const Connection &) = delete;
  Connection &operator=(const Connection &) = delete;
  ~Connection() { munmap(shared, bytes); }

  Ring &ring(int from, int to) const { return shared->rings[from * ranks + to]; }
  bool is(const char *fault) const {
    const Fault &asked = Fault::asked();
    return asked.rank == rank && groups >= asked.groups && std::strcmp(asked.kind, fault) == 0;
  }

  Shared *const shared;
  const size_t bytes;
  int ranks = 0, rank = 0;
  std::string name;
  std::atomic<int> groups{0}; // begun
  std::atomic<int> error{success};
  std::atomic<bool> isAborted{false};
};

struct Message {
  std::shared_ptr<Connection> connection;
  void *stream;
  char *data;
  size_t count, done;
  int peer;
  bool isSent;
};

// In the place of NCCL's own thread: what other ranks are needed for is done when somebody asks.
struct Communicator {
  std::shared_ptr<Connection> connection;
  bool isJoining = true;
  std::vector<Message> launching;
};

thread_local int groups = 0;
thread_local std::vector<Message> grouped;
thread_local Communicator *groupedBy = nullptr;

// Whether anything went on.
bool advance(Message &message) {
  Connection &c = *message.connection;
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

bool isOver(const Message &message) { return message.done == message.count; }

bool isGone(const Message &message) {
  const pid_t process = message.connection->shared->process[message.peer];
  return kill(process, 0) != 0 && errno == ESRCH;
}

// The work of a stream: all messages of a group at once. Whether they are over, by an error too.
int carry(std::vector<Message> &messages) {
  Connection &connection = *messages.front().connection;
  if (connection.is("lose"))
    connection.error = remoteError;
  while (!connection.isAborted && connection.error == success) {
    if (connection.is("hang"))
      return 0;
    bool advanced = false;
    for (Message &message : messages)
      advanced |= advance(message);
    if (std::all_of(messages.begin(), messages.end(), isOver))
      return 1;
    if (advanced)
      continue;
    for (const Message &message : messages)
      if (!isOver(message) && isGone(message))
        connection.error = remoteError;
    if (connection.error == success)
      return 0;
  }
  return 1;
}

void launch(std::vector<Message> messages) {
  static auto enqueue = fake::findInDriver<decltype(&mpc_fake_enqueue)>("mpc_fake_enqueue");
  void *stream = messages.front().stream;
  const std::string name = "messages " + std::to_string(messages.size());
  enqueue(
      stream, name.c_str(),
      [](void *data) { return carry(*static_cast<std::vector<Message> *>(data)); },
      new std::vector<Message>(std::move(messages)),
      [](void *data) { delete static_cast<std::vector<Message> *>(data); });
}

int endGroup() {
  Communicator *communicator = std::exchange(groupedBy, nullptr);
  std::vector<Message> messages = std::exchange(grouped, {});
  if (messages.empty())
    return success;
  Connection &connection = *communicator->connection;
  if (connection.is("end"))
    return systemError;
  ++connection.groups;
  communicator->launching = std::move(messages);
  return inProgress;
}

int add(Communicator *communicator, void *stream, char *data, size_t count, int peer, bool isSent) {
  static auto isDevice = fake::findInDriver<decltype(&mpc_fake_is_device)>("mpc_fake_is_device");
  if (!communicator || (groupedBy && groupedBy != communicator))
    return invalidArgument;
  const Connection &c = *communicator->connection;
  if (peer < 0 || peer >= c.ranks || peer == c.rank || !stream || !isDevice(data, count))
    return invalidArgument;
  // The calls before have to be over.
  if (communicator->isJoining || !communicator->launching.empty())
    return invalidUsage;
  if (c.is(isSent ? "send" : "receive"))
    return systemError;
  groupedBy = communicator;
  grouped.push_back({communicator->connection, stream, data, count, 0, peer, isSent});
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

EXPORT int ncclCommInitRankConfig(Communicator **communicator, int ranks, UniqueId id, int rank,
                                  const Config *config) {
  if (ranks < 1 || ranks > mostRanks || rank < 0 || rank >= ranks || id.name[127])
    return invalidArgument;
  // Others than those that return at once are not played.
  if (!config || config->size < sizeof *config || config->magic != 0xcafebeef ||
      config->version < 21400 || config->blocking != 0)
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
  made->connection = std::make_shared<Connection>(static_cast<Shared *>(memory), bytes);
  Connection &connection = *made->connection;
  connection.name = id.name;
  connection.ranks = ranks;
  connection.rank = rank;
  connection.shared->process[rank] = getpid();
  ++connection.shared->joined;
  *communicator = made.release();
  return inProgress;
}

EXPORT int ncclCommDestroy(Communicator *communicator) {
  if (!communicator)
    return invalidArgument;
  delete communicator;
  return success;
}
EXPORT int ncclCommAbort(Communicator *communicator) {
  if (!communicator)
    return success;
  static auto log = fake::findInDriver<decltype(&mpc_fake_log)>("mpc_fake_log");
  {
    const fake::OneAtATime lock;
    Connection &connection = *communicator->connection;
    log(("abort by rank " + std::to_string(connection.rank)).c_str());
    connection.isAborted = true;
    // The name outlives a job that did not come together.
    if (communicator->isJoining)
      shm_unlink(connection.name.c_str());
  }
  return ncclCommDestroy(communicator);
}

EXPORT int ncclCommGetAsyncError(Communicator *communicator, int *error) {
  if (!communicator)
    return invalidArgument;
  Connection &connection = *communicator->connection;
  *error = connection.error;
  if (communicator->isJoining) {
    *error = inProgress;
    if (connection.shared->joined < connection.ranks || connection.is("join"))
      return success;
    communicator->isJoining = false;
    *error = success;
    // All map the memory, which stays as long as they do.
    shm_unlink(connection.name.c_str());
  } else if (!communicator->launching.empty()) {
    *error = inProgress;
    if (!connection.is("connect"))
      launch(std::exchange(communicator->launching, {}));
  }
  return connection.is("ask") ? systemError : success;
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
  return add(communicator, stream, bytes, count, peer, /*isSent=*/true);
}
EXPORT int ncclRecv(void *data, size_t count, int, int peer, Communicator *communicator,
                    void *stream) {
  return add(communicator, stream, static_cast<char *>(data), count, peer, /*isSent=*/false);
}
