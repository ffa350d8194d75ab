// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums stay on the host, in the one order that all transports have; NCCL carries what two ranks
// give each other, by way of memory of their GPUs.
#include "runtime/collectives/nccl_transport.h"

#include "runtime/base/status.h"
#include "runtime/collectives/all_reduce.h"
#include "runtime/collectives/nccl_api.h"
#include "runtime/drivers/cuda/device_session.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sched.h>

namespace mpc::rt {
namespace {

// Memory on the GPU is as large as one piece of a message, each way.
constexpr size_t gpuPieceBytes = size_t(16) << 20;

// Which of the ranks of its machine the process is; 0 where no launcher says it by a number.
int localRank() {
  for (const char *name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"})
    if (const char *text = std::getenv(name)) {
      int rank = 0;
      const char *end = text + std::strlen(text);
      if (auto [rest, error] = std::from_chars(text, end, rank);
          error == std::errc() && rest == end && rank >= 0)
        return rank;
    }
  return 0;
}

class NcclTransport : public Transport {
public:
  NcclTransport(const nccl::Api &api, std::unique_ptr<Transport> launcher,
                std::unique_ptr<cuda::DeviceSession> opened, double timeoutSeconds)
      : api(api), launcher(std::move(launcher)), session(std::move(opened)),
        sent(*session, cuda::Memory::Kind::device), received(*session, cuda::Memory::Kind::device),
        timeoutSeconds(timeoutSeconds) {}
  ~NcclTransport() override {
    if (communicator && session->makeCurrent() == MPC_RT_OK)
      (void)api.commDestroy(communicator);
  }

  unsigned rank() const override { return launcher->rank(); }
  unsigned size() const override { return launcher->size(); }
  const char *name() const override { return "NCCL"; }
  void endJob(int code) override { launcher->endJob(code); }

  const char *hostOf(unsigned peer) const override { return launcher->hostOf(peer); }
  unsigned findSilent(unsigned peer) override {
    return launcher->mustStayOnOneThread() ? peer : launcher->findSilent(peer);
  }
  void giveUp() override { launcher->giveUp(); }

  mpc_rt_status_t join() {
    if (auto status = session->makeCurrent())
      return status;
    nccl::UniqueId id = {};
    const nccl::Result made = rank() == 0 ? api.getUniqueId(&id) : 0;
    if (auto status = broadcast(*launcher, &id, sizeof id, /*root=*/0))
      return status;
    if (made != 0)
      return fail(MPC_RT_UNAVAILABLE, "NCCL: ncclGetUniqueId: %s; rank 0 on %s stops",
                  api.getErrorString(made), hostOf(0));
    nccl::Config config;
    const unsigned next = (rank() + 1) % size();
    auto status = check(api.commInitRank(&communicator, int(size()), id, int(rank()), &config),
                        next, "ncclCommInitRankConfig with");
    if (status == MPC_RT_OK)
      status = waitUntil(next, [] { return true; });
    return status == MPC_RT_OK ? status : abandon(status);
  }

  mpc_rt_status_t exchange(const Exchange &call) override {
    if (!communicator)
      return fail(MPC_RT_UNAVAILABLE, "NCCL: a message of rank %u on %s failed before", rank(),
                  hostOf(rank()));
    auto status = session->makeCurrent();
    const size_t most = std::max(call.sentBytes, call.receivedBytes);
    for (size_t begin = 0; begin < most && status == MPC_RT_OK; begin += gpuPieceBytes) {
      auto piece = [&](size_t bytes) {
        return begin < bytes ? std::min(gpuPieceBytes, bytes - begin) : 0;
      };
      status = exchangePiece({call.peer, static_cast<const char *>(call.sent) + begin,
                              piece(call.sentBytes), static_cast<char *>(call.received) + begin,
                              piece(call.receivedBytes)});
    }
    return status == MPC_RT_OK ? status : abandon(status);
  }

private:
  // `what` goes before the name of the peer.
  mpc_rt_status_t check(nccl::Result result, unsigned peer, const char *what) const {
    if (result == 0 || result == nccl::inProgress)
      return MPC_RT_OK;
    return fail(MPC_RT_UNAVAILABLE, "NCCL: %s rank %u on %s: %s; rank %u stops", what, peer,
                hostOf(peer), api.getErrorString(result), rank());
  }

  mpc_rt_status_t exchangePiece(const Exchange &piece) {
    bool grew = false;
    if (auto status = sent.reserve(piece.sentBytes, "messages between ranks", grew))
      return status;
    if (auto status = received.reserve(piece.receivedBytes, "messages between ranks", grew))
      return status;
    const cuda::Api &cuda = session->cuda;
    if (piece.sentBytes)
      if (auto status = session->check(
              cuda.memcpyToDevice(sent.address(), piece.sent, piece.sentBytes, session->stream),
              "what a rank sends"))
        return status;
    if (auto status = start(piece))
      return status;
    // NCCL puts the messages into the stream when it has connected the ranks. A copy to the host
    // may block until they are over, and then for longer than the peer has time.
    if (auto status = waitUntil(piece.peer, [] { return true; }))
      return status;
    cuda::Result result = cuda::notReady;
    if (auto status = waitUntil(piece.peer, [&] {
          result = cuda.streamQuery(session->stream);
          return result != cuda::notReady;
        }))
      return status;
    if (auto status = session->check(result, "messages between ranks"))
      return status;
    if (piece.receivedBytes == 0)
      return MPC_RT_OK;
    if (auto status = session->check(cuda.memcpyToHost(piece.received, received.address(),
                                                       piece.receivedBytes, session->stream),
                                     "what a rank receives"))
      return status;
    return session->synchronize();
  }

  // Both ways at once: neither rank waits for the other to have sent.
  mpc_rt_status_t start(const Exchange &piece) {
    if (auto status = check(api.groupStart(), piece.peer, "ncclGroupStart with"))
      return status;
    mpc_rt_status_t status = MPC_RT_OK;
    if (piece.sentBytes)
      status = check(api.send(sent.data(), piece.sentBytes, nccl::bytes, int(piece.peer),
                              communicator, session->stream),
                     piece.peer, "ncclSend to");
    if (piece.receivedBytes && status == MPC_RT_OK)
      status = check(api.receive(received.data(), piece.receivedBytes, nccl::bytes, int(piece.peer),
                                 communicator, session->stream),
                     piece.peer, "ncclRecv from");
    const nccl::Result ended = api.groupEnd(); // in any case
    return status ? status : check(ended, piece.peer, "ncclGroupEnd with");
  }

  // Until `isOver`, and nothing that was asked of NCCL is under way; for the time that `peer` has.
  template <typename Over> mpc_rt_status_t waitUntil(unsigned peer, const Over &isOver) {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    for (;;) {
      // Before the question for an error: what an error has ended is over, too.
      const bool over = isOver();
      nccl::Result error = 0;
      if (auto status = check(api.commGetAsyncError(communicator, &error), peer,
                              "ncclCommGetAsyncError with"))
        return status;
      if (auto status = check(error, peer, "the connection is lost to"))
        return status;
      if (over && error == 0)
        return MPC_RT_OK;
      const double waited = std::chrono::duration<double>(Clock::now() - begin).count();
      if (waited > timeoutSeconds)
        return failByTime(peer, waited);
      // Ranks may share CPUs: who waits lets others run.
      sched_yield();
      if (waited > 0.01) {
        timespec pause = {0, 50000};
        nanosleep(&pause, nullptr);
      }
    }
  }

  mpc_rt_status_t failByTime(unsigned peer, double waited) {
    const unsigned silent = findSilent(peer);
    return fail(
        MPC_RT_UNAVAILABLE,
        "rank %u on %s has not answered for %.0f seconds, says rank %u; it hangs or is much "
        "slower (MPC_COLLECTIVES_TIMEOUT sets the seconds)",
        silent, hostOf(silent), waited, rank());
  }

  // Messages under way, which use memory of the GPU, end with the communicator.
  mpc_rt_status_t abandon(mpc_rt_status_t failure) {
    giveUp();
    if (communicator)
      (void)api.commAbort(communicator);
    communicator = nullptr;
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::seconds(2);
    while (session->cuda.streamQuery(session->stream) == cuda::notReady && Clock::now() < end)
      sched_yield();
    return failure;
  }

  const nccl::Api &api;
  const std::unique_ptr<Transport> launcher;
  const std::unique_ptr<cuda::DeviceSession> session;
  cuda::Memory sent, received;
  nccl::Communicator communicator = nullptr; // none after a failure
  const double timeoutSeconds;
};

} // namespace

mpc_rt_status_t makeNcclTransport(double timeoutSeconds, std::unique_ptr<Transport> launcher,
                                  std::unique_ptr<Transport> &transport) {
  const char *problem = nullptr;
  const nccl::Api *api = nccl::api(problem);
  if (!api)
    return fail(MPC_RT_UNAVAILABLE, "%s", problem);
  const cuda::Api *cuda = cuda::api(problem);
  if (!cuda)
    return fail(MPC_RT_UNAVAILABLE, "%s", problem);
  int devices = 0;
  if (auto status = cuda::check(*cuda, cuda->deviceGetCount(&devices), "GPU"))
    return status;
  std::unique_ptr<cuda::DeviceSession> session;
  if (auto status = cuda::DeviceSession::open(devices ? localRank() % devices : 0, session))
    return status;
  auto made = std::make_unique<NcclTransport>(*api, std::move(launcher), std::move(session),
                                              timeoutSeconds);
  if (auto status = made->join())
    return status;
  transport = std::move(made);
  return MPC_RT_OK;
}

} // namespace mpc::rt
