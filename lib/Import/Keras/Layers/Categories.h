// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layers that make categories of numbers.
#ifndef MPC_LIB_IMPORT_KERAS_LAYERS_CATEGORIES_H
#define MPC_LIB_IMPORT_KERAS_LAYERS_CATEGORIES_H

#include "lib/Import/Keras/LayerRegistry.h"

namespace mpc::keras {

constexpr int64_t kMostCategories = int64_t(1) << 24;

/// Whether category c occurs along the last axis, or how often; for "one_hot" a vector per element,
/// without a last axis of extent 1 (keras/src/utils/numerical_utils.py). Null after an error.
mlir::Value encodeCategories(LayerBuilder &b, mlir::Value indices, llvm::StringRef mode,
                             int64_t categories);

/// keras/src/layers/preprocessing/integer_lookup.py
mlir::Value importIntegerLookup(LayerBuilder &b);

} // namespace mpc::keras

#endif
