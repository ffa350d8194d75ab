// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whole calls of entries as CUDA graphs.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_STEP_GRAPHS_H
#define MPC_RUNTIME_DRIVERS_CUDA_STEP_GRAPHS_H

#include "runtime/drivers/cuda/device_session.h"

#include <map>
#include <utility>

namespace mpc::rt::cuda {

// The first call of an entry with a batch runs plainly, and makes what it needs; the second is
// recorded; from then on one launch does it. A graph holds addresses: forget() all of them when
// memory moves.
class StepGraphs {
public:
  explicit StepGraphs(DeviceSession &session) : session(session) {}
  ~StepGraphs() { forget(); }
  StepGraphs(const StepGraphs &) = delete;
  StepGraphs &operator=(const StepGraphs &) = delete;

  // `issue` puts the work of the call on the stream.
  template <typename Issue> mpc_rt_status_t run(const void *entry, int64_t batch, Issue issue) {
    if (calls.size() >= most)
      forget();
    Call &call = calls[{entry, batch}];
    if (call.executable)
      return launch(call);
    if (!call.wasRun) {
      isPlain = false;
      auto status = issue();
      call.wasRun = status == MPC_RT_OK && !isPlain;
      return status;
    }
    if (auto status = begin())
      return status;
    auto status = issue();
    // The capture ends in any case.
    auto ended = end(call);
    return status ? status : ended ? ended : launch(call);
  }
  void forget() noexcept;
  // The call that is issued waits for what the host does in the middle: it is never recorded.
  void waitsForHost() noexcept { isPlain = true; }

private:
  static constexpr size_t most = 64;
  struct Call {
    bool wasRun = false;
    GraphExec executable = nullptr;
  };
  mpc_rt_status_t begin();
  mpc_rt_status_t end(Call &call);
  mpc_rt_status_t launch(const Call &call);

  DeviceSession &session;
  bool isPlain = false;
  std::map<std::pair<const void *, int64_t>, Call> calls;
};

} // namespace mpc::rt::cuda

#endif
