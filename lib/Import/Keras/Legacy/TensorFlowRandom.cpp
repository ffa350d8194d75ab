// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TensorFlowBuilder.h"
namespace mpc::keras {
llvm::ArrayRef<TensorFlowFunction> tensorFlowRandom() { return {}; }
} // namespace mpc::keras
