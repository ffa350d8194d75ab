// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass that looks for hazards of precision.

#ifndef MPC_NUMERICS_LINT_PASSES
#define MPC_NUMERICS_LINT_PASSES

include "mpc/Analysis/PhasePass.td"

def Lint : PhasePass<"mpc-lint", "Casts"> {
  let summary = "warn of hazards of precision (docs/lint.md)";
  let description = [{
    On IR of the phases `policy` and `casts`: rules on layers look at the former, rules on types at the
    latter. The IR stays as it is. Rules that need the values of weights find nothing here; mpcc, which
    has them, runs the same rules.

    Before: `%p = mpc.softmax %z {axis = 1 : i64} : tensor<?x10xf16>` `return %p`, which is the output
    "out0"; after: the same, and the warning `the output "out0" is a softmax in f16 ...`.
  }];
  let options = [
    Option<"device", "target", "::mpc::Device", "::mpc::Device::cpu", "cpu, cuda or cuda:sm_N,…">,
  ];
}

#endif // MPC_NUMERICS_LINT_PASSES
