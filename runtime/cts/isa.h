// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_RUNTIME_CTS_ISA_H
#define MPC_RUNTIME_CTS_ISA_H

#include "runtime/base/cpu.h"

#include <algorithm>
#include <cstdlib>

namespace mpc::rt::cts {

// MPC_CTS_ISA, mpc_rt_isa_t: what a CPU that has no more takes.
inline int isa() {
  const char *wanted = std::getenv("MPC_CTS_ISA");
  return wanted ? std::min(std::atoi(wanted), cpu().isa) : cpu().isa;
}

} // namespace mpc::rt::cts

#endif
