// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Orders of rows: permutations, uniform, and functions of seed and epoch alone.
#include "runtime/training/shuffle.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>

using namespace mpc::training;

TEST(Shuffle, IsAPermutation) {
  for (int64_t rows : {1, 2, 3, 100, 1001}) {
    std::vector<int64_t> order = shuffledRows(rows, 1, 2);
    std::sort(order.begin(), order.end());
    for (int64_t i = 0; i < rows; ++i)
      ASSERT_EQ(order[static_cast<std::size_t>(i)], i);
  }
}

TEST(Shuffle, DependsOnSeedAndEpoch) {
  EXPECT_EQ(shuffledRows(50, 1, 2), shuffledRows(50, 1, 2));
  EXPECT_NE(shuffledRows(50, 1, 2), shuffledRows(50, 1, 3));
  EXPECT_NE(shuffledRows(50, 1, 2), shuffledRows(50, 2, 2));
  EXPECT_NE(shuffledRows(50, uint64_t(1) << 40, 2), shuffledRows(50, 0, 2));
}

/// The 24 orders of 4 rows, 24000 draws: chi-squared with 23 degrees of freedom is below 49.7 with
/// probability 0.999.
TEST(Shuffle, AllOrdersAreEquallyLikely) {
  std::map<std::vector<int64_t>, int> counts;
  for (uint64_t epoch = 0; epoch < 24000; ++epoch)
    ++counts[shuffledRows(4, 7, epoch)];
  ASSERT_EQ(counts.size(), 24u);
  double chiSquared = 0;
  for (const auto &[order, count] : counts)
    chiSquared += (count - 1000.0) * (count - 1000.0) / 1000.0;
  EXPECT_LT(chiSquared, 49.7);
}

TEST(Shuffle, RowOrderGoesBackAndForthBetweenPasses) {
  RowOrder order(10, Shuffle::EachPass, 3);
  std::vector<int64_t> second = shuffledRows(10, 3, 1), first = shuffledRows(10, 3, 0);
  EXPECT_EQ(order.at(0, 9), first[9]);
  EXPECT_EQ(order.at(1, 0), second[0]);
  EXPECT_EQ(order.at(0, 1), first[1]);
  EXPECT_EQ(RowOrder(10, Shuffle::Off, 3).at(5, 7), 7);
}

TEST(Shuffle, OnceRepeatsItsPermutation) {
  RowOrder order(10, Shuffle::Once, 3);
  std::vector<int64_t> rows = shuffledRows(10, 3, 0);
  for (int64_t pass : {0, 4, 1})
    for (int64_t position = 0; position < 10; ++position)
      EXPECT_EQ(order.at(pass, position), rows[static_cast<size_t>(position)]);
}
