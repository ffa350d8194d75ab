// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Capture and replay.
#include "runtime/drivers/cuda/step_graphs.h"

namespace mpc::rt::cuda {

mpc_rt_status_t StepGraphs::begin() {
  return session.check(session.cuda.streamBeginCapture(session.stream, captureModeThreadLocal),
                       "recording a step");
}

mpc_rt_status_t StepGraphs::end(Call &call) {
  Graph graph = nullptr;
  if (auto status =
          session.check(session.cuda.streamEndCapture(session.stream, &graph), "recording a step"))
    return status;
  auto status = session.check(session.cuda.graphInstantiate(&call.executable, graph, 0),
                              "preparing a recorded step");
  session.cuda.graphDestroy(graph);
  return status;
}

mpc_rt_status_t StepGraphs::launch(const Call &call) {
  return session.check(session.cuda.graphLaunch(call.executable, session.stream),
                       "a recorded step");
}

void StepGraphs::forget() noexcept {
  if (calls.empty())
    return;
  session.makeCurrent();
  session.cuda.streamSynchronize(session.stream);
  for (auto &[key, call] : calls)
    if (call.executable)
      session.cuda.graphExecDestroy(call.executable);
  calls.clear();
}

} // namespace mpc::rt::cuda
