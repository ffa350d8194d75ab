// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gathers that a run leaves under way.
#include "runtime/execution/rank_reductions.h"

#include "runtime/collectives/communicator.h"
#include "test/Unit/runtime/collectives/fake_job.h"

#include <future>
#include <gtest/gtest.h>

using namespace mpc::rt;
using namespace mpc::rt::test;

namespace {

constexpr size_t count = 4096;

// Each rank has written its part alone.
std::vector<float> partOf(unsigned rank, unsigned ranks) {
  std::vector<float> numbers(count, -1);
  const RankPart own = ownPart(rank, ranks, count);
  for (size_t i = own.begin; i != own.end; ++i)
    numbers[i] = float(i);
  return numbers;
}

bool isWhole(const std::vector<float> &numbers) {
  for (size_t i = 0; i != numbers.size(); ++i)
    if (numbers[i] != float(i))
      return false;
  return true;
}

mpc_rt_status_t gather(RankReductions &reductions, std::vector<float> &numbers) {
  mpc_rt_all_reduce_t descriptor = {};
  descriptor.struct_size = sizeof descriptor;
  descriptor.dtype = MPC_RT_FLOAT32;
  descriptor.flags = MPC_RT_ALL_REDUCE_GATHERS | MPC_RT_ALL_REDUCE_ENDS_BUCKET;
  descriptor.count = int64_t(numbers.size());
  return reductions.start(descriptor, numbers.data());
}

const mpc_rt_entry_info_t step = {}, prediction = {};
DeviceMemory memory; // that of the host

// The second rank sends nothing before the first one is in its next step.
TEST(RankReductions, TheSameEntryRunsWhileGathersGoOn) {
  std::promise<void> nextStep;
  std::shared_future<void> isInNextStep = nextStep.get_future().share();
  FakeJob(2).run([&](std::unique_ptr<Transport> transport) {
    const unsigned rank = transport->rank();
    Communicator communicator(std::move(transport));
    std::vector<float> numbers = partOf(rank, 2);
    RankReductions reductions(communicator, memory);
    EXPECT_EQ(reductions.enter(step), MPC_RT_OK);
    if (rank == 1)
      isInNextStep.wait();
    EXPECT_EQ(gather(reductions, numbers), MPC_RT_OK);
    EXPECT_EQ(reductions.enter(step), MPC_RT_OK);
    if (rank == 0)
      nextStep.set_value();
    EXPECT_EQ(reductions.wait(0), MPC_RT_OK);
    EXPECT_TRUE(isWhole(numbers));
  });
}

TEST(RankReductions, AnotherEntryWaitsForThem) {
  for (unsigned ranks : {2u, 3u, 4u})
    FakeJob(ranks, {~0u, 0, true}).run([&](std::unique_ptr<Transport> transport) {
      const unsigned rank = transport->rank();
      Communicator communicator(std::move(transport));
      std::vector<float> numbers = partOf(rank, ranks);
      RankReductions reductions(communicator, memory);
      EXPECT_EQ(reductions.enter(step), MPC_RT_OK);
      EXPECT_EQ(gather(reductions, numbers), MPC_RT_OK);
      EXPECT_EQ(reductions.enter(prediction), MPC_RT_OK);
      EXPECT_TRUE(isWhole(numbers)) << ranks << " ranks";
    });
}

TEST(RankReductions, TheirMemoryMayGoWhenTheyHaveGone) {
  FakeJob(2, {~0u, 0, true}).run([&](std::unique_ptr<Transport> transport) {
    const unsigned rank = transport->rank();
    Communicator communicator(std::move(transport));
    std::vector<float> numbers = partOf(rank, 2);
    {
      RankReductions reductions(communicator, memory);
      EXPECT_EQ(gather(reductions, numbers), MPC_RT_OK);
    }
    EXPECT_TRUE(isWhole(numbers));
  });
}

// A program may give back the communicator before its context: that ends what is under way.
TEST(RankReductions, TheCommunicatorMayGoFirst) {
  FakeJob(2, {~0u, 0, true}).run([&](std::unique_ptr<Transport> transport) {
    const unsigned rank = transport->rank();
    auto communicator = std::make_unique<Communicator>(std::move(transport));
    std::vector<float> numbers = partOf(rank, 2);
    RankReductions reductions(*communicator, memory);
    EXPECT_EQ(gather(reductions, numbers), MPC_RT_OK);
    communicator.reset();
    EXPECT_TRUE(isWhole(numbers));
  });
}

TEST(RankReductions, ALostRankIsToldBeforeTheNextEntry) {
  FakeJob(2, {/*rank=*/1, /*afterCalls=*/0}).run([&](std::unique_ptr<Transport> transport) {
    const unsigned rank = transport->rank();
    Communicator communicator(std::move(transport));
    std::vector<float> numbers = partOf(rank, 2);
    RankReductions reductions(communicator, memory);
    EXPECT_EQ(reductions.enter(step), MPC_RT_OK);
    EXPECT_EQ(gather(reductions, numbers), MPC_RT_OK);
    EXPECT_EQ(reductions.enter(prediction), MPC_RT_UNAVAILABLE);
  });
}

// The first part of a batch may have no rows, and the sum of the others.
TEST(RankReductions, OfAContextWithoutRowsASumOfPartsStays) {
  Communicator communicator(std::make_unique<SelfTransport>());
  RankReductions reductions(communicator, memory);
  reductions.mute(true);
  mpc_rt_all_reduce_t descriptor = {};
  descriptor.struct_size = sizeof descriptor;
  descriptor.dtype = MPC_RT_FLOAT32;
  descriptor.reduction = MPC_RT_REDUCTION_SUM;
  descriptor.flags = MPC_RT_ALL_REDUCE_ENDS_BUCKET;
  descriptor.count = 3;
  std::vector<float> numbers(3, 7);
  reductions.keepSum(numbers.data());
  for (float expected : {7.0f, 0.0f}) { // once
    EXPECT_EQ(reductions.start(descriptor, numbers.data()), MPC_RT_OK);
    EXPECT_EQ(reductions.wait(0), MPC_RT_OK);
    EXPECT_EQ(numbers, std::vector<float>(3, expected));
  }
}

} // namespace
