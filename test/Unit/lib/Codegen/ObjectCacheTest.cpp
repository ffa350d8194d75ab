// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The folder of compiled functions: what is kept, what is dropped, and what is no error.
#include "lib/Codegen/CPU/ObjectCache.h"
#include "llvm/Support/FileSystem.h"
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/time.h>

using namespace mpc;

namespace {
struct Cache : testing::Test {
  void SetUp() override { ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("cache", folder)); }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  std::unique_ptr<ObjectCache> open(uint64_t mostBytes = ObjectCache::kMostBytes,
                                    llvm::StringRef compiler = "one") {
    return llvm::cantFail(ObjectCache::open(folder, compiler, mostBytes));
  }
  /// The entries' paths.
  std::vector<std::string> entries() {
    std::vector<std::string> found;
    std::error_code error;
    for (llvm::sys::fs::directory_iterator file(folder, error), end; file != end && !error;
         file.increment(error))
      if (llvm::StringRef(file->path()).contains("/llvmcache-"))
        found.push_back(file->path());
    return found;
  }

  llvm::SmallString<128> folder;
};
} // namespace

TEST_F(Cache, KeepsObjectsByKeyAndCompiler) {
  const std::string object("\0\1object", 8);
  EXPECT_EQ(open()->find("key"), std::nullopt);
  open()->store("key", object);
  EXPECT_EQ(open()->find("key"), object);
  EXPECT_EQ(open()->find("other"), std::nullopt);
  EXPECT_EQ(open(ObjectCache::kMostBytes, "two")->find("key"), std::nullopt);
}

TEST_F(Cache, DropsDamagedEntries) {
  open()->store("key", "object");
  ASSERT_EQ(entries().size(), 1u);
  ASSERT_EQ(::truncate(entries()[0].c_str(), 80), 0);
  EXPECT_EQ(open()->find("key"), std::nullopt);
  EXPECT_TRUE(entries().empty());
}

TEST_F(Cache, RemovesWhatWasNotUsedForLongest) {
  auto cache = open(/*mostBytes=*/3 << 20);
  const std::string object(1 << 20, 'x');
  cache->store("old", object);
  const timeval past[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(::utimes(entries()[0].c_str(), past), 0);
  for (const char *key : {"a", "b", "c"})
    cache->store(key, object);
  cache->trim();
  EXPECT_EQ(entries().size(), 2u);
  EXPECT_EQ(cache->find("old"), std::nullopt);
}

TEST_F(Cache, UsesNoFolderOfOthers) {
  ASSERT_EQ(::chmod(folder.c_str(), 0770), 0);
  llvm::Expected<std::unique_ptr<ObjectCache>> cache = ObjectCache::open(folder, "one");
  ASSERT_FALSE(bool(cache));
  EXPECT_NE(llvm::toString(cache.takeError()).find("others own it or can write to it"),
            std::string::npos);
}

TEST_F(Cache, AFolderThatIsGoneIsNoError) {
  auto cache = open();
  llvm::sys::fs::remove_directories(folder); // nothing can be made in it any more
  cache->store("key", "object");
  EXPECT_TRUE(bool(cache->failure()));
  EXPECT_EQ(cache->find("key"), std::nullopt);
}
