// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/collectives/mpi_transport.h"

#include "runtime/base/status.h"
#include "runtime/collectives/mpi_calls.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <sched.h>
#include <unistd.h>
#include <vector>

namespace mpc::rt {
namespace {

// A message is cut into pieces whose length is an int.
constexpr size_t mostBytes = size_t(1) << 30;
constexpr size_t piecesAhead = 4;
constexpr size_t hostBytes = 64;
constexpr int dataTag = 1, waitingTag = 2;
// Ranks that wait for each other notice it within so many seconds of each other.
constexpr double waitingSeconds = 2;
// A message of which a part has come already is not cancelled until the rest is there.
constexpr double cancellingSeconds = 2;

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The MPI of the process, once it is open.
std::unique_ptr<MpiCalls> &openedMpi() {
  static std::unique_ptr<MpiCalls> calls;
  return calls;
}

// Whether a rank was lost: MPI's own end would wait for it.
std::atomic<bool> isJobBroken{false};
// Whether the job is being ended: an MPI may end the process by exit().
std::atomic<bool> isJobEnding{false};

void endWholeJob(int code) {
  isJobEnding = true;
  openedMpi()->endJob(code);
}

// Ends the MPI that the runtime began when the process ends by itself. MPICH's launcher would wait
// for a rank that hangs on another host than those that have ended.
void endMpiAtExit() {
  if (isJobEnding || !openedMpi() || openedMpi()->isFinalized())
    return;
  if (isJobBroken) {
    std::fflush(nullptr);
    endWholeJob(1);
  } else {
    openedMpi()->finalize();
  }
}

// A failed exchange gives memory back, into which nothing may be written then.
void stopReceiving(MpiCalls &calls, std::vector<MpiRequest> &underWay) {
  const auto begin = Clock::now();
  for (MpiRequest &request : underWay)
    calls.cancel(request);
  for (MpiRequest &request : underWay)
    while (calls.isUnderWay(request) && secondsSince(begin) < cancellingSeconds) {
      bool done = false;
      if (!calls.test(request, done))
        break;
    }
}

// Messages that come in this order, as long as somebody waits for them.
class Received {
public:
  explicit Received(MpiCalls &calls) : calls(calls) {}
  Received(const Received &) = delete;
  Received &operator=(const Received &) = delete;
  ~Received() {
    if (taken != messages.size())
      stopReceiving(calls, messages);
  }

  MpiRequest &add() { return messages.emplace_back(); }
  MpiRequest &next() { return messages[taken]; }
  void take() { ++taken; }

private:
  MpiCalls &calls;
  std::vector<MpiRequest> messages;
  size_t taken = 0;
};

class MpiTransport : public Transport {
public:
  MpiTransport(MpiCalls &calls, MpiCommunicator communicator, bool staysOnOneThread,
               double timeoutSeconds)
      : calls(calls), communicator(communicator), ownRank(calls.rank(communicator)),
        ranks(calls.size(communicator)), staysOnOneThread(staysOnOneThread),
        timeoutSeconds(timeoutSeconds), waiting(ranks) {}

  unsigned rank() const override { return ownRank; }
  unsigned size() const override { return ranks; }
  const char *name() const override { return calls.name(); }
  bool mustStayOnOneThread() const override { return staysOnOneThread; }
  void endJob(int code) override { endWholeJob(code); }
  void giveUp() override { isJobBroken = true; }
  const char *hostOf(unsigned peer) const override {
    return hosts.empty() ? "an unknown host" : &hosts[peer * hostBytes];
  }

  mpc_rt_status_t exchange(const Exchange &call) override {
    const size_t pieceBytes = isNear(call.peer) ? mostBytes : calls.eagerBytes();
    if (std::max(call.sentBytes, call.receivedBytes) <= pieceBytes)
      return exchangeWith(call.peer, call.sent, call.sentBytes, call.peer, call.received,
                          call.receivedBytes);
    return exchangeCut(call, pieceBytes, /*room=*/call.receivedBytes,
                       [](size_t, const void *, size_t) {});
  }

  // On one machine a few pieces are received ahead, which stay in a cache. Over a network pieces
  // are so short that the MPI sends them at once. What is longer waits until the other rank answers
  // that there is room, and on a TCP connection that answer stands behind all that goes there:
  // messages both ways then go one after the other.
  mpc_rt_status_t exchangeInPieces(const Exchange &call, size_t pieceBytes,
                                   const TakePiece &take) override {
    return isNear(call.peer)
               ? exchangeCut(call, pieceBytes, piecesAhead * pieceBytes, take)
               : exchangeCut(call, calls.eagerBytes(), /*room=*/call.receivedBytes, take);
  }

