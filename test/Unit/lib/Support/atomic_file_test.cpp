// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files that are replaced together. test/Long/fault_injection.py lets each of the system's calls
// fail.
#include "mpc/Support/AtomicFile.h"
#include "test/Unit/runtime/data/temporary_folder.h"
#include "gtest/gtest.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

using mpc::AtomicFiles;

static std::vector<std::string> namesIn(const std::string &folder) {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

static bool writeBoth(const std::string &folder) {
  AtomicFiles files(folder);
  llvm::Error error = files.add("a", "new");
  if (!error)
    error = files.add("b", "new");
  if (!error)
    error = files.commit();
  const bool failed = static_cast<bool>(error);
  llvm::consumeError(std::move(error));
  return !failed;
}

TEST(AtomicFiles, AppearTogether) {
  TemporaryFolder folder;
  folder.write("a", "old");
  ASSERT_TRUE(writeBoth(folder.folder()));
  EXPECT_EQ(TemporaryFolder::read(folder.path("a")), "new");
  EXPECT_EQ(namesIn(folder.folder()), (std::vector<std::string>{"a", "b"}));
}

TEST(AtomicFiles, WhatAKilledWriterLeftIsRemovedAndALivingOnesStays) {
  TemporaryFolder folder;
  folder.write(".a.tmp0", "living");
  folder.write(".a.tmp1", "dead");
  folder.write(".b.tmp0", "dead");
  const int lock = open(folder.path(".a.tmp0").c_str(), O_RDONLY);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  ASSERT_TRUE(writeBoth(folder.folder()));
  EXPECT_EQ(namesIn(folder.folder()), (std::vector<std::string>{".a.tmp0", "a", "b"}));
  close(lock);
}

TEST(AtomicFiles, OneThatCannotBeReplacedLeavesAllAsTheyWere) {
  TemporaryFolder folder;
  folder.write("a", "old");
  std::filesystem::create_directory(folder.path("b"));
  ASSERT_FALSE(writeBoth(folder.folder()));
  EXPECT_EQ(TemporaryFolder::read(folder.path("a")), "old");
  EXPECT_EQ(namesIn(folder.folder()), (std::vector<std::string>{"a", "b"}));
}

TEST(AtomicFiles, NamesMayBeAsLongAsTheyCan) {
  TemporaryFolder folder;
  AtomicFiles files(folder.folder());
  const std::string name(255, 'n');
  ASSERT_FALSE(static_cast<bool>(files.add(name, "new")));
  ASSERT_FALSE(static_cast<bool>(files.commit()));
  EXPECT_EQ(namesIn(folder.folder()), (std::vector<std::string>{name}));
}
