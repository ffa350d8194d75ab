// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The attribute `mpcrt.requantization` of mpcrt.interleave: its kernel makes numbers of 8 bits of
// int32 sums, which the product may do by itself. It has six numbers. They are the
// launch's arguments that are the bias (-1: none), the scales and the result, the least and the
// largest number, and what is added to it. The op's verifier checks them.
#ifndef MPC_DIALECTS_MPCRT_IR_REQUANTIZATION_H
#define MPC_DIALECTS_MPCRT_IR_REQUANTIZATION_H

#include "dialects/mpcrt/IR/Mpcrt.h"
#include "runtime/rules/requantization.h"

namespace mpc::mpcrt {

inline constexpr llvm::StringLiteral kRequantizationAttr = "mpcrt.requantization";

/// Whether the product takes a kernel with that attribute, which consumes its sums: it needs no
/// blocks of them, however many the weights are.
bool takesRequantization(LibraryCallOpInterface product);
void setRequantization(InterleaveOp op, const rules::Requantization &rule);
/// That of a call; 0 without one.
uint64_t getRequantizationWord(InterleaveOp op);

} // namespace mpc::mpcrt

#endif
