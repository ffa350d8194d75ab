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

  mpc_rt_status_t join() {
    if (auto status = session->makeCurrent())
      return status;
    nccl::UniqueId id = {};
    mpc_rt_status_t own = rank() == 0 ? check(api.getUniqueId(&id), "ncclGetUniqueId") : MPC_RT_OK;
    if (auto status = broadcast(*launcher, &id, sizeof id, /*root=*/0))
      return status;
    if (own != MPC_RT_OK)
      return own;
    return check(api.commInitRank(&communicator, int(size()), id, int(rank())), "ncclCommInitRank");
  }

  mpc_rt_status_t exchange(const Exchange &call) override {
    if (auto status = session->makeCurrent())
      return status;
    const size_t most = std::max(call.sentBytes, call.receivedBytes);
    for (size_t begin = 0; begin < most; begin += gpuPieceBytes) {
      auto piece = [&](size_t bytes) {
        return begin < bytes ? std::min(gpuPieceBytes, bytes - begin) : 0;
      };
      if (auto status = exchangePiece(
              {call.peer, static_cast<const char *>(call.sent) + begin, piece(call.sentBytes),
               static_cast<char *>(call.received) + begin, piece(call.receivedBytes)}))
        return status;
    }
    return MPC_RT_OK;
  }

private:
  mpc_rt_status_t check(nccl::Result result, const char *what) const {
    if (result == 0 || result == nccl::inProgress)
      return MPC_RT_OK;
    return fail(MPC_RT_UNAVAILABLE, "NCCL: %s: %s; rank %u stops", what, api.getErrorString(result),
                rank());
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
    if (piece.receivedBytes)
      if (auto status = session->check(cuda.memcpyToHost(piece.received, received.address(),
                                                         piece.receivedBytes, session->stream),
                                       "what a rank receives"))
        return status;
    return wait(piece.peer);
  }

  // Both ways at once: neither rank waits for the other to have sent.
  mpc_rt_status_t start(const Exchange &piece) {
    if (auto status = check(api.groupStart(), "ncclGroupStart"))
      return status;
    mpc_rt_status_t status = MPC_RT_OK;
    if (piece.sentBytes)
      status = check(api.send(sent.data(), piece.sentBytes, nccl::bytes, int(piece.peer),
                              communicator, session->stream),
                     "ncclSend");
    if (piece.receivedBytes && status == MPC_RT_OK)
      status = check(api.receive(received.data(), piece.receivedBytes, nccl::bytes, int(piece.peer),
                                 communicator, session->stream),
                     "ncclRecv");
    const mpc_rt_status_t ended = check(api.groupEnd(), "ncclGroupEnd"); // in any case
    return status ? status : ended;
  }

  mpc_rt_status_t wait(unsigned peer) {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    for (;;) {
      const cuda::Result result = session->cuda.streamQuery(session->stream);
      nccl::Result error = 0;
      if (auto status = check(api.commGetAsyncError(communicator, &error), "rank is lost")) {
        loseRank();
        return status;
      }
      if (error != 0 && error != nccl::inProgress) {
        loseRank();
        return fail(MPC_RT_UNAVAILABLE, "NCCL: rank %u is lost: %s; rank %u stops", peer,
                    api.getErrorString(error), rank());
      }
      if (result != cuda::notReady)
        return session->check(result, "messages between ranks");
      const double waited = std::chrono::duration<double>(Clock::now() - begin).count();
      if (waited > timeoutSeconds) {
        loseRank();
        return fail(MPC_RT_UNAVAILABLE,
                    "rank %u has not answered for %.0f seconds, says rank %u; it hangs or is much "
                    "slower (MPC_COLLECTIVES_TIMEOUT sets the seconds)",
                    peer, waited, rank());
      }
      sched_yield();
    }
  }

  // Messages under way end with the communicator. Behind them the stream copies to memory that a
  // failed exchange gives back.
  void loseRank() {
    (void)api.commAbort(communicator);
    communicator = nullptr;
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::seconds(2);
    while (session->cuda.streamQuery(session->stream) == cuda::notReady && Clock::now() < end)
      sched_yield();
  }

  const nccl::Api &api;
  const std::unique_ptr<Transport> launcher;
  const std::unique_ptr<cuda::DeviceSession> session;
  cuda::Memory sent, received;
  nccl::Communicator communicator = nullptr; // none after a rank is lost
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
