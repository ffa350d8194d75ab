// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DLPack tensors of others as typed views, and memory of ours as DLPack tensors.
#ifndef MPC_RUNTIME_EXECUTION_DLPACK_VIEW_H
#define MPC_RUNTIME_EXECUTION_DLPACK_VIEW_H

#include "mpc-rt/dlpack_types.h"
#include "mpc-rt/model.h"
#include "runtime/base/memory.h"

namespace mpc::rt {

// The tensor as a view; `where` ("predict: input 'x'") begins every message. Memory of the GPU
// `cudaOrdinal` is accepted too (none when it is negative), and `onDevice` says so.
mpc_rt_status_t viewTensor(const DLManagedTensor *tensor, const char *where, int cudaOrdinal,
                           mpc_rt_buffer_t &view, bool &onDevice);

// A tensor over `view`, which the deleter ends: it gives `memory` back and releases `context` (each
// may be empty). Throws std::bad_alloc.
DLManagedTensor *makeTensor(const mpc_rt_buffer_t &view, Buffer memory, mpc_rt_context_t *context);

} // namespace mpc::rt

#endif
