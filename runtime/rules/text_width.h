// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How long a text may be, for who compiles models and who reads data for them.
#ifndef MPC_RUNTIME_RULES_TEXT_WIDTH_H
#define MPC_RUNTIME_RULES_TEXT_WIDTH_H

#include <cstdint>

namespace mpc::rules {

/// The most code points that a tensor of texts has for each, so that a file that says more asks for
/// no memory.
constexpr int64_t mostTextWidth = 1 << 16;
/// Unicode has no code points from here on.
constexpr int32_t codePointLimit = 0x110000;

} // namespace mpc::rules

#endif // MPC_RUNTIME_RULES_TEXT_WIDTH_H
