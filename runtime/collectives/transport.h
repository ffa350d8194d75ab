// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the ranks of a job reach each other: messages between two of them, nothing more. What sums
// over ranks (all_reduce.h) is written once on top, in one order, whoever carries the messages.
#ifndef MPC_RUNTIME_COLLECTIVES_TRANSPORT_H
#define MPC_RUNTIME_COLLECTIVES_TRANSPORT_H

#include "mpc-rt/status.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace mpc::rt {

// Two messages, one each way, between this rank and a peer; either part may be empty, then the
// other rank's part is.
struct Exchange {
  unsigned peer;
  const void *sent;
  size_t sentBytes;
  void *received;
  size_t receivedBytes;
};

class Transport {
public:
  virtual ~Transport() = default;

  virtual unsigned rank() const = 0;
  virtual unsigned size() const = 0;
  // "mpi (Open MPI)", "self", …: for messages.
  virtual const char *name() const = 0;

  // Ends when both parts are over. UNAVAILABLE: the peer is gone, or gave no answer in time; the
  // message names it. Called by one thread at a time, by the same one if mustStayOnOneThread().
  virtual mpc_rt_status_t exchange(const Exchange &call) = 0;
  virtual bool mustStayOnOneThread() const { return false; }

  // Exchanges many bytes: each piece is taken when it has come, in order, while the next ones are
  // under way. The transport chooses where in the room of `received` a piece is then. Both ranks
  // call with pieces of the same size.
  using TakePiece = std::function<void(size_t begin, const void *piece, size_t bytes)>;
  virtual mpc_rt_status_t exchangeInPieces(const Exchange &call, size_t pieceBytes,
                                           const TakePiece &take);

  // The machine of a rank, for messages.
  virtual const char *hostOf(unsigned) const { return "an unknown host"; }
  // Which rank holds up `peer`, for which this one has waited too long: in the end it may be
  // another one. Called as exchange() is.
  virtual unsigned findSilent(unsigned peer) { return peer; }
  // From now on the end of this process waits for no other rank.
  virtual void giveUp() {}

  // Ends the whole job: the launcher kills every rank. Does not return where there are others.
  virtual void endJob(int code) = 0;
};

// A job of one rank.
class SelfTransport : public Transport {
public:
  unsigned rank() const override { return 0; }
  unsigned size() const override { return 1; }
  const char *name() const override { return "self"; }
  mpc_rt_status_t exchange(const Exchange &) override { return MPC_RT_OK; }
  void endJob(int) override {}
};

} // namespace mpc::rt

#endif
