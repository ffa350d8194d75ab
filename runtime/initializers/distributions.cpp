// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random values by position: element i of stream s takes lane i % 4 of Philox block
// (i / 4, attempt, s) under the key `seed`.
#include "runtime/base/philox.h"
#include "runtime/initializers/initializers.h"

#include <cmath>

namespace mpc::rt {
namespace {

PhiloxBlock blockOf(uint64_t seed, uint64_t stream, uint64_t index, uint32_t attempt) {
  uint64_t block = index / 4;
  // Variables hold fewer than 2^34 elements, so 32 bits count the blocks.
  PhiloxBlock counter = {{static_cast<uint32_t>(block), attempt, static_cast<uint32_t>(stream),
                          static_cast<uint32_t>(stream >> 32)}};
  return philox(counter, static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
}

} // namespace

void standardUniforms(uint64_t seed, uint64_t stream, uint64_t block, float values[4]) {
  PhiloxBlock words = blockOf(seed, stream, 4 * block, 0);
  for (int lane = 0; lane < 4; ++lane)
    values[lane] = static_cast<float>(words.word[lane] >> 8) * 0x1p-24f;
}

// Box and Muller: two uniform words give two normals, so lanes 0 and 1, 2 and 3 belong together.
double standardNormal(uint64_t seed, uint64_t stream, uint64_t index, uint32_t attempt) {
  PhiloxBlock block = blockOf(seed, stream, index, attempt);
  unsigned lane = index % 4, first = lane & ~1u;
  double u = (block.word[first] + 0.5) * 0x1p-32; // never 0
  double angle = 6.283185307179586 * (block.word[first + 1] * 0x1p-32);
  return std::sqrt(-2.0 * std::log(u)) * (lane & 1 ? std::sin(angle) : std::cos(angle));
}

} // namespace mpc::rt
