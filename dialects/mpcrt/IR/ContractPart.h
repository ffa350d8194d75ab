// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parts of a contraction besides the product.
#ifndef MPC_DIALECTS_MPCRT_IR_CONTRACTPART_H
#define MPC_DIALECTS_MPCRT_IR_CONTRACTPART_H

#include "llvm/ADT/StringRef.h"

namespace mpc::mpcrt {

enum class ContractPart {
  Blocks,
  Accumulate,
  Bias,
  Activation,
  Largest,
  Mask,
  Where,
  Sums,
  Gelu,
  GeluGradient,
};

/// The verb and what it is done to: "sums columns".
llvm::StringRef describe(ContractPart part);

} // namespace mpc::mpcrt

#endif // MPC_DIALECTS_MPCRT_IR_CONTRACTPART_H
