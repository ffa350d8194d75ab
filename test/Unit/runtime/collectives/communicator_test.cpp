// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/collectives/communicator.h"

#include "runtime/collectives/combine.h"
#include "test/Unit/runtime/collectives/fake_job.h"

#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <sstream>

using namespace mpc::rt;
using namespace mpc::rt::test;

namespace {

constexpr Reduction floatSum = {MPC_RT_FLOAT32, MPC_RT_REDUCTION_SUM};

TEST(Communicator, ReductionsGoOnWhileOthersAreStarted) {
  for (unsigned ranks : {1u, 2u, 3u, 4u})
    FakeJob(ranks, {~0u, 0, true}).run([&](std::unique_ptr<Transport> transport) {
      Communicator communicator(std::move(transport));
      std::vector<std::vector<float>> data;
      std::vector<uint64_t> started;
      for (size_t i = 0; i != 20; ++i)
        data.emplace_back(i * 700 + 1, float(communicator.rank() + i));
      for (std::vector<float> &numbers : data)
        started.push_back(communicator.start(floatSum, {{numbers.data(), numbers.size()}}));
      // The last one first: all before it are over then, too.
      for (size_t i = data.size(); i-- != 0;) {
        ASSERT_EQ(communicator.wait(started[i]), MPC_RT_OK) << mpc_rt_last_error();
        const float expected = float(ranks * (ranks - 1) / 2 + ranks * i);
        EXPECT_EQ(data[i].front(), expected);
        EXPECT_EQ(data[i].back(), expected);
      }
      uint32_t root = communicator.rank();
      EXPECT_EQ(communicator.broadcast(&root, sizeof root, ranks - 1), MPC_RT_OK);
      EXPECT_EQ(root, ranks - 1);
    });
}

TEST(Communicator, ArraysOfABucketGoTogether) {
  FakeJob(4).run([&](std::unique_ptr<Transport> transport) {
    Communicator communicator(std::move(transport));
    std::vector<float> a(3, float(communicator.rank())), b(10000, 1), empty;
    const uint64_t number =
        communicator.start(floatSum, {{a.data(), 3}, {empty.data(), 0}, {b.data(), b.size()}});
    EXPECT_EQ(communicator.wait(number), MPC_RT_OK);
    EXPECT_EQ(a, std::vector<float>(3, 6));
    EXPECT_EQ(b, std::vector<float>(10000, 4));
  });
}

// ---- Gradients in bfloat16 ----

Reduction inBFloat16(Share share = Share::whole) {
  Reduction reduction = floatSum;
  reduction.share = share;
  reduction.inBFloat16 = true;
  return reduction;
}

std::vector<float> gradientOf(unsigned rank, size_t count) {
  std::mt19937 random(rank + 5);
  std::normal_distribution<float> normal(0.1f, 1);
  std::vector<float> numbers(count);
  for (float &number : numbers)
    number = normal(random);
  return numbers;
}

float bfloat16(float number) {
  keepBFloat16(&number, 1);
  return number;
}

// The tree over ranks, each node rounded.
float treeOf(const std::vector<std::vector<float>> &all, size_t i, size_t begin, size_t end) {
  if (end - begin == 1)
    return bfloat16(all[begin][i]);
  const size_t middle = begin + (end - begin) / 2;
  return bfloat16(treeOf(all, i, begin, middle) + treeOf(all, i, middle, end));
}

TEST(InBFloat16, EveryRankGetsTheRoundedTree) {
  for (unsigned ranks : {2u, 4u, 8u})
    for (size_t count : {1, 100, 30001}) {
      std::vector<std::vector<float>> all;
      for (unsigned rank = 0; rank != ranks; ++rank)
        all.push_back(gradientOf(rank, count));
      FakeJob(ranks, {~0u, 0, true}).run([&](std::unique_ptr<Transport> transport) {
        Communicator communicator(std::move(transport));
        std::vector<float> own = all[communicator.rank()], other = own, small(3, 1.00390625f);
        const uint64_t number = communicator.start(
            inBFloat16(), {{own.data(), own.size()}, {small.data(), small.size()}});
        ASSERT_EQ(communicator.wait(number), MPC_RT_OK) << mpc_rt_last_error();
        EXPECT_EQ(small, std::vector<float>(3, float(ranks))); // 1 + 2^-8 goes as 1
        for (size_t i = 0; i != count; ++i)
          ASSERT_EQ(own[i], treeOf(all, i, 0, ranks)) << ranks << " ranks, " << i;
        // The part that a rank owns has the same bytes.
        ASSERT_EQ(communicator.wait(communicator.start(inBFloat16(Share::ownPart),
                                                       {{other.data(), other.size()}})),
                  MPC_RT_OK);
        const RankPart part = ownPart(communicator.rank(), ranks, count);
        for (size_t i = part.begin; i != part.end; ++i)
          ASSERT_EQ(other[i], own[i]);
      });
    }
}

// The cost that mpcc states.
TEST(InBFloat16, TheErrorIsWithinItsBoundOnAnyNumberOfRanks) {
  constexpr size_t count = 5000;
  for (unsigned ranks : {2u, 3u, 5u, 8u}) {
    std::vector<std::vector<float>> all;
    for (unsigned rank = 0; rank != ranks; ++rank)
      all.push_back(gradientOf(rank, count));
    std::vector<std::vector<float>> results(ranks);
    FakeJob(ranks).run([&](std::unique_ptr<Transport> transport) {
      Communicator communicator(std::move(transport));
      std::vector<float> own = all[communicator.rank()];
      ASSERT_EQ(communicator.allReduce(inBFloat16(), own.data(), count), MPC_RT_OK);
      results[communicator.rank()] = own;
    });
    for (const std::vector<float> &result : results)
      EXPECT_EQ(result, results[0]);
    for (size_t i = 0; i != count; ++i) {
      double sum = 0, magnitudes = 0;
      for (const std::vector<float> &one : all) {
        sum += one[i];
        magnitudes += std::fabs(one[i]);
      }
      EXPECT_LE(std::fabs(results[0][i] - sum),
                (std::ceil(std::log2(ranks)) + 1) / 256 * magnitudes * 1.01);
    }
  }
}

TEST(InBFloat16, HalfOfTheBytesGo) {
  FakeJob(2).run([&](std::unique_ptr<Transport> transport) {
    Communicator communicator(std::move(transport));
    communicator.log().open();
    std::vector<float> own = gradientOf(communicator.rank(), 1000);
    ASSERT_EQ(communicator.allReduce(inBFloat16(), own.data(), own.size()), MPC_RT_OK);
    std::istringstream lines(communicator.log().lines());
    std::string kind;
    int64_t begin = 0, end = 0, number = 0, bytes = 0, error = 0;
    while (lines >> kind >> begin >> end >> number) {
      bytes += kind == "message" ? number : 0;
      error = kind == "rounding" ? number : error;
    }
    EXPECT_EQ(bytes, 2000);
    EXPECT_GT(error, 1000000); // billionths
    EXPECT_LT(error, 2500000);
  });
}

TEST(InBFloat16, InfinitiesAndNaNsReachEveryRankAndOneRankKeepsItsNumbers) {
  FakeJob(4).run([&](std::unique_ptr<Transport> transport) {
    Communicator communicator(std::move(transport));
    const bool isOne = communicator.rank() == 2;
    float own[] = {isOne ? INFINITY : 1, isOne ? NAN : 1, isOne ? -INFINITY : INFINITY};
    ASSERT_EQ(communicator.allReduce(inBFloat16(), own, 3), MPC_RT_OK);
    EXPECT_EQ(own[0], INFINITY);
    EXPECT_TRUE(std::isnan(own[1]) && std::isnan(own[2]));
  });
  Communicator alone(std::make_unique<SelfTransport>());
  float number = 1.001f;
  ASSERT_EQ(alone.allReduce(inBFloat16(), &number, 1), MPC_RT_OK);
  EXPECT_EQ(number, 1.001f);
}

// A transport like an MPI that may be called by one thread only.
class OneThread : public Transport {
public:
  explicit OneThread(std::unique_ptr<Transport> inner) : inner(std::move(inner)) {}
  unsigned rank() const override { return inner->rank(); }
  unsigned size() const override { return inner->size(); }
  const char *name() const override { return inner->name(); }
  void endJob(int code) override { inner->endJob(code); }
  bool mustStayOnOneThread() const override { return true; }
  mpc_rt_status_t exchange(const Exchange &call) override {
    EXPECT_EQ(std::this_thread::get_id(), owner);
    return inner->exchange(call);
  }

private:
  std::unique_ptr<Transport> inner;
  std::thread::id owner = std::this_thread::get_id();
};

TEST(Communicator, StaysOnOneThreadWhereItMust) {
  FakeJob(2).run([&](std::unique_ptr<Transport> transport) {
    Communicator communicator(std::make_unique<OneThread>(std::move(transport)));
    float a = 1, b = 2;
    (void)communicator.start(floatSum, {{&a, 1}});
    const uint64_t second = communicator.start(floatSum, {{&b, 1}});
    EXPECT_EQ(communicator.wait(second), MPC_RT_OK);
    EXPECT_EQ(a, 2);
    EXPECT_EQ(b, 4);
  });
}

TEST(Communicator, AFailureIsReportedByEveryRankAndForEver) {
  for (unsigned broken = 0; broken != 4; ++broken)
    FakeJob(4, {broken, 3, false}).run([&](std::unique_ptr<Transport> transport) {
      Communicator communicator(std::move(transport));
      std::vector<float> numbers(10000, 1);
      mpc_rt_status_t status = MPC_RT_OK;
      for (unsigned i = 0; i != 10 && status == MPC_RT_OK; ++i)
        status = communicator.allReduce(floatSum, numbers.data(), numbers.size());
      EXPECT_EQ(status, MPC_RT_UNAVAILABLE);
      EXPECT_NE(std::string(mpc_rt_last_error()).find("fake: rank"), std::string::npos);
      EXPECT_EQ(communicator.allReduce(floatSum, numbers.data(), 1), MPC_RT_UNAVAILABLE);
      EXPECT_EQ(communicator.broadcast(numbers.data(), 1, 0), MPC_RT_UNAVAILABLE);
    });
}

TEST(CommunicatorApi, OneRankWithoutALauncher) {
  mpc_rt_communicator_t *communicator = nullptr;
  ASSERT_EQ(mpc_rt_communicator_create(nullptr, &communicator), MPC_RT_OK) << mpc_rt_last_error();
  EXPECT_EQ(mpc_rt_communicator_rank(communicator), 0u);
  EXPECT_EQ(mpc_rt_communicator_size(communicator), 1u);
  EXPECT_STREQ(mpc_rt_communicator_driver(communicator), "self");
  float number = 7;
  EXPECT_EQ(mpc_rt_communicator_all_reduce(communicator, MPC_RT_FLOAT32, MPC_RT_REDUCTION_SUM,
                                           &number, 1),
            MPC_RT_OK);
  EXPECT_EQ(number, 7);
  EXPECT_EQ(mpc_rt_communicator_all_reduce(communicator, MPC_RT_FLOAT16, MPC_RT_REDUCTION_SUM,
                                           &number, 1),
            MPC_RT_INVALID_ARGUMENT);
  EXPECT_EQ(mpc_rt_communicator_broadcast(communicator, &number, 4, 1), MPC_RT_INVALID_ARGUMENT);
  EXPECT_EQ(mpc_rt_communicator_barrier(communicator), MPC_RT_OK);
  mpc_rt_communicator_abort(communicator, 3);
  mpc_rt_communicator_release(communicator);
  mpc_rt_communicator_release(nullptr);
}

TEST(CommunicatorApi, NamesWhatThereIs) {
  mpc_rt_communicator_options_t options;
  mpc_rt_communicator_options_init(&options);
  mpc_rt_communicator_t *communicator = nullptr;
  options.driver = "carrier pigeons";
  EXPECT_EQ(mpc_rt_communicator_create(&options, &communicator), MPC_RT_INVALID_ARGUMENT);
  EXPECT_STREQ(mpc_rt_last_error(),
               "there are no collectives \"carrier pigeons\"; \"mpi\", \"nccl\" and \"self\" are");
  options.struct_size = 4;
  EXPECT_EQ(mpc_rt_communicator_create(&options, &communicator), MPC_RT_INVALID_ARGUMENT);
  options.struct_size = sizeof options;
  options.driver = "mpi";
  setenv("MPC_MPI_LIBRARY", "/nowhere/libmpi.so", 1);
  EXPECT_EQ(mpc_rt_communicator_create(&options, &communicator), MPC_RT_UNAVAILABLE);
  EXPECT_NE(std::string(mpc_rt_last_error()).find("/nowhere/libmpi.so"), std::string::npos);
  unsetenv("MPC_MPI_LIBRARY");
  EXPECT_EQ(mpc_rt_communicator_create(nullptr, nullptr), MPC_RT_INVALID_ARGUMENT);
}

} // namespace
