// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conformance of parallel_for: every iteration once, a fixed split, flushed denormals everywhere,
// nothing left behind in the worker threads.
#include "runtime/base/thread_order.h"
#include "runtime/cts/driver_fixture.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>
#include <xmmintrin.h>

namespace mpc::rt::cts {
namespace {

struct Record {
  std::vector<std::atomic<int>> visits;
  std::mutex mutex;
  std::set<std::pair<int64_t, int64_t>> chunks;
  std::set<std::thread::id> threads;
  std::set<unsigned> controlWords;
  explicit Record(size_t count) : visits(count) {}
};

void record(void *const *arguments, int64_t begin, int64_t end) {
  auto &record = *static_cast<Record *>(arguments[0]);
  for (int64_t i = begin; i < end; ++i)
    record.visits[static_cast<size_t>(i)]++;
  std::lock_guard<std::mutex> lock(record.mutex);
  record.chunks.insert({begin, end});
  record.threads.insert(std::this_thread::get_id());
  record.controlWords.insert(_mm_getcsr() & 0xffc0u);
}

class ParallelFor : public DriverTest {
protected:
  void SetUp() override {
    DriverTest::SetUp();
    // A device's kernels are no functions of the host: FakeCuda/conformance launches those.
    if (driver->ownsMemory())
      GTEST_SKIP();
  }
  void run(Record &record, int64_t count, int64_t grain) {
    void *arguments[] = {&record};
    ASSERT_EQ(driver->begin(WeightUse::updated), MPC_RT_OK);
    driver->parallelFor(cts::record, arguments, count, grain);
    driver->end();
  }
};

INSTANTIATE_TEST_SUITE_P(Every, ParallelFor, ::testing::ValuesIn(everyDriver()), driverName);

TEST_P(ParallelFor, OfAllVisitsEachIterationOnce) {
  Record seen(1001), others(64), single(1), none(0);
  void *arguments[][1] = {{&seen}, {&others}, {&single}, {&none}};
  for (int64_t grain : {0, 1, 3, 64, 5000}) {
    const mpc_rt_launch_t launches[] = {{cts::record, arguments[0], 1001, grain},
                                        {cts::record, arguments[1], 64, 8},
                                        {cts::record, arguments[2], 1, 1},
                                        {cts::record, arguments[3], 0, 1}};
    for (Record *record : {&seen, &others, &single})
      for (auto &visits : record->visits)
        visits = 0;
    ASSERT_EQ(driver->begin(WeightUse::updated), MPC_RT_OK);
    driver->parallelForAll(launches, 4);
    driver->end();
    if (!driver->computes())
      continue;
    for (Record *record : {&seen, &others, &single})
      for (auto &visits : record->visits)
        ASSERT_EQ(visits, 1) << "grain " << grain;
    EXPECT_TRUE(none.chunks.empty());
  }
}

TEST_P(ParallelFor, VisitsEachIterationOnce) {
  for (int64_t count : {0, 1, 2, 3, 7, 64, 1001}) {
    for (int64_t grain : {0, 1, 3, 64, 5000}) {
      Record seen(static_cast<size_t>(count));
      run(seen, count, grain);
      for (auto &visit : seen.visits)
        ASSERT_EQ(visit, driver->computes() ? 1 : 0) << count << " by " << grain;
      // As many for each thread, and none smaller than a grain, but the last of few.
      const int64_t least = std::max<int64_t>(grain, 1), threads = GetParam().threads;
      const int64_t most = (count + least - 1) / least;
      const auto chunks = static_cast<int64_t>(seen.chunks.size());
      if (!driver->computes())
        EXPECT_EQ(chunks, 0);
      else if (most < threads)
        EXPECT_EQ(chunks, most);
      else
        EXPECT_EQ(chunks % threads, 0) << count << " by " << grain;
      EXPECT_LE(chunks, most);
    }
  }
}

TEST_P(ParallelFor, SplitsTheSameWayEachTime) {
  Record first(1000), second(1000);
  run(first, 1000, 10);
  run(second, 1000, 10);
  EXPECT_EQ(first.chunks, second.chunks);
}

TEST_P(ParallelFor, IgnoresNegativeCounts) {
  Record seen(1);
  run(seen, -3, 1);
  EXPECT_TRUE(seen.chunks.empty());
}

TEST_P(ParallelFor, UsesItsThreadsAndFlushesDenormalsInAll) {
  if (!driver->computes())
    return; // does not call the kernel
  // Chunks that nobody took are the caller's: each one waits until all have begun.
  struct Meeting {
    Record seen{1000};
    std::atomic<unsigned> begun{0};
    unsigned expected;
  } meeting;
  meeting.expected = GetParam().threads;
  void *arguments[] = {&meeting};
  ASSERT_EQ(driver->begin(WeightUse::updated), MPC_RT_OK);
  driver->parallelFor(
      [](void *const *outer, int64_t begin, int64_t end) {
        auto &meeting = *static_cast<Meeting *>(outer[0]);
        meeting.begun++;
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (meeting.begun < meeting.expected && std::chrono::steady_clock::now() < deadline)
          std::this_thread::yield();
        void *arguments[] = {&meeting.seen};
        record(arguments, begin, end);
      },
      arguments, 1000, 1);
  driver->end();
  const Record &seen = meeting.seen;
  EXPECT_EQ(seen.threads.size(), GetParam().threads);
  EXPECT_EQ(seen.controlWords, std::set<unsigned>{0x9fc0u});
}

TEST_P(ParallelFor, StartsNoThreadsButItsWorkers) {
  auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  };
  const auto before = threads();
  Record seen(1000);
  run(seen, 1000, 1);
  EXPECT_LE(threads(), before + GetParam().threads - 1);
}

// The plain OpenMP region of a host program must find its own control word in the workers.
extern "C" void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags);

