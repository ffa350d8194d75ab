// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The system's loader takes a library that it has loaded by the same name for the same, whatever
// stands there now: these give it names that it has not met.
#ifndef MPC_RUNTIME_MODULE_OPEN_LIBRARY_H
#define MPC_RUNTIME_MODULE_OPEN_LIBRARY_H

#include <string>

namespace mpc::rt {

// The library that is at `path` now; null where it cannot be loaded, and dlerror() says why.
void *openLibrary(const std::string &path);

// The library in an open file, which may be closed then.
void *openLibrary(int file);

} // namespace mpc::rt

#endif
