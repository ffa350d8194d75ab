// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The two classes that Keras's fixtures of dtype policies define for themselves.
#ifndef MPC_TEST_TOOLS_PROBELAYERS_H
#define MPC_TEST_TOOLS_PROBELAYERS_H

namespace mpc::test {

/// Probe multiplies its input by a weight of ones; Parent calls its child and multiplies by a
/// scalar.
void registerProbeLayers();

} // namespace mpc::test

#endif // MPC_TEST_TOOLS_PROBELAYERS_H
