// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A device that counts what entries report where it is.
#ifndef MPC_RUNTIME_DRIVERS_VALUE_COUNTER_H
#define MPC_RUNTIME_DRIVERS_VALUE_COUNTER_H

#include "mpc-rt/services.h"
#include "runtime/base/status.h"
#include "runtime/base/value_counts.h"

#include <functional>

namespace mpc::rt {

class ValueCounter {
public:
  virtual ~ValueCounter() = default;

  // Inside a run, in the order of its work. The descriptor outlives the run.
  virtual mpc_rt_status_t count(const mpc_rt_trace_t &descriptor, const mpc_rt_trace_call_t &call,
                                const FormatBounds &format) = 0;
  using Take = std::function<void(const mpc_rt_trace_t &descriptor, const ValueCounts &counts)>;
  // Behind a run: what was counted since the last call of this, in that order.
  virtual mpc_rt_status_t collect(const Take &take) = 0;
  // Behind one that failed.
  virtual void discard() noexcept = 0;
};

} // namespace mpc::rt

#endif
