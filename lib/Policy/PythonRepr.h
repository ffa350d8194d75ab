// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Python's spelling of JSON values and strings, for the error texts that quote them.
#ifndef MPC_LIB_POLICY_PYTHONREPR_H
#define MPC_LIB_POLICY_PYTHONREPR_H

#include "llvm/Support/JSON.h"
#include <string>

namespace mpc {

/// `repr(text)`: quotes and escapes as Python chooses them.
std::string pythonRepr(llvm::StringRef text);
/// `repr(value)`; keys of objects are sorted, their order in the file is not known here.
std::string pythonRepr(const llvm::json::Value &value);
/// `str(type(value))`: "<class 'str'>".
llvm::StringRef pythonType(const llvm::json::Value &value);

} // namespace mpc

#endif // MPC_LIB_POLICY_PYTHONREPR_H
