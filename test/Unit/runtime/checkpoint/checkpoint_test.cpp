// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checkpoints: everything comes back, and a refused file changes nothing.
#include "runtime/checkpoint/checkpoint_folder.h"

#include "runtime/data/variable_tensor.h"
#include "test/Unit/runtime/data/temporary_folder.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace mpc;
using checkpoint::RunIdentity;
using training::FitState;
using training::Session;

static std::unique_ptr<Session> openModel(uint64_t seed) {
  training::SessionOptions options;
  options.library = LINEAR_MODEL;
  options.initialize = true;
  options.initializeSeed = seed;
  options.seed = seed;
  data::Result<std::unique_ptr<Session>> session = Session::open(options);
  EXPECT_TRUE(session) << session.failure().messages[0];
  return std::move(*session);
}

static std::string allBytes(Session &session) {
  std::string bytes;
  for (uint32_t i = 0; i < session.executable().variable_count; ++i) {
    data::Array array = session.variableArray(i);
    bytes.append(reinterpret_cast<const char *>(array.data()), array.bytes());
  }
  return bytes;
}

static FitState someState() {
  FitState state;
  state.epoch = 2;
  state.step = 3;
  state.globalStep = 23;
  state.skipped = 4;
  state.stopReason = "a \"quoted\" reason";
  state.history = {{{"loss", 0.1}, {"val_loss", NAN}}, {{"loss", -INFINITY}, {"val_loss", 5e-324}}};
  return state;
}

/// A callback that keeps the model's variables as they are.
static training::CallbackState someCallbacks(Session &session) {
  training::CallbackState state{{{"early_stop.wait", "2"}}, {}};
  const mpc_rt_executable_t &tables = session.executable();
  for (uint32_t i = 0; i < tables.variable_count; ++i)
    if (data::isModelVariable(tables.variables[i]))
      state.arrays.emplace("early_stop/" + data::tensorName(tables.variables[i]),
                           session.variableArray(i));
  return state;
}

TEST(Checkpoint, EverythingComesBack) {
  TemporaryFolder folder;
  std::unique_ptr<Session> written = openModel(1), read = openModel(2);
  RunIdentity identity{8, 100, 0, "once", 1};
  ASSERT_TRUE(checkpoint::writeCheckpoint(folder.path("c"), *written, identity, someState(),
                                          someCallbacks(*written)));
  ASSERT_NE(allBytes(*written), allBytes(*read));
  FitState state;
  training::CallbackState callbacks;
  std::vector<std::string> notes;
  ASSERT_TRUE(
      checkpoint::readCheckpoint(folder.path("c"), *read, identity, state, callbacks, notes));
  EXPECT_TRUE(notes.empty());
  EXPECT_EQ(allBytes(*written), allBytes(*read));
  FitState expected = someState();
  EXPECT_EQ(state.epoch, expected.epoch);
  EXPECT_EQ(state.step, expected.step);
  EXPECT_EQ(state.globalStep, expected.globalStep);
  EXPECT_EQ(state.skipped, expected.skipped);
  EXPECT_EQ(state.stopReason, expected.stopReason);
  ASSERT_EQ(state.history.size(), 2u);
  EXPECT_EQ(state.history[0][0].second, 0.1);
  EXPECT_TRUE(std::isnan(state.history[0][1].second));
  EXPECT_EQ(state.history[1], expected.history[1]);
  const training::CallbackState kept = someCallbacks(*written);
  EXPECT_EQ(callbacks.texts, kept.texts);
  ASSERT_FALSE(kept.arrays.empty());
  ASSERT_EQ(callbacks.arrays.size(), kept.arrays.size());
  for (const auto &[name, array] : kept.arrays) {
    const data::Array &found = callbacks.arrays.at(name);
    EXPECT_EQ(found.dims(), array.dims());
    EXPECT_EQ(std::memcmp(found.data(), array.data(), array.bytes()), 0) << name;
  }
}

TEST(Checkpoint, EveryTruncationAndEveryFlippedByteIsRefusedAndChangesNothing) {
  TemporaryFolder folder;
  std::unique_ptr<Session> session = openModel(1);
  RunIdentity identity{8, 100, 0, "once", 1};
  std::string path = folder.path("c");
  ASSERT_TRUE(checkpoint::writeCheckpoint(path, *session, identity, someState(), {}));
  std::string whole = TemporaryFolder::read(path);
  std::unique_ptr<Session> other = openModel(2);
  std::string before = allBytes(*other);
  FitState state;
  training::CallbackState callbacks;
  std::vector<std::string> notes;
  for (size_t at = 0; at < whole.size(); at += 3) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    folder.write("c", at % 2 ? damaged : whole.substr(0, at));
    ASSERT_FALSE(checkpoint::readCheckpoint(path, *other, identity, state, callbacks, notes)) << at;
  }
  EXPECT_EQ(allBytes(*other), before);
  EXPECT_EQ(state.globalStep, 0);
}

TEST(Checkpoint, AllDifferencesOfARunAreNamed) {
  TemporaryFolder folder;
  std::unique_ptr<Session> session = openModel(1);
  ASSERT_TRUE(checkpoint::writeCheckpoint(folder.path("c"), *session, {8, 100, 0, "once", 1},
                                          FitState(), {}));
  FitState state;
  training::CallbackState callbacks;
  std::vector<std::string> notes;
  data::Status status = checkpoint::readCheckpoint(folder.path("c"), *session,
                                                   {9, 101, 5, "off", 2}, state, callbacks, notes);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.failure().messages.size(), 5u);
}

TEST(CheckpointFolder, KeepsTheNewestAndSkipsTheDamaged) {
  TemporaryFolder folder;
  std::unique_ptr<Session> session = openModel(1);
  RunIdentity identity{8, 100, 0, "once", 1};
  checkpoint::CheckpointFolder checkpoints(folder.path("a/b"), 2);
  ASSERT_TRUE(checkpoints.prepare());
  for (int64_t step : {5, 10, 15}) {
    FitState state;
    state.globalStep = step;
    ASSERT_TRUE(checkpoints.save(*session, identity, state, {}));
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path("a/b/checkpoint-000000000005.safetensors")));
  folder.write("a/b/checkpoint-000000000015.safetensors", "cut");
  FitState state;
  training::CallbackState callbacks;
  std::vector<std::string> notes;
  ASSERT_TRUE(checkpoints.resume(*session, identity, state, callbacks, notes));
  EXPECT_EQ(state.globalStep, 10);
  EXPECT_EQ(notes.size(), 2u);
}
