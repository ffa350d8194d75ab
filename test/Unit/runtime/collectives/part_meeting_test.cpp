// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/collectives/part_meeting.h"

#include "runtime/base/status.h"

#include <gtest/gtest.h>
#include <stdexcept>
#include <thread>

using namespace mpc::rt;

namespace {

void onThreads(unsigned parts, const std::function<void(unsigned)> &body) {
  std::vector<std::thread> threads;
  for (unsigned part = 0; part != parts; ++part)
    threads.emplace_back([&, part] { body(part); });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(PartMeeting, DoesEachBlockOnceAndKnowsWhatAllBrought) {
  for (unsigned parts : {1u, 2u, 8u})
    for (unsigned workers : {1u, 2u, 3u}) {
      PartMeeting meeting(parts);
      meeting.setWorkers(workers);
      constexpr size_t blocks = 100, rounds = 20;
      std::vector<std::atomic<unsigned>> runs(blocks);
      std::atomic<unsigned> working{0}, most{0};
      onThreads(parts, [&](unsigned part) {
        for (unsigned round = 0; round != rounds; ++round) {
          const unsigned own = round * 100 + part;
          bool done = false;
          auto plan = [&](const PartMeeting::Brought &brought) -> PartMeeting::Work {
            for (unsigned other = 0; other != parts; ++other)
              EXPECT_EQ(*static_cast<const unsigned *>(brought[other]), round * 100 + other);
            return {blocks, [&](unsigned, size_t block) {
                      const unsigned now = ++working;
                      for (unsigned seen = most;
                           seen < now && !most.compare_exchange_weak(seen, now);) {
                      }
                      ++runs[block];
                      --working;
                    }};
          };
          EXPECT_EQ(meeting.meet(part, &own, plan, done), MPC_RT_OK);
          EXPECT_TRUE(done);
          // All of this round is there; the next one begins when all have come.
          for (const auto &times : runs)
            EXPECT_GE(times, round + 1);
        }
      });
      for (const auto &times : runs)
        EXPECT_EQ(times, rounds);
      EXPECT_LE(most, std::min(workers, parts));
    }
}

TEST(PartMeeting, SaysWhereNothingIsDoneTogether) {
  PartMeeting meeting(2);
  onThreads(2, [&](unsigned part) {
    bool done = true;
    EXPECT_EQ(meeting.meet(
                  part, nullptr, [](const auto &) { return PartMeeting::Work(); }, done),
              MPC_RT_OK);
    EXPECT_FALSE(done);
  });
}

TEST(PartMeeting, APartThatStopsEndsTheWaitOfTheOthers) {
  constexpr unsigned parts = 4;
  for (unsigned broken = 0; broken != parts; ++broken) {
    PartMeeting meeting(parts);
    onThreads(parts, [&](unsigned part) {
      if (part == broken)
        return meeting.stop(MPC_RT_RESOURCE_EXHAUSTED, "no memory here");
      bool done = true;
      EXPECT_EQ(meeting.meet(
                    part, nullptr, [](const auto &) { return PartMeeting::Work(); }, done),
                MPC_RT_RESOURCE_EXHAUSTED);
      EXPECT_STREQ(mpc_rt_last_error(), "no memory here");
      EXPECT_FALSE(done);
    });
    // The next run.
    meeting.restart();
    onThreads(parts, [&](unsigned part) {
      bool done = false;
      auto plan = [](const auto &) { return PartMeeting::Work{3, [](unsigned, size_t) {}}; };
      EXPECT_EQ(meeting.meet(part, nullptr, plan, done), MPC_RT_OK);
      EXPECT_TRUE(done);
    });
  }
}

TEST(PartMeeting, ABlockThatFailsIsAFailureOfAll) {
  PartMeeting meeting(4);
  onThreads(4, [&](unsigned part) {
    auto plan = [](const auto &) {
      return PartMeeting::Work{50, [](unsigned, size_t block) {
                                 if (block == 20)
                                   throw std::bad_alloc();
                               }};
    };
    bool done = true;
    EXPECT_EQ(meeting.meet(part, nullptr, plan, done), MPC_RT_RESOURCE_EXHAUSTED);
    EXPECT_FALSE(done);
  });
}

} // namespace
