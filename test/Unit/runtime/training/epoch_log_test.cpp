// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Logs on a full disk: a warning, once, and nothing is lost when there is room again.
#include "runtime/training/epoch_log.h"
#include "test/Unit/runtime/data/temporary_folder.h"

#include <csignal>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace mpc::training;

namespace {
/// While one exists, no file grows beyond `bytes`.
class FullDisk {
public:
  explicit FullDisk(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit limit = {bytes, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before); }
  FullDisk(const FullDisk &) = delete;

private:
  rlimit before;
};

struct Warnings {
  std::vector<std::string> texts;
  std::function<void(const std::string &)> take() {
    return [this](const std::string &text) { texts.push_back(text); };
  }
};

std::vector<Logs> historyOf(int epochs) {
  return std::vector<Logs>(static_cast<size_t>(epochs), Logs{{"loss", 2.5}, {"val_loss", 3}});
}

/// The only event file of a folder.
std::string readEvents(const std::string &folder) {
  std::string bytes;
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    bytes += TemporaryFolder::read(entry.path().string());
  return bytes;
}

/// Lengths of the records of a whole event file; a record that is cut off gives -1.
std::vector<int64_t> recordsOf(const std::string &bytes) {
  std::vector<int64_t> lengths;
  for (size_t at = 0; at < bytes.size();) {
    uint64_t length = 0;
    bytes.copy(reinterpret_cast<char *>(&length), sizeof length, at);
    if (bytes.size() - at < 16 || length > bytes.size() - at - 16)
      return {-1};
    lengths.push_back(static_cast<int64_t>(length));
    at += length + 16;
  }
  return lengths;
}
} // namespace

TEST(EpochLog, AFullDiskIsAWarningOnce) {
  TemporaryFolder folder;
  Warnings csvWarnings, jsonWarnings;
  CsvLog csv(folder.path("log.csv"), csvWarnings.take());
  JsonLog json(folder.path("log.json"), jsonWarnings.take());
  {
    FullDisk full(4);
    for (int epochs : {1, 2}) {
      ASSERT_TRUE(csv.historyChanged(historyOf(epochs)));
      ASSERT_TRUE(json.historyChanged(historyOf(epochs)));
    }
  }
  ASSERT_EQ(csvWarnings.texts.size(), 1u);
  ASSERT_EQ(jsonWarnings.texts.size(), 1u);
  EXPECT_EQ(csvWarnings.texts[0].find(folder.path("log.csv") + ": cannot write"), 0u);
  ASSERT_TRUE(csv.historyChanged(historyOf(3)));
  EXPECT_EQ(TemporaryFolder::read(folder.path("log.csv")),
            "epoch,loss,val_loss\n0,2.5,3\n1,2.5,3\n2,2.5,3\n");
}

TEST(TensorBoardLog, AFullDiskCutsNoRecordAndLosesNoEpoch) {
  TemporaryFolder folder, whole;
  Warnings warnings, none;
  TensorBoardLog log(folder.folder(), warnings.take()), reference(whole.folder(), none.take());
  ASSERT_TRUE(log.prepare(true));
  ASSERT_TRUE(log.historyChanged(historyOf(1)));
  {
    FullDisk full(readEvents(folder.path("train")).size() + 20);
    ASSERT_TRUE(log.historyChanged(historyOf(2)));
    EXPECT_EQ(recordsOf(readEvents(folder.path("train"))).size(), 2u); // the version and an epoch
    ASSERT_TRUE(log.historyChanged(historyOf(3)));
  }
  EXPECT_EQ(warnings.texts.size(), 1u);
  ASSERT_TRUE(log.historyChanged(historyOf(4)));
  for (int epochs : {1, 2, 3, 4})
    ASSERT_TRUE(reference.historyChanged(historyOf(epochs)));
  EXPECT_TRUE(none.texts.empty());
  for (const char *part : {"train", "validation"}) {
    EXPECT_EQ(recordsOf(readEvents(folder.path(part))).size(), 5u);
    EXPECT_EQ(recordsOf(readEvents(folder.path(part))), recordsOf(readEvents(whole.path(part))));
  }
}
