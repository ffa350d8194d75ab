// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shuffling.
#include "runtime/training/shuffle.h"

#include "runtime/base/philox.h"

#include <utility>

namespace mpc::training {

namespace {

/// 64-bit draws, two to a Philox block.
class Draws {
public:
  Draws(uint64_t seed, uint64_t epoch) : seed_(seed), epoch_(epoch) {}

  /// Uniform in [0, bound), bound > 0.
  uint64_t below(uint64_t bound) {
    unsigned __int128 product = static_cast<unsigned __int128>(next()) * bound;
    uint64_t low = static_cast<uint64_t>(product);
    if (low < bound)
      for (uint64_t threshold = -bound % bound; low < threshold;) {
        product = static_cast<unsigned __int128>(next()) * bound;
        low = static_cast<uint64_t>(product);
      }
    return static_cast<uint64_t>(product >> 64);
  }

private:
  uint64_t next() {
    if (count_ % 2 == 0) {
      uint64_t index = count_ / 2;
      rt::PhiloxBlock counter = {{static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32),
                                  static_cast<uint32_t>(epoch_),
                                  static_cast<uint32_t>(epoch_ >> 32)}};
      // The last key bit sets these draws apart from the model's own random streams.
      block_ = rt::philox(counter, static_cast<uint32_t>(seed_),
                          static_cast<uint32_t>(seed_ >> 32) ^ 0x80000000u);
    }
    std::size_t half = count_++ % 2 * 2;
    return uint64_t(block_.word[half + 1]) << 32 | block_.word[half];
  }
  uint64_t seed_, epoch_, count_ = 0;
  rt::PhiloxBlock block_{};
};

} // namespace

std::vector<int64_t> shuffledRows(int64_t rows, uint64_t seed, uint64_t epoch) {
  std::vector<int64_t> order(static_cast<std::size_t>(rows));
  for (int64_t i = 0; i < rows; ++i)
    order[static_cast<std::size_t>(i)] = i;
  Draws draws(seed, epoch);
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[draws.below(i)]);
  return order;
}

const char *shuffleName(Shuffle shuffle) {
  switch (shuffle) {
  case Shuffle::Off:
    return "off";
  case Shuffle::EachPass:
    return "each-pass";
  case Shuffle::Once:
    return "once";
  }
  return "off";
}

int64_t RowOrder::at(int64_t pass, int64_t position) {
  if (shuffle_ == Shuffle::Off)
    return position;
  if (shuffle_ == Shuffle::Once)
    pass = 0;
  if (pass != pass_) {
    order_ = shuffledRows(rows_, seed_, static_cast<uint64_t>(pass));
    pass_ = pass;
  }
  return order_[static_cast<std::size_t>(position)];
}

} // namespace mpc::training
