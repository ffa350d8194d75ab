// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Errors of a model file. One failure of a stage is one StringError "FILE[:PLACE]: message"; a
// stage that finds several joins them (llvm::joinErrors), so that a user sees all of them at once.
#ifndef MPC_IMPORT_KERAS_INPUTERROR_H
#define MPC_IMPORT_KERAS_INPUTERROR_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/Error.h"

namespace mpc::keras {

/// "WHERE: MESSAGE". `where` is FILE or FILE:PLACE (layer path, variable path, member); `message`
/// says what is wrong; what was expected; what to do. The tool adds "error: ".
inline llvm::Error inputError(const llvm::Twine &where, const llvm::Twine &message) {
  return llvm::createStringError(llvm::errc::invalid_argument, where + ": " + message);
}

} // namespace mpc::keras

#endif
