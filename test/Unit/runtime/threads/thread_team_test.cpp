// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/threads/thread_team.h"

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace mpc::rt {
namespace {

// Threads of one loop meet before they compute, so that each of them has come.
class Meeting {
public:
  explicit Meeting(unsigned expected) : expected(expected) {}
  // False: the others did not come in time.
  bool wait() {
    begun++;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (begun < expected && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
    return begun >= expected;
  }

private:
  const unsigned expected;
  std::atomic<unsigned> begun{0};
};

TEST(ThreadTeam, ShareOutVisitsEachIterationOnceInSlotsOfItsOwn) {
  for (unsigned threads : {1u, 2u, 5u}) {
    ThreadTeam team(threads);
    for (int64_t count : {0, 1, 3, 64, 1000})
      for (int64_t slots : {1, 2, 5}) {
        std::vector<std::atomic<int>> visits(static_cast<size_t>(count)), users(5);
        std::atomic<bool> isShared{false};
        team.shareOut(count, slots, [&](Turns &turns) {
          if (turns.slot() >= static_cast<size_t>(std::max<int64_t>(slots, 1)) ||
              users[turns.slot()]++ > 0)
            isShared = true;
          for (int64_t i; turns.take(i);)
            visits[static_cast<size_t>(i)]++;
          users[turns.slot()]--;
        });
        for (auto &each : visits)
          ASSERT_EQ(each, 1);
        EXPECT_FALSE(isShared) << threads << " threads, " << slots << " slots";
      }
  }
}

// The caller is held up with its first iteration until the other thread has done all that is left.
TEST(ThreadTeam, ThreadsTakeWhatASlowOneLeaves) {
  constexpr int64_t count = 100;
  ThreadTeam team(2);
  Meeting meeting(2);
  std::atomic<int64_t> done{0}, ofCaller{0};
  team.shareOut(count, 2, [&](Turns &turns) {
    int64_t i;
    const bool hasFirst = turns.take(i);
    ASSERT_TRUE(meeting.wait());
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (turns.slot() == 0 && done < count - 1 && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
    for (bool has = hasFirst; has; has = turns.take(i)) {
      done++;
      if (turns.slot() == 0)
        ofCaller++;
    }
  });
  EXPECT_EQ(done, count);
  EXPECT_EQ(ofCaller, 1);
}

TEST(ThreadTeam, NestedLoopsRunInline) {
  ThreadTeam team(3);
  std::atomic<int64_t> visits{0};
  std::atomic<bool> isElsewhere{false};
  team.shareOut(6, 3, [&](Turns &turns) {
    const auto outer = std::this_thread::get_id();
    for (int64_t i; turns.take(i);)
      team.shareOut(4, 3, [&](Turns &inner) {
        isElsewhere = isElsewhere || std::this_thread::get_id() != outer || inner.slot() != 0;
        for (int64_t j; inner.take(j);)
          visits++;
      });
  });
  EXPECT_EQ(visits, 24);
  EXPECT_FALSE(isElsewhere);
}

} // namespace
} // namespace mpc::rt
