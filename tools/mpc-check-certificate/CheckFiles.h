// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The check of a certificate's file, from paths to messages.
#ifndef MPC_TOOLS_MPC_CHECK_CERTIFICATE_CHECKFILES_H
#define MPC_TOOLS_MPC_CHECK_CERTIFICATE_CHECKFILES_H

#include "llvm/ADT/Twine.h"
#include <string>

namespace mpc::check {

/// Prints an error; returns `status`.
int fail(const llvm::Twine &message, int status = 1);

/// Returns the exit code of the tool: 0 where every claim of the certificate holds, else 1.
int checkFiles(const std::string &certificatePath, const std::string &modulePath);

} // namespace mpc::check

#endif // MPC_TOOLS_MPC_CHECK_CERTIFICATE_CHECKFILES_H
