// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How large the attributes, types and locations of a module are when they are written out.
#ifndef MPC_LIB_IMPORT_IR_ATTRIBUTESIZE_H
#define MPC_LIB_IMPORT_IR_ATTRIBUTESIZE_H

#include "mlir/IR/Operation.h"

namespace mpc {

struct AttributeSize {
  uint64_t nodes = 0; ///< each as often as it is printed, at most UINT64_MAX
  uint64_t depth = 0;
};

/// The largest of the operation and of all that are inside of it. Linear in what the context holds:
/// each attribute is looked at once.
AttributeSize findLargestAttribute(mlir::Operation *operation);

} // namespace mpc

#endif // MPC_LIB_IMPORT_IR_ATTRIBUTESIZE_H
