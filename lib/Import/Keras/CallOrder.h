// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The order in which Keras runs the calls of a Functional model. It shows where calls of one layer
// renew its variables one after the other, as those of a shared BatchNormalization do.
#ifndef MPC_LIB_IMPORT_KERAS_CALLORDER_H
#define MPC_LIB_IMPORT_KERAS_CALLORDER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace mpc::keras {

/// A call by its number: whose it is, and the calls that compute its tensors, in their order.
struct OrderedCall {
  const void *layer;
  llvm::SmallVector<unsigned, 2> producers;
};

/// The numbers of the calls that the outputs need, in the order in which Keras runs them
/// (keras/src/ops/function.py, map_graph). `outputs`: the calls that compute the model's.
std::vector<unsigned> orderCalls(llvm::ArrayRef<OrderedCall> calls,
                                 llvm::ArrayRef<unsigned> outputs);

} // namespace mpc::keras

#endif
