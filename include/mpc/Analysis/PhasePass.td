// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The base of passes that rewrite IR of one phase.

#ifndef MPC_ANALYSIS_PHASE_PASS
#define MPC_ANALYSIS_PHASE_PASS

include "mlir/Pass/PassBase.td"

/// A pass on IR of `phase` (a name of ::mpc::Phase), which refuses ops of other phases
/// (mpc/Analysis/PhasePass.h).
class PhasePass<string argument, string phase>
    : PassBase<argument, "::mpc::PhasePass<::mpc::Phase::" # phase # ">">;

/// One that works on entries, each for itself.
class EntryPass<string argument, string phase>
    : PassBase<argument, "::mpc::EntryPass<::mpc::Phase::" # phase # ">">;

#endif // MPC_ANALYSIS_PHASE_PASS
