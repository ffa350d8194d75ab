// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arguments of layers that Keras 2 has and Keras 3 does not.
#ifndef MPC_LIB_IMPORT_KERAS_LEGACY_ARGUMENTS_H
#define MPC_LIB_IMPORT_KERAS_LEGACY_ARGUMENTS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

namespace mpc::keras {

/// Whether the entry of a layer's config is an argument of Keras 2 alone that changes nothing at
/// this value.
bool isIdleArgument(llvm::StringRef className, llvm::StringRef argument,
                    const llvm::json::Value &value);

/// Whether the class has the argument in a version of Keras 2, and in none of Keras 3.
bool isOfKeras2Alone(llvm::StringRef className, llvm::StringRef argument);

} // namespace mpc::keras

#endif
