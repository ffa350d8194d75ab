// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of NCCL that is used: stable C functions, found by name in libnccl.so.2. Declared here,
// so that the runtime builds, and is the same, without NCCL.
#ifndef MPC_RUNTIME_COLLECTIVES_NCCL_API_H
#define MPC_RUNTIME_COLLECTIVES_NCCL_API_H

#include "runtime/drivers/cuda/cuda_api.h"

namespace mpc::rt::nccl {

using Result = int; // ncclResult_t; 0 is success
constexpr Result inProgress = 7;
constexpr int bytes = 0; // ncclInt8
using Communicator = struct OpaqueCommunicator *;
struct UniqueId {
  char internal[128];
};
// ncclConfig_t as of 2.14, which later versions take too. Calls of a communicator that does not
// block return at once: what another rank is needed for goes on in a thread of NCCL's.
struct Config {
  size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef, version = 21400;
  int blocking = 0;
};

// FIELD, SYMBOL, parameters.
#define MPC_NCCL_FUNCTIONS(FUNCTION)                                                               \
  FUNCTION(getErrorString, "ncclGetErrorString", const char *, (Result error))                     \
  FUNCTION(getUniqueId, "ncclGetUniqueId", Result, (UniqueId * id))                                \
  FUNCTION(commInitRank, "ncclCommInitRankConfig", Result,                                         \
           (Communicator * communicator, int ranks, UniqueId id, int rank, Config *config))        \
  FUNCTION(commDestroy, "ncclCommDestroy", Result, (Communicator communicator))                    \
  FUNCTION(commAbort, "ncclCommAbort", Result, (Communicator communicator))                        \
  FUNCTION(commGetAsyncError, "ncclCommGetAsyncError", Result,                                     \
           (Communicator communicator, Result * error))                                            \
  FUNCTION(groupStart, "ncclGroupStart", Result, ())                                               \
  FUNCTION(groupEnd, "ncclGroupEnd", Result, ())                                                   \
  FUNCTION(send, "ncclSend", Result,                                                               \
           (const void *data, size_t count, int type, int peer, Communicator communicator,         \
            cuda::Stream stream))                                                                  \
  FUNCTION(receive, "ncclRecv", Result,                                                            \
           (void *data, size_t count, int type, int peer, Communicator communicator,               \
            cuda::Stream stream))

struct Api {
#define MPC_NCCL_FIELD(field, symbol, result, parameters) result(*field) parameters;
  MPC_NCCL_FUNCTIONS(MPC_NCCL_FIELD)
#undef MPC_NCCL_FIELD
};

// Null where there is none; `problem` then says what is missing and what to do. The same answer for
// the whole process.
const Api *api(const char *&problem) noexcept;

} // namespace mpc::rt::nccl

#endif
