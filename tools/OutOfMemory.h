// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The message of the tools where there is no memory: it says what they were doing and how much was
// wanted. The exit status is 1, as with any other input that is too large for the machine.
#ifndef MPC_TOOLS_OUT_OF_MEMORY_H
#define MPC_TOOLS_OUT_OF_MEMORY_H

namespace mpc {

/// Says so and ends the process without cleaning up: files that were not finished have no names.
/// `wanted` may be null where that is not known. Allocates nothing.
[[noreturn]] void exitOutOfMemory(const char *wanted);

/// From now on a std::bad_alloc that nobody catches, or that a destructor throws, ends the process
/// so. `task` ("model.keras: out of memory while compiling") must outlive it.
void reportOutOfMemory(const char *task);

/// From now on a thread that reads through a null pointer after malloc() gave it one ends the
/// process so: MLIR does not ask whether it got memory for an operation. Handlers that are
/// installed later have to call this one.
void exitWhereMemoryIsNull();

} // namespace mpc

#endif // MPC_TOOLS_OUT_OF_MEMORY_H
