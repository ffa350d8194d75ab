// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two things that llvm::json leaves to its caller: a bound on the nesting of hostile files, and the
// order of an object's keys.
#ifndef MPC_LIB_POLICY_JSONTEXT_H
#define MPC_LIB_POLICY_JSONTEXT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace mpc {

/// llvm::json::parse, for text of any origin: too deep nesting and too much text are errors.
llvm::Expected<llvm::json::Value> parseJsonText(llvm::StringRef text);

/// The keys of the object at `path` ({"config", "policy_map"}) in the order of the file, each once.
/// The text must have passed parseJsonText; empty when there is no such object.
std::vector<std::string> jsonKeyOrder(llvm::StringRef text, llvm::ArrayRef<llvm::StringRef> path);

} // namespace mpc

#endif // MPC_LIB_POLICY_JSONTEXT_H
