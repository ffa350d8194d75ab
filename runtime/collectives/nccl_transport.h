// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages between GPUs by NCCL. MPI starts the ranks and tells them of each other.
#ifndef MPC_RUNTIME_COLLECTIVES_NCCL_TRANSPORT_H
#define MPC_RUNTIME_COLLECTIVES_NCCL_TRANSPORT_H

#include "runtime/collectives/transport.h"

namespace mpc::rt {

// `launcher`: the ranks of the job, as their MPI has them. Each rank uses the GPU that its number
// on its machine says. UNAVAILABLE without a GPU, CUDA's driver or NCCL.
mpc_rt_status_t makeNcclTransport(double timeoutSeconds, std::unique_ptr<Transport> launcher,
                                  std::unique_ptr<Transport> &transport);

} // namespace mpc::rt

#endif
