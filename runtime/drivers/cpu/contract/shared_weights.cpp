// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/contract/shared_weights.h"

namespace mpc::rt {

void SharedWeights::forget() {
  std::lock_guard<std::mutex> lock(mutex);
  for (auto &[key, copy] : copies)
    copy.packedOf = nullptr;
}

uint64_t SharedWeights::bytes() const {
  std::lock_guard<std::mutex> lock(mutex);
  uint64_t total = 0;
  for (const auto &[key, copy] : copies)
    total += copy.buffer.size();
  return total;
}

} // namespace mpc::rt
