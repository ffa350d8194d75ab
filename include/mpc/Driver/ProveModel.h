// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Proved ranges of a model file under its policies, for the search for policies.
#ifndef MPC_DRIVER_PROVEMODEL_H
#define MPC_DRIVER_PROVEMODEL_H

#include "mpc/Driver/Compile.h"
#include "mpc/Numerics/Ranges/Ranges.h"

namespace mpc {

/// Proves ranges of the layers' values in predictions under the policies of `options`, for inputs
/// that lie in `inputs` (by name, or x0, x1, … by place) and the file's weights.
ExitCode proveModel(const CompileOptions &options, const InputRanges &inputs,
                    std::vector<LayerProof> &proofs);

} // namespace mpc

#endif // MPC_DRIVER_PROVEMODEL_H
