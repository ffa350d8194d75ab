// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Some rows of a call's tensors; where there are none, one row of zeros that nobody wants: entries
// compute with a row at least.
#ifndef MPC_RUNTIME_EXECUTION_PART_OF_CALL_H
#define MPC_RUNTIME_EXECUTION_PART_OF_CALL_H

#include "mpc-rt/executable.h"
#include "mpc-rt/status.h"
#include "runtime/base/memory.h"

#include <vector>

namespace mpc::rt {

// The tensors of a whole call.
struct CallTensors {
  const mpc_rt_tensor_info_t *inputs;
  uint32_t inputCount;
  const mpc_rt_tensor_info_t *outputs;
  uint32_t outputCount;
  const void *const *from;
  void *const *to; // null: nobody wants them
};

class PartOfCall {
public:
  // Rows [first, first + count). `takesRest`: outputs without rows are the caller's, too.
  mpc_rt_status_t bind(const char *model, const CallTensors &call, int64_t first, int64_t count,
                       bool takesRest);

  bool isEmpty() const { return empty; }
  int64_t rows() const { return used; } // at least 1
  const void *const *inputs() const { return from.data(); }
  void *const *outputs() const { return to.data(); }
  uint64_t bytes() const { return zeros.size() + unwanted.size(); }

private:
  Buffer zeros, unwanted;
  std::vector<const void *> from;
  std::vector<void *> to;
  int64_t used = 1;
  bool empty = false;
};

} // namespace mpc::rt

#endif
