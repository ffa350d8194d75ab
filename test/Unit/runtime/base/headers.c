/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * All public headers of the runtime in one C99 program: they must not collide. */
#include "mpc-rt/device.h"
#include "mpc-rt/dlpack.h"
#include "mpc-rt/dlpack_types.h"
#include "mpc-rt/dtype.h"
#include "mpc-rt/executable.h"
#include "mpc-rt/model.h"
#include "mpc-rt/numerics.h"
#include "mpc-rt/scaler.h"
#include "mpc-rt/seal.h"
#include "mpc-rt/status.h"
#include "mpc-rt/training.h"
#include "mpc-rt/tuning.h"
#include "mpc-rt/watch.h"

/* Layout that generated code relies on: changing it needs a new ABI version. */
size_t mpc_test_contract_size(void);
size_t mpc_test_contract_size(void) { return sizeof(mpc_rt_contract_t); }
size_t mpc_test_call_size(void);
size_t mpc_test_call_size(void) { return sizeof(mpc_rt_call_t); }
size_t mpc_test_executable_size(void);
size_t mpc_test_executable_size(void) { return sizeof(mpc_rt_executable_t); }
