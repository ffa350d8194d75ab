// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks that a JSON parser does not do by itself: doubled keys, depth, size.
#ifndef MPC_RUNTIME_DATA_JSON_GUARD_H
#define MPC_RUNTIME_DATA_JSON_GUARD_H

#include <string>

namespace mpc::data {

/// Empty if `text` is one JSON value, nested at most `maximumDepth` deep, without an object that
/// has a key twice; else what is wrong, with the byte.
std::string checkJson(const char *text, size_t size, size_t maximumDepth);

} // namespace mpc::data
#endif
