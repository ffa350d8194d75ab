// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The values that entries compute of their weights alone (the service `prepare`), for all drivers.
// They are computed again before they are read after the weights changed.
#ifndef MPC_RUNTIME_DRIVERS_PREPARED_WEIGHTS_H
#define MPC_RUNTIME_DRIVERS_PREPARED_WEIGHTS_H

#include "mpc-rt/executable.h"
#include "mpc-rt/status.h"

#include <functional>
#include <map>
#include <memory>
#include <utility>

namespace mpc::rt {

// Memory that the driver's kernels read.
class PreparedMemory {
public:
  virtual ~PreparedMemory() = default;
  // At least `bytes`. `grew`: the content is undefined.
  virtual mpc_rt_status_t reserve(uint64_t bytes, bool &grew) = 0;
  virtual void *data() const noexcept = 0;
  virtual uint64_t size() const noexcept = 0;
};

class PreparedWeights {
public:
  using MakeMemory = std::function<std::unique_ptr<PreparedMemory>()>;
  explicit PreparedWeights(MakeMemory makeMemory) : makeMemory(std::move(makeMemory)) {}

  // The entry that runs from now on.
  void begin(const mpc_rt_entry_info_t *entry) noexcept { running = entry; }
  // Fills what is out of date of the running entry: recorded steps do not ask for it.
  mpc_rt_status_t refresh(const mpc_rt_call_t &call);
  // The service. `keeps`: `fill` computes, so that the values last until variables change.
  mpc_rt_status_t prepare(const mpc_rt_call_t &call, mpc_rt_prepare_fn fill, uint64_t bytes,
                          bool keeps, void *&memory);
  // The caller changed variables.
  void variablesChanged() noexcept { ++version; }
  // The running entry changed variables, but none of those that it prepares something of.
  void entryChangedVariables() noexcept;
  uint64_t bytes() const noexcept;

private:
  struct Values {
    std::unique_ptr<PreparedMemory> memory;
    uint64_t version = 0; // of the variables that they were computed of
  };
  using Key = std::pair<const mpc_rt_entry_info_t *, mpc_rt_prepare_fn>;
  using Iterator = std::map<Key, Values>::iterator;
  // The values of the running entry.
  std::pair<Iterator, Iterator> own() noexcept;

  MakeMemory makeMemory;
  std::map<Key, Values> values;
  const mpc_rt_entry_info_t *running = nullptr;
  uint64_t version = 1; // of the variables
};

} // namespace mpc::rt

#endif
