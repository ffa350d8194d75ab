// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files that appear whole or not at all.
#include "runtime/data/atomic_file.h"

#include "test/Unit/runtime/data/temporary_folder.h"
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mpc::data;

static size_t filesIn(const std::string &folder) {
  size_t count = 0;
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    count += entry.exists();
  return count;
}

TEST(AtomicFile, AppearsWithCommit) {
  TemporaryFolder folder;
  AtomicFile file(folder.path("a"));
  ASSERT_TRUE(file.open());
  file.write("one");
  EXPECT_FALSE(std::filesystem::exists(folder.path("a")));
  ASSERT_TRUE(file.commit());
  EXPECT_EQ(TemporaryFolder::read(folder.path("a")), "one");
  EXPECT_EQ(filesIn(folder.folder()), 1u);
}

// Opening one to look at it waits for a reader, which then sees an end.
TEST(AtomicFile, PipesAreCheckedWithoutOpeningThem) {
  TemporaryFolder folder;
  ASSERT_EQ(mkfifo(folder.path("pipe").c_str(), 0600), 0);
  alarm(60);
  EXPECT_TRUE(checkWritable(folder.path("pipe")));
  alarm(0);
  EXPECT_TRUE(checkWritable("/dev/null"));
  EXPECT_FALSE(checkWritable(folder.folder()));
}

TEST(AtomicFile, WithoutCommitTheOldContentStays) {
  TemporaryFolder folder;
  folder.write("a", "old");
  {
    AtomicFile file(folder.path("a"));
    ASSERT_TRUE(file.open());
    file.write(std::string(3000000, 'x'));
  }
  EXPECT_EQ(TemporaryFolder::read(folder.path("a")), "old");
  EXPECT_EQ(filesIn(folder.folder()), 1u);
}

TEST(AtomicFile, AProcessThatEndsLeavesNothing) {
  TemporaryFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    AtomicFile file(folder.path("a"));
    const bool opened = static_cast<bool>(file.open());
    file.write(std::string(3000000, 'x'));
    _exit(opened ? 0 : 1); // no destructor runs
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(filesIn(folder.folder()), 0u);
}

TEST(AtomicFile, WhatAKilledWriterLeftIsRemovedAndALivingOnesStays) {
  TemporaryFolder folder;
  const std::string path = folder.path("a"), dead = temporaryFileName(path, 1),
                    living = temporaryFileName(path, 0);
  for (const std::string &name : {dead, living})
    std::ofstream(name) << "half";
  const int lock = open(living.c_str(), O_RDONLY);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  ASSERT_TRUE(writeFileAtomically(path, "new"));
  EXPECT_EQ(TemporaryFolder::read(path), "new");
  EXPECT_FALSE(std::filesystem::exists(dead));
  EXPECT_TRUE(std::filesystem::exists(living));
  close(lock);
}

// Each has the longest name that a folder takes.
TEST(AtomicFile, TwoWritersOfAFileDoNotMeet) {
  TemporaryFolder folder;
  const std::string path = folder.path(std::string(255, 'n'));
  AtomicFile first(path), second(path);
  ASSERT_TRUE(first.open());
  ASSERT_TRUE(second.open());
  first.write("one");
  second.write("two");
  ASSERT_TRUE(first.commit());
  EXPECT_EQ(TemporaryFolder::read(path), "one");
  ASSERT_TRUE(second.commit());
  EXPECT_EQ(TemporaryFolder::read(path), "two");
  EXPECT_EQ(filesIn(folder.folder()), 1u);
}

TEST(AtomicFile, ReplacesTheTargetOfALink) {
  TemporaryFolder folder;
  folder.write("a", "old");
  ASSERT_EQ(symlink("a", folder.path("link").c_str()), 0);
  ASSERT_TRUE(writeFileAtomically(folder.path("link"), "new"));
  EXPECT_EQ(TemporaryFolder::read(folder.path("a")), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("link")));
}

TEST(AtomicFile, MakesTheTargetOfALink) {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("there"));
  ASSERT_EQ(symlink("there/second", folder.path("link").c_str()), 0);
  ASSERT_EQ(symlink(folder.path("there/a").c_str(), folder.path("there/second").c_str()), 0);
  ASSERT_TRUE(writeFileAtomically(folder.path("link"), "new"));
  EXPECT_EQ(TemporaryFolder::read(folder.path("there/a")), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("link")));
  ASSERT_EQ(symlink("loop", folder.path("loop").c_str()), 0);
  Status status = writeFileAtomically(folder.path("loop"), "x");
  ASSERT_FALSE(status);
  EXPECT_NE(status.failure().messages[0].find("Too many levels"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("loop")));
}

TEST(AtomicFile, FolderAndMissingFolderAreErrorsWithTheirPath) {
  TemporaryFolder folder;
  Status status = writeFileAtomically(folder.folder(), "x");
  ASSERT_FALSE(status);
  EXPECT_NE(status.failure().messages[0].find(folder.folder() + ": cannot write"),
            std::string::npos);
  EXPECT_FALSE(writeFileAtomically(folder.path("no/such"), "x"));
  EXPECT_FALSE(checkWritable(folder.path("no/such")));
  EXPECT_TRUE(checkWritable(folder.path("such")));
  EXPECT_EQ(filesIn(folder.folder()), 0u);
}

TEST(AtomicFile, FullDeviceIsReported) {
  if (access("/dev/full", W_OK) != 0)
    GTEST_SKIP() << "no /dev/full";
  Status status = writeFileAtomically("/dev/full", "x");
  ASSERT_FALSE(status);
  EXPECT_NE(status.failure().messages[0].find("No space left on device"), std::string::npos);
}
