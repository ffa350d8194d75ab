// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Failures of the runtime's data library as LLVM's errors.
#ifndef MPC_TOOLS_DATA_ERRORS_H
#define MPC_TOOLS_DATA_ERRORS_H

#include "runtime/data/result.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/Error.h"

namespace mpc {

inline llvm::Error toError(const data::Failure &failure) {
  llvm::Error errors = llvm::Error::success();
  for (const std::string &message : failure.messages)
    errors = llvm::joinErrors(std::move(errors),
                              llvm::createStringError(llvm::errc::invalid_argument, message));
  return errors;
}

} // namespace mpc

#endif // MPC_TOOLS_DATA_ERRORS_H
