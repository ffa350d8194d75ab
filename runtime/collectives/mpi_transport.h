// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages by MPI, between the processes that mpirun or srun started.
#ifndef MPC_RUNTIME_COLLECTIVES_MPI_TRANSPORT_H
#define MPC_RUNTIME_COLLECTIVES_MPI_TRANSPORT_H

#include "runtime/collectives/transport.h"

namespace mpc::rt {

// Whether a launcher of MPI jobs started this process.
bool isStartedByMpi() noexcept;

// UNAVAILABLE where there is no MPI, or it may not be called here. Initializes MPI unless the
// program has; then the thread that calls this is the one that uses the transport, unless MPI
// grants more. `timeoutSeconds`: how long a rank waits for another one. `communicator`: the address
// of the MPI_Comm whose ranks these are; null: MPI_COMM_WORLD.
mpc_rt_status_t makeMpiTransport(double timeoutSeconds, const void *communicator,
                                 std::unique_ptr<Transport> &transport);

} // namespace mpc::rt

#endif
