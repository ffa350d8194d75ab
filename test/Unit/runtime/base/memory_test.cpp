// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of buffers, and which of its pages may be huge, as the kernel's list of mappings has it.
#include "runtime/base/memory.h"
#include "runtime/execution/variable_layout.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>

using namespace mpc::rt;

namespace {

// The flag of the mapping around `address`: "hg", "nh", or "" for neither.
std::string adviceAt(const void *address) {
  std::ifstream maps("/proc/self/smaps");
  bool isAround = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long long first = 0, end = 0;
    char dash = 0;
    if (std::sscanf(line.c_str(), "%llx%c%llx", &first, &dash, &end) == 3 && dash == '-')
      isAround = reinterpret_cast<uintptr_t>(address) >= first &&
                 reinterpret_cast<uintptr_t>(address) < end;
    if (!isAround || line.compare(0, 8, "VmFlags:") != 0)
      continue;
    std::istringstream flags(line.substr(8));
    for (std::string flag; flags >> flag;)
      if (flag == "hg" || flag == "nh")
        return flag;
    return "";
  }
  return "not mapped";
}

bool hasHugePages() { return std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled").good(); }

TEST(Buffers, AreAlignedAndZeroed) {
  for (uint64_t bytes : {1ull, 100ull, 1ull << 20, 5ull << 20}) {
    Buffer buffer;
    ASSERT_TRUE(buffer.allocate(bytes));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % bufferAlignment, 0u);
    EXPECT_EQ(buffer.size(), bytes);
    for (uint64_t i = 0; i < bytes; i += 997)
      ASSERT_EQ(buffer.data()[i], 0);
    std::memset(buffer.data(), 1, bytes);
  }
  Buffer empty, impossible;
  EXPECT_TRUE(empty.allocate(0));
  EXPECT_FALSE(impossible.allocate(UINT64_MAX - 5));
  EXPECT_FALSE(impossible.allocate(uint64_t{1} << 60));
}

TEST(Buffers, AskForHugePagesThatTheyFill) {
  if (!hasHugePages())
    GTEST_SKIP() << "the system has no transparent huge pages";
  Buffer buffer;
  ASSERT_TRUE(buffer.allocate(2 * hugePage + 5000));
  EXPECT_EQ(adviceAt(buffer.data()), "hg");
  EXPECT_EQ(adviceAt(buffer.data() + 2 * hugePage - 1), "hg");
  EXPECT_EQ(adviceAt(buffer.data() + 2 * hugePage), "nh");
  EXPECT_EQ(adviceAt(buffer.data() + 2 * hugePage + 4999), "nh");
  std::memset(buffer.data(), 1, buffer.size());
}

TEST(Buffers, TakeSmallPagesInTheirMiddle) {
  if (!hasHugePages())
    GTEST_SKIP() << "the system has no transparent huge pages";
  Buffer buffer;
  ASSERT_TRUE(buffer.allocate(3 * hugePage));
  buffer.useSmallPages(hugePage + 64, hugePage);
  EXPECT_EQ(adviceAt(buffer.data() + hugePage), "hg"); // holds what is in front as well
  EXPECT_EQ(adviceAt(buffer.data() + hugePage + 4096), "nh");
  EXPECT_EQ(adviceAt(buffer.data() + 2 * hugePage), "nh");
  EXPECT_EQ(adviceAt(buffer.data() + 2 * hugePage + 4096), "hg");
  buffer.useSmallPages(0, 0);
  EXPECT_EQ(adviceAt(buffer.data()), "hg");
}

TEST(VariableLayouts, HaveHugePagesWithinLargeVariables) {
  VariableLayout layout;
  layout.offsets = {3 * hugePage + 64, 0, 3 * hugePage};
  layout.sizes = {2 * hugePage, 3 * hugePage, 64};
  layout.bytes = 5 * hugePage + 64;
  std::vector<VariableLayout::Block> spans = hugeSpans(layout);
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].offset, 0u);
  EXPECT_EQ(spans[0].bytes, 3 * hugePage);
  EXPECT_EQ(spans[1].offset, 4 * hugePage);
  EXPECT_EQ(spans[1].bytes, hugePage);
  layout.offsets = {64};
  layout.sizes = {hugePage};
  EXPECT_TRUE(hugeSpans(layout).empty());
}

} // namespace
