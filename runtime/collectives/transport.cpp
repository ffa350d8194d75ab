// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pieces one after the other, for transports that have no messages beside each other.
#include "runtime/collectives/transport.h"

#include <algorithm>

namespace mpc::rt {

mpc_rt_status_t Transport::exchangeInPieces(const Exchange &call, size_t pieceBytes,
                                            const TakePiece &take) {
  const size_t most = std::max(call.sentBytes, call.receivedBytes);
  for (size_t begin = 0; begin < most; begin += pieceBytes) {
    auto lengthOf = [&](size_t bytes) {
      return begin < bytes ? std::min(pieceBytes, bytes - begin) : 0;
    };
    const size_t received = lengthOf(call.receivedBytes);
    if (auto status = exchange({call.peer, static_cast<const char *>(call.sent) + begin,
                                lengthOf(call.sentBytes), call.received, received}))
      return status;
    if (received != 0)
      take(begin, call.received, received);
  }
  return MPC_RT_OK;
}

} // namespace mpc::rt
