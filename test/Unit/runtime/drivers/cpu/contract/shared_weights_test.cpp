// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/contract/shared_weights.h"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace mpc::rt {
namespace {

constexpr uint64_t bytes = 4096;

Contraction shapeOf(bool transposed) {
  Contraction shape;
  shape.k = 32, shape.n = 64, shape.transposeRhs = transposed;
  return shape;
}

TEST(SharedWeights, OnePartPacksForAll) {
  SharedWeights shared;
  const int layout = 0, weights = 0;
  std::atomic<int> packed{0};
  for (int run = 1; run != 4; ++run) {
    std::vector<std::thread> threads;
    for (int part = 0; part != 8; ++part)
      threads.emplace_back([&] {
        for (bool transposed : {false, true}) {
          const void *copy =
              shared.find(3, shapeOf(transposed), &layout, &weights, bytes, [&](uint8_t *to) {
                ++packed;
                std::fill_n(to, bytes, uint8_t(run + transposed));
              });
          ASSERT_TRUE(copy);
          for (uint64_t i = 0; i != bytes; ++i)
            ASSERT_EQ(static_cast<const uint8_t *>(copy)[i], run + transposed);
        }
      });
    for (std::thread &thread : threads)
      thread.join();
    EXPECT_EQ(packed, 2 * run);
    EXPECT_GE(shared.bytes(), 2 * bytes);
    shared.forget();
  }
}

// Each part has variables for itself that are not trained.
TEST(SharedWeights, APartWithOtherMemoryPacksItself) {
  SharedWeights shared;
  const int layout = 0, ofFirst = 0, ofSecond = 0;
  const auto pack = [](uint8_t *) {};
  EXPECT_TRUE(shared.find(3, shapeOf(false), &layout, &ofFirst, bytes, pack));
  EXPECT_FALSE(shared.find(3, shapeOf(false), &layout, &ofSecond, bytes, pack));
  EXPECT_TRUE(shared.find(3, shapeOf(false), &layout, &ofFirst, bytes, pack));
  EXPECT_TRUE(shared.find(4, shapeOf(false), &layout, &ofSecond, bytes, pack));
}

TEST(SharedWeights, WhatWasNotPackedIsNotThere) {
  SharedWeights shared;
  const int layout = 0, weights = 0;
  const auto fail = [](uint8_t *) { throw std::bad_alloc(); };
  EXPECT_THROW(shared.find(3, shapeOf(false), &layout, &weights, bytes, fail), std::bad_alloc);
  int packed = 0;
  EXPECT_TRUE(
      shared.find(3, shapeOf(false), &layout, &weights, bytes, [&](uint8_t *) { ++packed; }));
  EXPECT_EQ(packed, 1);
}

} // namespace
} // namespace mpc::rt
