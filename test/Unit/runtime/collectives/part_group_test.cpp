// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/collectives/part_group.h"

#include "runtime/base/status.h"
#include "test/Unit/runtime/collectives/fake_job.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>

using namespace mpc::rt;
using namespace mpc::rt::test;

namespace {

constexpr unsigned allParts = 8;
constexpr Reduction floatSum = {MPC_RT_FLOAT32, MPC_RT_REDUCTION_SUM};

// Numbers of very different size, whose sum depends on the order.
std::vector<float> numbersOf(unsigned part, size_t count) {
  std::mt19937 random(part + 17);
  std::vector<float> numbers(count);
  for (float &number : numbers)
    number = std::ldexp(float(int32_t(random())), int(random() % 24) - 40);
  return numbers;
}

// body(reducer, number of the part in all) on a thread for each part of each rank.
void runParts(unsigned ranks, const std::function<void(PartGroup &, Reducer &, unsigned)> &body,
              Faults faults = {}, bool hasOneResult = false) {
  FakeJob(ranks, faults).run([&](std::unique_ptr<Transport> transport) {
    Communicator communicator(std::move(transport));
    const unsigned own = allParts / ranks, first = communicator.rank() * own;
    PartGroup group(communicator, own);
    group.setOneResult(hasOneResult);
    std::vector<std::thread> threads;
    for (unsigned part = 0; part != own; ++part)
      threads.emplace_back([&, part] { body(group, group.reducer(part), first + part); });
    for (std::thread &thread : threads)
      thread.join();
  });
}

// Gradients: copies for the other parts would be read by nobody.
TEST(PartGroup, OneOfTheResultsIsEnough) {
  for (unsigned ranks : {1u, 2u, 4u}) {
    auto reduceBoth = [&](PartGroup &, Reducer &reducer, unsigned part) {
      const bool isFirst = part % (allParts / ranks) == 0;
      std::vector<float> gradient(5000, 1), statistic(10, 1);
      Reduction ofGradients = floatSum;
      ofGradients.isForResults = true;
      reducer.start(ofGradients, {{gradient.data(), gradient.size()}});
      const uint64_t last = reducer.start(floatSum, {{statistic.data(), statistic.size()}});
      EXPECT_EQ(reducer.wait(last), MPC_RT_OK) << mpc_rt_last_error();
      EXPECT_EQ(statistic, std::vector<float>(10, allParts));
      if (isFirst)
        EXPECT_EQ(gradient, std::vector<float>(5000, allParts));
    };
    runParts(ranks, reduceBoth, {}, /*hasOneResult=*/true);
  }
}

// The first part of each rank has what they summed while they computed it.
TEST(PartGroup, AddsNothingToWhatIsSummed) {
  for (unsigned ranks : {1u, 2u, 4u})
    for (bool isForResults : {false, true}) {
      auto sum = [&](PartGroup &, Reducer &reducer, unsigned part) {
        const bool isFirst = part % (allParts / ranks) == 0;
        std::vector<float> summed(150000, isFirst ? 3 : -100), own(70000, 1);
        Reduction reduction = floatSum;
        reduction.isForResults = isForResults;
        const uint64_t number =
            reducer.start(reduction, {{own.data(), own.size()},
                                      {summed.data(), summed.size(), /*isSummed=*/true}});
        EXPECT_EQ(reducer.wait(number), MPC_RT_OK) << mpc_rt_last_error();
        if (!isFirst && isForResults)
          return;
        EXPECT_EQ(own, std::vector<float>(70000, allParts));
        EXPECT_EQ(summed, std::vector<float>(150000, 3.0f * float(ranks)));
      };
      runParts(ranks, sum, {}, /*hasOneResult=*/true);
    }
}

TEST(PartGroup, PartsAgreeOnWhatIsSummed) {
  runParts(1, [&](PartGroup &, Reducer &reducer, unsigned part) {
    float number = 1;
    const uint64_t started = reducer.start(floatSum, {{&number, 1, /*isSummed=*/part == 5}});
    EXPECT_EQ(reducer.wait(started), MPC_RT_INTERNAL);
  });
}

void expectTheSameBytesOnAnyNumberOfRanks(Reduction reduction) {
  std::vector<float> expected;
  for (unsigned ranks : {1u, 2u, 4u, 8u}) {
    std::vector<std::vector<float>> results(allParts);
    runParts(ranks,
             [&](PartGroup &, Reducer &reducer, unsigned part) {
               // Several at once; their arrays go together, some in blocks.
               std::vector<float> a = numbersOf(part, 10000), b = numbersOf(part + 100, 3),
                                  c = numbersOf(part + 200, 50001), empty;
               const uint64_t first = reducer.start(
                   reduction, {{a.data(), a.size()}, {empty.data(), 0}, {b.data(), b.size()}});
               const uint64_t second = reducer.start(reduction, {{c.data(), c.size()}});
               EXPECT_EQ(reducer.wait(second), MPC_RT_OK) << mpc_rt_last_error();
               EXPECT_EQ(reducer.wait(first), MPC_RT_OK);
               EXPECT_EQ(reducer.wait(second), MPC_RT_OK); // again: nothing
               a.insert(a.end(), b.begin(), b.end());
               a.insert(a.end(), c.begin(), c.end());
               results[part] = a;
             },
             {~0u, 0, true});
    if (expected.empty())
      expected = results[0];
    for (const std::vector<float> &result : results) {
      ASSERT_EQ(result.size(), expected.size());
      EXPECT_EQ(std::memcmp(result.data(), expected.data(), result.size() * sizeof(float)), 0)
          << ranks << " ranks";
    }
  }
}

TEST(PartGroup, AnyNumberOfRanksLeavesTheSameBytes) {
  expectTheSameBytesOnAnyNumberOfRanks(floatSum);
}

TEST(PartGroup, AnyNumberOfRanksLeavesTheSameBytesInBFloat16) {
  Reduction narrow = floatSum;
  narrow.inBFloat16 = true;
  expectTheSameBytesOnAnyNumberOfRanks(narrow);
}

TEST(PartGroup, SumsOfThePartsBefore) {
  for (unsigned ranks : {1u, 2u, 4u, 8u})
    runParts(ranks, [&](PartGroup &, Reducer &reducer, unsigned part) {
      for (int64_t round = 1; round != 4; ++round) {
        int64_t rows = (part + 1) * round, most = part;
        (void)reducer.start({MPC_RT_INT64, MPC_RT_REDUCTION_SUM_BEFORE}, {{&rows, 1}});
        const uint64_t last = reducer.start({MPC_RT_INT64, MPC_RT_REDUCTION_MAX}, {{&most, 1}});
        ASSERT_EQ(reducer.wait(last), MPC_RT_OK);
        EXPECT_EQ(rows, int64_t(part) * (part + 1) / 2 * round);
        EXPECT_EQ(most, allParts - 1);
      }
    });
}

TEST(PartGroup, APartThatStopsEndsTheWaitOfTheOthers) {
  for (unsigned broken = 0; broken != allParts; ++broken)
    runParts(1, [&](PartGroup &group, Reducer &reducer, unsigned part) {
      float number = 1;
      if (part == broken)
        return group.stop(MPC_RT_RESOURCE_EXHAUSTED, "no memory here");
      EXPECT_EQ(reducer.wait(reducer.start(floatSum, {{&number, 1}})), MPC_RT_RESOURCE_EXHAUSTED);
      EXPECT_STREQ(mpc_rt_last_error(), "no memory here");
    });
}

TEST(PartGroup, GoesOnAfterAFailureOfItsOwn) {
  Communicator communicator(std::make_unique<SelfTransport>());
  PartGroup group(communicator, 2);
  float a = 1, b = 2;
  (void)group.reducer(1).start(floatSum, {{&b, 1}});
  group.stop(MPC_RT_INTERNAL, "lost");
  group.restart();
  const uint64_t first = group.reducer(0).start(floatSum, {{&a, 1}});
  const uint64_t second = group.reducer(1).start(floatSum, {{&b, 1}});
  EXPECT_EQ(group.reducer(0).wait(first), MPC_RT_OK);
  EXPECT_EQ(group.reducer(1).wait(second), MPC_RT_OK);
  EXPECT_EQ(a, 3);
  EXPECT_EQ(b, 3);
}

// A failure between the start of a reduction and its wait: the communicator still has a job.
TEST(PartGroup, SettlesWhatWasSent) {
  Communicator communicator(std::make_unique<SelfTransport>());
  PartGroup group(communicator, 2);
  int64_t a = 1, b = 2;
  const Reduction before = {MPC_RT_INT64, MPC_RT_REDUCTION_SUM_BEFORE};
  (void)group.reducer(0).start(before, {{&a, 1}});
  (void)group.reducer(1).start(before, {{&b, 1}});
  group.stop(MPC_RT_INTERNAL, "lost");
  group.settle();
  group.restart();
  a = 1, b = 2; // the group may have changed them
  const uint64_t first = group.reducer(0).start(before, {{&a, 1}});
  const uint64_t second = group.reducer(1).start(before, {{&b, 1}});
  EXPECT_EQ(group.reducer(0).wait(first), MPC_RT_OK);
  EXPECT_EQ(group.reducer(1).wait(second), MPC_RT_OK);
  EXPECT_EQ(a, 0);
  EXPECT_EQ(b, 1);
}

TEST(PartGroup, ARankThatIsLostEndsAllParts) {
  runParts(4,
           [&](PartGroup &, Reducer &reducer, unsigned) {
             std::vector<float> numbers(100, 1);
             mpc_rt_status_t status = MPC_RT_OK;
             for (unsigned i = 0; i != 10 && status == MPC_RT_OK; ++i)
               status = reducer.wait(reducer.start(floatSum, {{numbers.data(), numbers.size()}}));
             EXPECT_EQ(status, MPC_RT_UNAVAILABLE);
             EXPECT_NE(std::string(mpc_rt_last_error()).find("fake: rank"), std::string::npos);
           },
           {2, 3, false});
}

TEST(PartGroup, DifferentArraysAreAnError) {
  runParts(1, [&](PartGroup &, Reducer &reducer, unsigned part) {
    std::vector<float> numbers(part == 3 ? 2 : 1);
    EXPECT_NE(reducer.wait(reducer.start(floatSum, {{numbers.data(), numbers.size()}})), MPC_RT_OK);
    EXPECT_NE(std::string(mpc_rt_last_error()).find("reduce different arrays"), std::string::npos);
  });
  // As many elements in as many arrays, otherwise divided; and another reduction.
  for (bool differsInKind : {false, true})
    runParts(1, [&](PartGroup &, Reducer &reducer, unsigned part) {
      std::vector<float> a(part == 3 && !differsInKind ? 3 : 1), b(4 - a.size());
      const Reduction own = {MPC_RT_FLOAT32, part == 3 && differsInKind ? MPC_RT_REDUCTION_MAX
                                                                        : MPC_RT_REDUCTION_SUM};
      EXPECT_NE(reducer.wait(reducer.start(own, {{a.data(), a.size()}, {b.data(), b.size()}})),
                MPC_RT_OK);
    });
}

TEST(PartRows, HalvesOfHalves) {
  for (int64_t rows : {0, 1, 3, 7, 8, 11, 24, 1000})
    for (uint32_t parts : {1u, 2u, 3u, 4u, 8u, 16u}) {
      int64_t next = 0;
      for (uint32_t part = 0; part != parts; ++part) {
        int64_t first = -1, count = -1;
        mpc_rt_part_rows(rows, part, parts, &first, &count);
        EXPECT_EQ(first, next);
        EXPECT_GE(count, rows / parts - (rows % parts != 0));
        EXPECT_LE(count, rows / parts + 1);
        next += count;
      }
      EXPECT_EQ(next, rows);
    }
}

// The parts of a rank's rows are the parts of all rows that are the rank's.
TEST(PartRows, AreTheSameOnAnyNumberOfRanks) {
  for (int64_t rows = 0; rows != 100; ++rows)
    for (uint32_t ranks : {1u, 2u, 4u, 8u})
      for (uint32_t part = 0; part != allParts; ++part) {
        int64_t first = 0, count = 0, rankFirst = 0, rankCount = 0, ownFirst = 0, ownCount = 0;
        const uint32_t own = allParts / ranks;
        mpc_rt_part_rows(rows, part, allParts, &first, &count);
        mpc_rt_part_rows(rows, part / own, ranks, &rankFirst, &rankCount);
        mpc_rt_part_rows(rankCount, part % own, own, &ownFirst, &ownCount);
        EXPECT_EQ(rankFirst + ownFirst, first);
        EXPECT_EQ(ownCount, count);
      }
}

} // namespace
