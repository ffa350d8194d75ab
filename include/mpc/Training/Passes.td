// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes that prepare training.

#ifndef MPC_TRAINING_PASSES
#define MPC_TRAINING_PASSES

include "mpc/Analysis/PhasePass.td"

def DecideLossScale : PhasePass<"mpc-decide-loss-scale", "Policy"> {
  let summary = "declare mpc.loss_scale where training needs it";
  let description = [{
    Runs at the end of the phase policy: reads the precision of the layers. `auto` keeps a declaration
    that stands in the module (the file's LossScaleOptimizer); else it declares dynamic scaling
    (2^15, growth after 2000 steps) when a layer with variables computes in float16 and stores
    float32; else none, with a warning for pure float16. `none`, `fixed:N` and
    `dynamic:INITIAL:GROWTH_STEPS[:MIN:MAX]` replace what stands there. A module without
    mpc.optimizer is left alone.

    Remark `loss-scale` (category mpc-policy) on every declaration it makes.
  }];
  let options = [Option<"option", "option", "std::string", /*default=*/"\"auto\"",
                        "auto, none, fixed:N or dynamic:INITIAL:GROWTH_STEPS[:MIN:MAX]">];
  let dependentDialects = ["::mpc::MpcDialect"];
}

#endif // MPC_TRAINING_PASSES
