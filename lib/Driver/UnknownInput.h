// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Messages about a file that is neither a Keras model nor IR.
#ifndef MPC_LIB_DRIVER_UNKNOWN_INPUT_H
#define MPC_LIB_DRIVER_UNKNOWN_INPUT_H

#include "llvm/ADT/StringRef.h"
#include <string>
#include <system_error>

namespace mpc {

/// A model that nothing here reads, by its suffix or by its content.
bool isOnnxModel(llvm::StringRef path, llvm::StringRef bytes);

/// Why `bytes`, of no kind that has a signature, are no model either; empty where they may be IR.
/// The path helps only to tell a damaged archive from a text.
std::string describeUnknownInput(llvm::StringRef path, llvm::StringRef bytes);

/// Says why a path cannot be read as a file.
std::string describeUnreadable(llvm::StringRef path, std::error_code error);

} // namespace mpc

#endif // MPC_LIB_DRIVER_UNKNOWN_INPUT_H
