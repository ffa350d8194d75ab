// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shapes in messages.
#ifndef MPC_LIB_IMPORT_COMMON_SHAPE_H
#define MPC_LIB_IMPORT_COMMON_SHAPE_H

#include "llvm/ADT/ArrayRef.h"

#include <string>

namespace mpc {

/// "(None, 3)", as Keras writes shapes.
std::string printShape(llvm::ArrayRef<int64_t> shape);

} // namespace mpc

#endif
