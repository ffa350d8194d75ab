// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What tells one compiled model from another, in the files that belong to one.
#ifndef MPC_RUNTIME_TRAINING_MODEL_IDENTITY_H
#define MPC_RUNTIME_TRAINING_MODEL_IDENTITY_H

#include "training/session.h"

#include <map>
#include <string>

namespace mpc::training {

using ModelIdentity = std::map<std::string, std::string>;

/// Name, hash of the source, policy, and a checksum of what each layer computes in: values that do
/// not change when the same command compiles the same model again, nor with the machine.
ModelIdentity identityOf(const Session &session);

} // namespace mpc::training
#endif
