// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ranges that the arrays of a file lie in.
#ifndef MPC_TOOLS_DATARANGES_H
#define MPC_TOOLS_DATARANGES_H

#include "mpc/Numerics/Ranges/Ranges.h"

namespace mpc {

/// Least and largest element of each array, by its name. Arrays that hold what is not finite are
/// left out; images of an IDX folder are x0 in [0, 1], as mpc-run reads them.
llvm::Expected<InputRanges> rangesOfData(const std::string &path);

} // namespace mpc

#endif // MPC_TOOLS_DATARANGES_H
