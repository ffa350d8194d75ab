// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The elements of a weight as numbers.
#ifndef MPC_SUPPORT_WEIGHTNUMBERS_H
#define MPC_SUPPORT_WEIGHTNUMBERS_H

#include "mpc/Support/WeightStore.h"

namespace mpc {

/// The elements of a floating weight, each exact; empty for other dtypes.
std::vector<double> numbersOf(const Weight &weight);

} // namespace mpc

#endif // MPC_SUPPORT_WEIGHTNUMBERS_H
