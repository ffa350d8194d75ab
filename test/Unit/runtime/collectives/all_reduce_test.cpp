// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/collectives/all_reduce.h"

#include "runtime/collectives/combine.h"
#include "test/Unit/runtime/collectives/fake_job.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace mpc::rt;
using namespace mpc::rt::test;

namespace {

constexpr Reduction floatSum = {MPC_RT_FLOAT32, MPC_RT_REDUCTION_SUM};

// Numbers of very different size, whose sum depends on the order.
std::vector<float> numbersOf(unsigned part, size_t count) {
  std::mt19937 random(part + 17);
  std::vector<float> numbers(count);
  for (float &number : numbers)
    number = std::ldexp(float(int32_t(random())), int(random() % 24) - 40);
  return numbers;
}

std::vector<float> treeOf(const std::vector<std::vector<float>> &parts, size_t begin, size_t end) {
  if (end - begin == 1)
    return parts[begin];
  const size_t middle = begin + (end - begin) / 2;
  std::vector<float> left = treeOf(parts, begin, middle), right = treeOf(parts, middle, end);
  for (size_t i = 0; i != left.size(); ++i)
    left[i] += right[i];
  return left;
}

bool sameBytes(const std::vector<float> &a, const std::vector<float> &b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::vector<std::vector<float>> reduced(unsigned ranks, std::vector<std::vector<float>> data,
                                        Faults faults = {}) {
  FakeJob(ranks, faults).run([&](std::unique_ptr<Transport> transport) {
    std::vector<float> &own = data[transport->rank()];
    std::vector<char> scratch(allReduceScratch(*transport, floatSum, own.size()));
    EXPECT_EQ(allReduce(*transport, floatSum, own.data(), own.size(), scratch.data()), MPC_RT_OK);
  });
  return data;
}

TEST(AllReduce, RanksOfAPowerOfTwoMakeTheBinaryTree) {
  for (unsigned ranks : {1u, 2u, 4u, 8u, 16u})
    for (size_t count : {0, 1, 3, 100, 4095, 4096, 4097, 50001}) {
      std::vector<std::vector<float>> parts;
      for (unsigned rank = 0; rank != ranks; ++rank)
        parts.push_back(numbersOf(rank, count));
      const std::vector<float> expected = treeOf(parts, 0, ranks);
      for (const std::vector<float> &result : reduced(ranks, parts))
        EXPECT_TRUE(sameBytes(result, expected)) << ranks << " ranks, " << count << " numbers";
    }
}

TEST(AllReduce, ManyNumbersGoInPieces) {
  for (unsigned ranks : {2u, 3u, 4u}) {
    std::vector<std::vector<float>> parts;
    for (unsigned rank = 0; rank != ranks; ++rank)
      parts.push_back(numbersOf(rank, 2500001));
    std::vector<std::vector<float>> tree = parts;
    if (ranks == 3)
      tree = {treeOf({parts[0], parts[2]}, 0, 2), parts[1]};
    const std::vector<float> expected = treeOf(tree, 0, tree.size());
    for (const std::vector<float> &result : reduced(ranks, parts))
      EXPECT_TRUE(sameBytes(result, expected)) << ranks << " ranks";
  }
}

TEST(AllReduce, AnyNumberOfRanksAgreesOnTheBytesAndRepeats) {
  for (unsigned ranks : {3u, 5u, 6u, 7u, 9u, 12u})
    for (size_t count : {1, 7, 5000, 20000}) {
      std::vector<std::vector<float>> parts;
      for (unsigned rank = 0; rank != ranks; ++rank)
        parts.push_back(numbersOf(rank, count));
      const auto once = reduced(ranks, parts);
      const auto again = reduced(ranks, parts, {~0u, 0, true});
      for (unsigned rank = 0; rank != ranks; ++rank) {
        EXPECT_TRUE(sameBytes(once[rank], once[0])) << ranks << " ranks, " << count;
        EXPECT_TRUE(sameBytes(again[rank], once[0])) << ranks << " ranks, " << count;
      }
      for (size_t i = 0; i != count; ++i) {
        double exact = 0, magnitude = 0;
        for (const auto &part : parts) {
          exact += part[i];
          magnitude += std::fabs(part[i]);
        }
        EXPECT_NEAR(once[0][i], exact, magnitude * ranks * 0x1p-24);
      }
    }
}

// The promise of --deterministic-ranks=8: who computes which parts changes no bit.
TEST(AllReduce, PartsOnFewerRanksGiveTheSameBytes) {
  constexpr unsigned parts = 8;
  constexpr size_t count = 10000;
  std::vector<std::vector<float>> all;
  for (unsigned part = 0; part != parts; ++part)
    all.push_back(numbersOf(part, count));
  const std::vector<float> expected = treeOf(all, 0, parts);
  for (unsigned ranks : {1u, 2u, 4u, 8u}) {
    std::vector<std::vector<float>> own;
    for (unsigned rank = 0; rank != ranks; ++rank)
      own.push_back(treeOf(all, rank * parts / ranks, (rank + 1) * parts / ranks));
    for (const std::vector<float> &result : reduced(ranks, own))
      EXPECT_TRUE(sameBytes(result, expected)) << ranks;
  }
}

TEST(AllReduce, NaNsAndInfinitiesReachEveryRank) {
  const float inf = INFINITY, nan = std::nanf("5"), other = -std::nanf("9");
  for (const auto &result : reduced(
           4, {{inf, 1, nan, -0.f}, {1, 1, other, -0.f}, {1, -inf, 1, -0.f}, {1, inf, 1, -0.f}})) {
    EXPECT_EQ(result[0], inf);
    const float expected = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(std::memcmp(&result[1], &expected, sizeof expected), 0);
    EXPECT_EQ(std::memcmp(&result[2], &expected, sizeof expected), 0);
    EXPECT_TRUE(std::signbit(result[3]));
  }
}

TEST(Broadcast, EveryRootReachesEveryRank) {
  for (unsigned ranks : {1u, 2u, 3u, 5u, 8u})
    for (unsigned root = 0; root != ranks; ++root) {
      std::vector<uint32_t> data(ranks);
      for (unsigned rank = 0; rank != ranks; ++rank)
        data[rank] = 100 + rank;
      FakeJob(ranks).run([&](std::unique_ptr<Transport> transport) {
        uint32_t &own = data[transport->rank()];
        EXPECT_EQ(broadcast(*transport, &own, sizeof own, root), MPC_RT_OK);
      });
      for (uint32_t own : data)
        EXPECT_EQ(own, 100 + root) << ranks << " ranks";
    }
}

} // namespace
