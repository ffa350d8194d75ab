// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packed weights of the parts of a batch, which multiply by the same ones: the first part that
// needs a copy makes it, and the others wait for that.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONTRACT_SHARED_WEIGHTS_H
#define MPC_RUNTIME_DRIVERS_CPU_CONTRACT_SHARED_WEIGHTS_H

#include "runtime/base/memory.h"
#include "runtime/drivers/contraction.h"

#include <map>
#include <mutex>
#include <tuple>

namespace mpc::rt {

class SharedWeights {
public:
  // The packed copy of `variable`, which is at `rhs`, for a layout (or kernel). Null where
  // another part asked for other memory: each has variables of its own, too.
  template <typename Pack>
  const void *find(int32_t variable, const Contraction &shape, const void *layout, const void *rhs,
                   uint64_t bytes, const Pack &pack) {
    Copy &copy = copyOf({variable, shape.transposeRhs, shape.k, shape.n, layout});
    std::lock_guard<std::mutex> lock(copy.mutex);
    if (!copy.packedOf) {
      reserve(copy.buffer, bytes);
      pack(copy.buffer.data());
      copy.packedOf = rhs;
    }
    return copy.packedOf == rhs ? copy.buffer.data() : nullptr;
  }
  // When no part runs: the weights may be others.
  void forget();
  uint64_t bytes() const;

private:
  using Key = std::tuple<int32_t, bool, int64_t, int64_t, const void *>;
  struct Copy {
    std::mutex mutex;
    const void *packedOf = nullptr;
    Buffer buffer;
  };
  Copy &copyOf(const Key &key) {
    std::lock_guard<std::mutex> lock(mutex);
    return copies[key];
  }

  mutable std::mutex mutex; // of the map, whose copies stay where they are
  std::map<Key, Copy> copies;
};

} // namespace mpc::rt

#endif
