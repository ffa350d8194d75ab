// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The reduction of mpc-reduce that knows graphs.
#ifndef MPC_REDUCER_REDUCEGRAPH_H
#define MPC_REDUCER_REDUCEGRAPH_H

namespace mpc {

/// Registers `mpc-reduce-graph=test=SCRIPT`: ops become operands of their type or zeros, many at
/// once first, as long as the script, run on the module, ends with 1.
void registerReduceGraph();

} // namespace mpc

#endif // MPC_REDUCER_REDUCEGRAPH_H
