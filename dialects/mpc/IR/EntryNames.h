// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The roles that names of entries say.
#ifndef MPC_DIALECTS_MPC_IR_ENTRYNAMES_H
#define MPC_DIALECTS_MPC_IR_ENTRYNAMES_H

#include "dialects/mpc/IR/Mpc.h"
#include "runtime/rules/entry_names.h"

namespace mpc {

/// The role of the entry of that name, whichever shape of the inputs it was compiled for.
inline std::optional<EntryRole> roleOfEntryName(llvm::StringRef name) {
  return symbolizeEntryRole(llvm::StringRef(rules::entryWithoutShape(name)));
}

} // namespace mpc

#endif // MPC_DIALECTS_MPC_IR_ENTRYNAMES_H
