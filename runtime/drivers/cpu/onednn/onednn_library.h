// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// oneDNN, opened when the first product wants it: loading it takes longer than the rest of a small
// model's start, and where our own kernels do everything it is never needed.
#ifndef MPC_RUNTIME_DRIVERS_CPU_ONEDNN_ONEDNN_LIBRARY_H
#define MPC_RUNTIME_DRIVERS_CPU_ONEDNN_ONEDNN_LIBRARY_H

namespace mpc::rt::onednn {

// Before anything of dnnl.h is called. Throws Unavailable when the library is missing, and
// OutOfMemory.
void load();

// Loads it before a primitive is made. Throws OutOfMemory, too, where that might get no memory for
// its code, which oneDNN writes without a look at what it got.
void loadToMake();

// The features of this CPU that oneDNN uses. The library is asked only where it is there already or
// variables of the environment tell it to use less.
struct Isa {
  bool avx512 = false, vnni = false, bfloat16 = false, amx = false;
};
const Isa &isa();

} // namespace mpc::rt::onednn

#endif
