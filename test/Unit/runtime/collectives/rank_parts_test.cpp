// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/collectives/rank_parts.h"

#include "runtime/collectives/communicator.h"
#include "test/Unit/runtime/collectives/fake_job.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace mpc::rt;
using namespace mpc::rt::test;

namespace {

constexpr Reduction floatSum = {MPC_RT_FLOAT32, MPC_RT_REDUCTION_SUM};
using Numbers = std::vector<float>;

// Numbers of very different size, whose sum depends on the order.
Numbers numbersOf(unsigned rank, size_t array, size_t count) {
  std::mt19937 random(unsigned(rank * 100 + array + 17));
  Numbers numbers(count);
  for (float &number : numbers)
    number = std::ldexp(float(int32_t(random())), int(random() % 24) - 40);
  return numbers;
}

std::vector<Numbers> arraysOf(unsigned rank, const std::vector<size_t> &counts) {
  std::vector<Numbers> arrays;
  for (size_t i = 0; i != counts.size(); ++i)
    arrays.push_back(numbersOf(rank, i, counts[i]));
  return arrays;
}

std::vector<RankArray> pointersTo(std::vector<Numbers> &arrays) {
  std::vector<RankArray> pointers;
  for (Numbers &array : arrays)
    pointers.push_back({array.data(), array.size()});
  return pointers;
}

TEST(RankParts, CoverEveryElementOnceAndAreAligned) {
  for (unsigned size : {1u, 2u, 3u, 4u, 7u, 8u, 16u, 33u})
    for (size_t count : {0, 1, 63, 64, 65, 1000, 12707, 100000}) {
      std::vector<int> owners(count, 0);
      size_t most = 0;
      for (unsigned rank = 0; rank != size; ++rank) {
        const RankPart own = ownPart(rank, size, count);
        ASSERT_LE(own.begin, own.end);
        ASSERT_LE(own.end, count);
        if (own.begin != own.end)
          EXPECT_EQ(own.begin % 64, 0u);
        most = std::max(most, own.end - own.begin);
        for (size_t i = own.begin; i != own.end; ++i)
          ++owners[i];
      }
      EXPECT_EQ(std::count(owners.begin(), owners.end(), 1), std::ptrdiff_t(count));
      unsigned core = 1;
      while (core * 2 <= size)
        core *= 2;
      EXPECT_LE(most, count / core + 64 * 6) << size << " ranks, " << count;
    }
}

// A gradient that is reduced to parts has the bytes of one that is reduced whole.
TEST(RankParts, ReduceToTheBytesOfAnAllReduceAndGatherBack) {
  const std::vector<std::vector<size_t>> buckets = {
      {5}, {64}, {10007}, {0, 1}, {131, 12707, 3, 97}, {70000, 1024}};
  for (unsigned ranks : {1u, 2u, 3u, 4u, 6u, 8u})
    for (const std::vector<size_t> &counts : buckets)
      FakeJob(ranks, {~0u, 0, true}).run([&](std::unique_ptr<Transport> transport) {
        const unsigned rank = transport->rank();
        std::vector<Numbers> expected = arraysOf(rank, counts), found = expected;
        for (Numbers &array : expected) {
          std::vector<char> scratch(allReduceScratch(*transport, floatSum, array.size()));
          ASSERT_EQ(allReduce(*transport, floatSum, array.data(), array.size(), scratch.data()),
                    MPC_RT_OK);
        }
        PartMemory memory;
        ASSERT_EQ(reduceToParts(*transport, floatSum, pointersTo(found), memory), MPC_RT_OK);
        for (size_t i = 0; i != counts.size(); ++i) {
          const RankPart own = ownPart(rank, ranks, counts[i]);
          for (size_t j = 0; j != counts[i]; ++j)
            if (j >= own.begin && j < own.end)
              EXPECT_EQ(std::memcmp(&found[i][j], &expected[i][j], sizeof(float)), 0);
            else
              found[i][j] = -1; // that of others has to come from them
        }
        ASSERT_EQ(gatherParts(*transport, sizeof(float), pointersTo(found), memory), MPC_RT_OK);
        for (size_t i = 0; i != counts.size(); ++i)
          EXPECT_EQ(std::memcmp(found[i].data(), expected[i].data(), counts[i] * sizeof(float)), 0)
              << ranks << " ranks, array " << i;
      });
}

// So that a test of what a rank has after the reduction speaks of whole sums.
TEST(RankParts, WhatIsNotOwnedIsFiniteWhereTheSumIs) {
  constexpr size_t count = 1000;
  for (unsigned ranks : {2u, 4u, 5u})
    for (unsigned infinite : {0u, ranks - 1}) {
      std::vector<Numbers> after(ranks);
      FakeJob(ranks).run([&](std::unique_ptr<Transport> transport) {
        const unsigned rank = transport->rank();
        Numbers own(count, 1.f);
        if (rank == infinite)
          own[10] = INFINITY;
        PartMemory memory;
        ASSERT_EQ(reduceToParts(*transport, floatSum, {{own.data(), count}}, memory), MPC_RT_OK);
        after[rank] = own;
      });
      unsigned owner = 0;
      for (unsigned rank = 0; rank != ranks; ++rank) {
        const RankPart own = ownPart(rank, ranks, count);
        for (size_t i = 0; i != count; ++i)
          EXPECT_TRUE(i == 10 || std::isfinite(after[rank][i]));
        if (own.begin <= 10 && 10 < own.end)
          owner = rank;
      }
      EXPECT_FALSE(std::isfinite(after[owner][10])) << ranks << " ranks";
    }
}

TEST(RankParts, GoThroughACommunicatorInTheirOrder) {
  FakeJob(4, {~0u, 0, true}).run([&](std::unique_ptr<Transport> transport) {
    Communicator communicator(std::move(transport));
    std::vector<float> a(5000, 1), b(5000, float(communicator.rank()));
    std::vector<uint16_t> half(5000, uint16_t(communicator.rank()));
    communicator.start({MPC_RT_FLOAT32, MPC_RT_REDUCTION_SUM, Share::ownPart},
                       {{a.data(), a.size()}});
    communicator.start(floatSum, {{b.data(), b.size()}});
    const uint64_t last = communicator.start(
        {MPC_RT_BFLOAT16, MPC_RT_REDUCTION_SUM, Share::gathered}, {{half.data(), half.size()}});
    ASSERT_EQ(communicator.wait(last), MPC_RT_OK) << mpc_rt_last_error();
    const RankPart own = ownPart(communicator.rank(), 4, a.size());
    for (size_t i = own.begin; i != own.end; ++i)
      EXPECT_EQ(a[i], 4);
    EXPECT_EQ(b, std::vector<float>(5000, 6));
    for (unsigned rank = 0; rank != 4; ++rank) {
      const RankPart part = ownPart(rank, 4, half.size());
      for (size_t i = part.begin; i != part.end; ++i)
        EXPECT_EQ(half[i], rank);
    }
  });
}

} // namespace
