// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The name of a model, which is a file's stem, a prefix of C symbols and a library's name.
#ifndef MPC_LIB_DRIVER_MODELNAME_H
#define MPC_LIB_DRIVER_MODELNAME_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace mpc {

/// `text` as a C identifier: what is not a letter, digit or underscore becomes one.
std::string toIdentifier(llvm::StringRef text);

/// The name of C's or of the linker's that a model of this name would hide from a program that has
/// the model's folder among its own ones; empty for others.
llvm::StringRef findHidden(llvm::StringRef name);

} // namespace mpc

#endif // MPC_LIB_DRIVER_MODELNAME_H
