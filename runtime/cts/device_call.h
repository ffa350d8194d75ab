// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of a driver's services with operands where the driver wants them: in the host's memory, or,
// for drivers that own theirs, in variables of a small entry that goes through Driver::run.
#ifndef MPC_RUNTIME_CTS_DEVICE_CALL_H
#define MPC_RUNTIME_CTS_DEVICE_CALL_H

#include "runtime/drivers/driver.h"

#include <functional>
#include <vector>

namespace mpc::rt::cts {

// Calls `body` with the address of each part, between begin() and end(); parts hold afterwards what
// the memory there then does.
mpc_rt_status_t callOnDevice(Driver &driver, WeightUse use,
                             std::vector<std::vector<uint8_t> *> parts,
                             const std::function<mpc_rt_status_t(void *const *)> &body);

} // namespace mpc::rt::cts

#endif
