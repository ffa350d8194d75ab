// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/threads/loop_shares.h"

#include <gtest/gtest.h>
#include <memory>
#include <vector>

namespace mpc::rt {
namespace {

std::vector<int64_t> takeAll(Turns turns) {
  std::vector<int64_t> taken;
  for (int64_t index; turns.take(index);)
    taken.push_back(index);
  return taken;
}

TEST(LoopShares, CoverEachIterationOnce) {
  for (int64_t count : {0, 1, 2, 7, 64, 1001})
    for (int64_t parts : {1, 2, 3, 8}) {
      const std::unique_ptr<LoopShare[]> shares(new LoopShare[static_cast<size_t>(parts)]);
      cutIntoShares(shares.get(), parts, count);
      int64_t next = 0;
      for (int64_t part = 0; part < parts; ++part) {
        EXPECT_EQ(shares[part].next, next);
        EXPECT_LE(shares[part].end - next, (count + parts - 1) / parts);
        next = shares[part].end;
      }
      EXPECT_EQ(next, count);
    }
}

TEST(LoopShares, CountsBeyondHalfOfTheirRangeAreCut) {
  constexpr int64_t count = INT64_MAX;
  LoopShare shares[4];
  cutIntoShares(shares, 4, count);
  EXPECT_EQ(shares[3].next, count / 4 * 3 + 2);
  EXPECT_EQ(shares[3].end, count);
}

TEST(LoopShares, AThreadBeginsWithItsOwnAndTakesTheOthers) {
  LoopShare shares[3];
  cutIntoShares(shares, 3, 9);
  EXPECT_EQ(takeAll({shares, 3, 1}), (std::vector<int64_t>{3, 4, 5, 6, 7, 8, 0, 1, 2}));
  EXPECT_TRUE(takeAll({shares, 3, 2}).empty());
}

TEST(LoopShares, ASlowThreadKeepsWhatItHasBegun) {
  LoopShare shares[2];
  cutIntoShares(shares, 2, 8);
  Turns slow(shares, 2, 0), fast(shares, 2, 1);
  int64_t index = -1;
  ASSERT_TRUE(slow.take(index));
  EXPECT_EQ(index, 0);
  EXPECT_EQ(takeAll(fast), (std::vector<int64_t>{4, 5, 6, 7, 1, 2, 3}));
  EXPECT_FALSE(slow.take(index));
}

TEST(LoopShares, MoreThreadsThanSharesHelp) {
  LoopShare shares[2];
  cutIntoShares(shares, 2, 4);
  Turns third(shares, 2, 2);
  EXPECT_EQ(third.slot(), 2u);
  EXPECT_EQ(takeAll(third), (std::vector<int64_t>{0, 1, 2, 3}));
}

} // namespace
} // namespace mpc::rt