TEST_P(ParallelFor, LeavesTheWorkersAsTheyWere) {
  Record during(1000);
  run(during, 1000, 1);
  std::pair<std::mutex, std::set<unsigned>> after;
  orderBefore(&after);
  GOMP_parallel(
      [](void *data) {
        Forked forked(data);
        auto &found = *static_cast<decltype(after) *>(data);
        std::lock_guard<std::mutex> lock(found.first);
        found.second.insert(_mm_getcsr() & 0xffc0u);
      },
      &after, GetParam().threads, 0);
  orderAfter(&after);
  EXPECT_EQ(after.second, std::set<unsigned>{_mm_getcsr() & 0xffc0u});
}

struct Nested {
  Driver *driver;
  Record *inner;
};

TEST_P(ParallelFor, RunsNestedLoopsInline) {
  Record inner(2000);
  Nested nested{driver.get(), &inner};
  void *arguments[] = {&nested};
  ASSERT_EQ(driver->begin(WeightUse::updated), MPC_RT_OK);
  driver->parallelFor(
      [](void *const *outer, int64_t begin, int64_t end) {
        auto &nested = *static_cast<Nested *>(outer[0]);
        void *arguments[] = {nested.inner};
        for (int64_t i = begin; i < end; ++i)
          nested.driver->parallelFor(record, arguments, 1000, 1);
      },
      arguments, 2, 1);
  driver->end();
  for (size_t i = 0; i < 1000; ++i)
    ASSERT_EQ(inner.visits[i], driver->computes() ? 2 : 0);
}

TEST(OpenMP, OneLibraryInTheProcess) {
  std::ifstream maps("/proc/self/maps");
  std::set<std::string> libraries;
  for (std::string line; std::getline(maps, line);) {
    auto name = line.substr(line.find_last_of('/') + 1);
    for (const char *known : {"libgomp", "libomp", "libiomp"})
      if (line.find('/') != std::string::npos && name.rfind(known, 0) == 0)
        libraries.insert(name);
  }
  EXPECT_EQ(libraries.size(), 1u);
}

} // namespace
} // namespace mpc::rt::cts
