// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Services that look at their operands and results for values that are not finite.
#ifndef MPC_RUNTIME_EXECUTION_VALUE_WATCH_H
#define MPC_RUNTIME_EXECUTION_VALUE_WATCH_H

#include "mpc-rt/executable.h"
#include "runtime/base/memory.h"

#include <atomic>
#include <mutex>
#include <string>

namespace mpc::rt {

// Finds the first layer whose values are not finite, and keeps the services that the context had
// before.
class ValueWatch {
public:
  // Replaces services that predict and evaluate call; the others stay as they are.
  explicit ValueWatch(mpc_rt_services_t &services);
  const mpc_rt_services_t &services() const { return own; }

  // Notes the layer unless all values are finite or one was noted before.
  void look(const char *layer, const void *values, mpc_rt_dtype_t dtype, uint64_t count,
            bool isResult);
  bool found() const { return isFound; }
  const std::string &layer() const { return path; }
  bool isComputed() const { return computed; }

  Buffer result;                               // of a product that nobody else keeps
  const mpc_rt_rows_product_t *rows = nullptr; // of the loop over rows at hand

private:
  const mpc_rt_services_t own;
  std::mutex mutex;
  std::atomic<bool> isFound{false};
  bool computed = false;
  std::string path;
};

} // namespace mpc::rt

#endif
