// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A lowered module says how much of the runtime it needs, beside mpcrt.abi_version.
#ifndef MPC_DIALECTS_MPCRT_IR_SERVICESSIZE_H
#define MPC_DIALECTS_MPCRT_IR_SERVICESSIZE_H

#include "llvm/ADT/StringRef.h"

namespace mpc::mpcrt {

/// Module after lowering: how much of mpc_rt_services_t the code reads, in bytes.
inline constexpr llvm::StringLiteral kServicesSizeAttr = "mpcrt.services_size";
/// The same module, where an entry reduces over the ranks of a job (a unit).
inline constexpr llvm::StringLiteral kDistributedAttr = "mpcrt.distributed";

} // namespace mpc::mpcrt

#endif // MPC_DIALECTS_MPCRT_IR_SERVICESSIZE_H
