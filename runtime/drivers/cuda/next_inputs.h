// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The inputs of a later call, which go to the GPU while a call computes: on a stream of their own,
// from pinned memory that the caller fills. Two buffers on the GPU take turns: while one call's
// inputs are still read from one of them, the next call's arrive in the other.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_NEXT_INPUTS_H
#define MPC_RUNTIME_DRIVERS_CUDA_NEXT_INPUTS_H

#include "mpc-rt/model.h"
#include "runtime/drivers/cuda/device_session.h"

#include <vector>

namespace mpc::rt::cuda {

// The inputs to be fetched, as mpc_rt_context_prefetch describes them.
struct InputRequest {
  const mpc_rt_entry_info_t *entry;
  int64_t batch;
  std::vector<uint64_t> offsets; // of each input
  uint64_t bytes;
  mpc_rt_fill_inputs_fn fill;
  void *user;
};

class NextInputs {
public:
  explicit NextInputs(DeviceSession &session)
      : session(session), staging(session, Memory::Kind::pinned),
        buffers{{session, Memory::Kind::device}, {session, Memory::Kind::device}} {}
  ~NextInputs();
  NextInputs(const NextInputs &) = delete;
  NextInputs &operator=(const NextInputs &) = delete;

  void request(InputRequest request);
  bool isRequested() const { return requested; }
  // Asks for the inputs and starts their copy; after the launches of a call.
  mpc_rt_status_t fetch();
  // Whether they were fetched, for this call, and not taken.
  bool has(const mpc_rt_entry_info_t &entry, int64_t batch) const;
  // Copies them on the GPU to where the call reads them; before its launches.
  mpc_rt_status_t take(DevicePointer to);

private:
  DeviceSession &session;
  // The inputs that the next call fetches, and those that the one before it did.
  InputRequest wanted{}, held{};
  bool requested = false, fetched = false;
  Stream stream = nullptr; // of the copies
  Memory staging, buffers[2];
  int turn = 0;
};

} // namespace mpc::rt::cuda

#endif