  // The name of each rank's machine, for messages.
  mpc_rt_status_t learnHosts() {
    hosts.assign(ranks * hostBytes, '\0');
    char *own = &hosts[ownRank * hostBytes];
    if (gethostname(own, hostBytes - 1) != 0)
      own[0] = '?';
    for (unsigned distance = 1; distance != ranks; ++distance) {
      const unsigned to = (ownRank + distance) % ranks, from = (ownRank + ranks - distance) % ranks;
      if (auto status = exchangeWith(to, own, hostBytes, from, &hosts[from * hostBytes], hostBytes))
        return status;
    }
    return MPC_RT_OK;
  }

  // Every rank that waits too long tells all others for whom; who says nothing is the one.
  unsigned findSilent(unsigned peer) override {
    std::vector<uint32_t> awaited(ranks, UINT32_MAX);
    std::vector<MpiRequest> sent(ranks), received(ranks);
    uint32_t &own = waiting[ownRank] = peer; // outlives this call, as what is under way may
    for (unsigned other = 0; other != ranks; ++other) {
      if (other == ownRank)
        continue;
      (void)calls.receive(communicator, &waiting[other], sizeof own, other, waitingTag,
                          received[other]);
      (void)calls.send(communicator, &own, sizeof own, other, waitingTag, sent[other]);
    }
    const auto begin = Clock::now();
    while (secondsSince(begin) < waitingSeconds) {
      for (unsigned other = 0; other != ranks; ++other) {
        bool done = false;
        if (calls.isUnderWay(received[other]) && calls.test(received[other], done) && done)
          awaited[other] = waiting[other];
      }
      timespec pause = {0, 1000000};
      nanosleep(&pause, nullptr);
    }
    stopReceiving(calls, received);
    for (unsigned steps = 0; steps != ranks && awaited[peer] < ranks; ++steps)
      peer = awaited[peer];
    return peer;
  }

private:
  bool isNear(unsigned peer) const { return std::strcmp(hostOf(peer), hostOf(ownRank)) == 0; }

  // All pieces are sent at once. So many bytes are received ahead as there is room for.
  mpc_rt_status_t exchangeCut(const Exchange &call, size_t pieceBytes, size_t room,
                              const TakePiece &take) {
    auto lengthAt = [&](size_t begin, size_t bytes) { return std::min(pieceBytes, bytes - begin); };
    auto placeOf = [&](size_t begin) { return static_cast<char *>(call.received) + begin % room; };
    std::deque<MpiRequest> sent;
    Received received(calls);
    auto receive = [&](size_t begin) {
      return begin >= call.receivedBytes ||
             calls.receive(communicator, placeOf(begin), lengthAt(begin, call.receivedBytes),
                           call.peer, dataTag, received.add());
    };
    for (size_t begin = 0; begin < room; begin += pieceBytes)
      if (!receive(begin))
        return failWith(call.peer, "cannot be received from");
    for (size_t begin = 0; begin < call.sentBytes; begin += pieceBytes)
      if (!calls.send(communicator, static_cast<const char *>(call.sent) + begin,
                      lengthAt(begin, call.sentBytes), call.peer, dataTag, sent.emplace_back()))
        return failWith(call.peer, "cannot be sent to");
    for (size_t begin = 0; begin < call.receivedBytes; begin += pieceBytes) {
      if (auto status = wait(received.next(), call.peer))
        return status;
      received.take();
      take(begin, placeOf(begin), lengthAt(begin, call.receivedBytes));
      if (!receive(begin + room))
        return failWith(call.peer, "cannot be received from");
    }
    for (MpiRequest &request : sent)
      if (auto status = wait(request, call.peer))
        return status;
    return MPC_RT_OK;
  }

  mpc_rt_status_t exchangeWith(unsigned to, const void *sent, size_t sentBytes, unsigned from,
                               void *received, size_t receivedBytes) {
    MpiRequest send;
    Received coming(calls);
    const bool sends = sentBytes != 0, receives = receivedBytes != 0;
    if (receives &&
        !calls.receive(communicator, received, receivedBytes, from, dataTag, coming.add()))
      return failWith(from, "cannot be received from");
    if (sends && !calls.send(communicator, sent, sentBytes, to, dataTag, send))
      return failWith(to, "cannot be sent to");
    if (receives)
      if (auto status = wait(coming.next(), from))
        return status;
    if (receives)
      coming.take();
    return sends ? wait(send, to) : MPC_RT_OK;
  }

  mpc_rt_status_t wait(MpiRequest &request, unsigned peer) {
    const auto begin = Clock::now();
    for (unsigned tries = 0;; ++tries) {
      bool done = false;
      if (!calls.test(request, done))
        return failWith(peer, "has ended, or the connection to it is lost:");
      if (done)
        return MPC_RT_OK;
      if (tries % 64 != 63)
        continue;
      // Ranks may share CPUs: who waits lets others run.
      sched_yield();
      const double waited = secondsSince(begin);
      if (waited > timeoutSeconds) {
        giveUp();
        const unsigned silent = findSilent(peer);
        return fail(MPC_RT_UNAVAILABLE,
                    "rank %u on %s has not answered for %.0f seconds, says rank %u; it hangs or is "
                    "much slower (MPC_COLLECTIVES_TIMEOUT sets the seconds)",
                    silent, hostOf(silent), waited, ownRank);
      }
      if (waited > 0.01) {
        timespec pause = {0, 50000};
        nanosleep(&pause, nullptr);
      }
    }
  }

  mpc_rt_status_t failWith(unsigned peer, const char *what) {
    giveUp();
    return fail(MPC_RT_UNAVAILABLE, "%s: %s rank %u on %s; rank %u stops", calls.name(), what, peer,
                hostOf(peer), ownRank);
  }

  MpiCalls &calls;
  const MpiCommunicator communicator;
  const unsigned ownRank, ranks;
  const bool staysOnOneThread;
  const double timeoutSeconds;
  std::vector<char> hosts;       // of each rank, hostBytes each
  std::vector<uint32_t> waiting; // for whom each rank waits, of those that said it
};

// Finds the library and initializes it, unless the program has.
mpc_rt_status_t openMpi() {
  std::string problem;
  std::unique_ptr<MpiCalls> opened = MpiCalls::open(problem);
  if (!opened)
    return fail(MPC_RT_UNAVAILABLE, "%s", problem.c_str());
  if (opened->isFinalized())
    return fail(MPC_RT_FAILED_PRECONDITION,
                "the program has ended MPI; open collectives before MPI_Finalize");
  const bool isOurs = !opened->isInitialized();
  if (isOurs) {
    MpiCalls::Threads provided;
    if (!opened->initialize(MpiCalls::Threads::Serialized, provided))
      return fail(MPC_RT_UNAVAILABLE, "%s does not start; run the program with its own mpirun",
                  opened->name());
    if (provided < MpiCalls::Threads::Funneled)
      return fail(
          MPC_RT_UNAVAILABLE,
          "%s was built without support for threads (MPI_THREAD_FUNNELED); install one that "
          "has it",
          opened->name());
  }
  openedMpi() = std::move(opened);
  // Registered after what MPI registered for the end of the process: it runs before that.
  if (isOurs)
    std::atexit(endMpiAtExit);
  return MPC_RT_OK;
}

} // namespace

bool isStartedByMpi() noexcept {
  // Open MPI, hydra (MPICH, Intel) and PMI 2, and whatever has PMIx (srun, prterun).
  for (const char *name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK"})
    if (std::getenv(name))
      return true;
  return false;
}

mpc_rt_status_t makeMpiTransport(double timeoutSeconds, const void *communicator,
                                 std::unique_ptr<Transport> &transport) {
  if (!openedMpi())
    if (auto status = openMpi())
      return status;
  MpiCalls &calls = *openedMpi();
  const MpiCalls::Threads level = calls.threads();
  if (level < MpiCalls::Threads::Serialized && !calls.isMainThread())
    return fail(MPC_RT_FAILED_PRECONDITION,
                "%s was initialized for calls of one thread, and this is another one; call from "
                "that thread, or initialize MPI with MPI_THREAD_SERIALIZED",
                calls.name());
  MpiCommunicator own;
  if (!calls.duplicate(communicator, own))
    return fail(MPC_RT_UNAVAILABLE, "%s gives no communicator", calls.name());
  auto made = std::make_unique<MpiTransport>(calls, own, level < MpiCalls::Threads::Serialized,
                                             timeoutSeconds);
  if (auto status = made->learnHosts())
    return status;
  transport = std::move(made);
  return MPC_RT_OK;
}

} // namespace mpc::rt
