// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loading: what is accepted, and what each refusal says.
#include "test/Unit/runtime/execution/fake_model.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

bool lastErrorHas(const char *text) { return std::strstr(mpc_rt_last_error(), text) != nullptr; }

struct TemporaryFolder {
  TemporaryFolder() {
    char name[] = "/tmp/mpcrt-test-XXXXXX";
    path = mkdtemp(name);
  }
  ~TemporaryFolder() {
    for (auto &file : files)
      unlink(file.c_str());
    rmdir(path.c_str());
  }
  std::string add(const std::string &name, const std::string &content) {
    files.push_back(path + "/" + name);
    std::ofstream(files.back()) << content;
    return files.back();
  }
  std::string path;
  std::vector<std::string> files;
};

TEST(Model, LoadsAFolderAndALibrary) {
  for (const char *path : {FAKE_MODEL_FOLDER, FAKE_MODEL_FOLDER "/libfake.so"}) {
    mpc_rt_model_t *model = nullptr;
    ASSERT_EQ(mpc_rt_model_load(path, &model), MPC_RT_OK) << mpc_rt_last_error();
    EXPECT_STREQ(mpc_rt_model_executable(model)->model_name, "fake");
    EXPECT_STREQ(mpc_rt_model_path(model), FAKE_MODEL_FOLDER "/libfake.so");
    mpc_rt_context_t *context = nullptr;
    ASSERT_EQ(mpc_rt_context_create(model, nullptr, &context), MPC_RT_OK) << mpc_rt_last_error();
    mpc_rt_model_release(model);
    EXPECT_EQ(mpc_rt_context_run(context, fake::trainStep, nullptr, nullptr, 1), MPC_RT_OK);
    mpc_rt_context_release(context);
  }
}

std::string contentOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

const mpc_rt_executable_t *tablesAt(const std::string &path, std::vector<mpc_rt_model_t *> &held) {
  held.push_back(nullptr);
  EXPECT_EQ(mpc_rt_model_load(path.c_str(), &held.back()), MPC_RT_OK) << mpc_rt_last_error();
  return mpc_rt_model_executable(held.back());
}

// mpcc replaces a library by renaming; the loader would give the one that it has under that name.
TEST(Model, LoadsWhatHasReplacedAnOpenLibrary) {
  TemporaryFolder folder;
  std::string content = contentOf(FAKE_MODEL_FOLDER "/libfake.so");
  const std::string path = folder.add("libfake.so", content);
  std::vector<mpc_rt_model_t *> held;
  const mpc_rt_executable_t *first = tablesAt(path, held);
  EXPECT_EQ(tablesAt(path, held), first);
  for (int round = 0; round < 3; ++round) {
    const std::string next = folder.add("next", content);
    ASSERT_EQ(rename(next.c_str(), path.c_str()), 0);
    const mpc_rt_executable_t *before = mpc_rt_model_executable(held.back());
    const mpc_rt_executable_t *now = tablesAt(path, held);
    EXPECT_NE(now, before);
    EXPECT_NE(now, first);
    EXPECT_EQ(tablesAt(path, held), now);
    EXPECT_STREQ(mpc_rt_model_path(held.back()), path.c_str());
  }
  EXPECT_STREQ(first->model_name, "fake");
  for (mpc_rt_model_t *model : held)
    mpc_rt_model_release(model);
}

TEST(Model, KnowsItsPathAfterChdir) {
  char before[4096];
  ASSERT_NE(getcwd(before, sizeof before), nullptr);
  ASSERT_EQ(chdir(FAKE_MODEL_FOLDER), 0);
  for (const char *path : {"libfake.so", "./libfake.so", "."}) {
    mpc_rt_model_t *model = nullptr;
    ASSERT_EQ(mpc_rt_model_load(path, &model), MPC_RT_OK) << mpc_rt_last_error();
    const std::string known = mpc_rt_model_path(model);
    EXPECT_EQ(known[0], '/') << known;
    EXPECT_EQ(access(known.c_str(), R_OK), 0) << known;
    mpc_rt_model_release(model);
  }
  ASSERT_EQ(chdir(before), 0);
}

TEST(Model, RefusesWhatIsNoModel) {
  mpc_rt_model_t *model = nullptr;
  EXPECT_EQ(mpc_rt_model_load("/nowhere/libx.so", &model), MPC_RT_NOT_FOUND);
  EXPECT_TRUE(lastErrorHas("/nowhere/libx.so")) << mpc_rt_last_error();
  EXPECT_EQ(model, nullptr);

  TemporaryFolder folder;
  EXPECT_EQ(mpc_rt_model_load(folder.path.c_str(), &model), MPC_RT_NOT_FOUND);
  EXPECT_TRUE(lastErrorHas("holds 0 libraries")) << mpc_rt_last_error();
  auto text = folder.add("libone.so", "not a library");
  EXPECT_EQ(mpc_rt_model_load(text.c_str(), &model), MPC_RT_FAILED_PRECONDITION);
  EXPECT_TRUE(lastErrorHas("not a loadable library")) << mpc_rt_last_error();
  folder.add("libtwo.so", "");
  EXPECT_EQ(mpc_rt_model_load(folder.path.c_str(), &model), MPC_RT_NOT_FOUND);
  EXPECT_TRUE(lastErrorHas("holds 2 libraries")) << mpc_rt_last_error();
  EXPECT_EQ(mpc_rt_model_load(nullptr, &model), MPC_RT_INVALID_ARGUMENT);
}

TEST(Model, RefusesALibraryWithoutTables) {
  mpc_rt_model_t *model = nullptr;
  EXPECT_EQ(mpc_rt_model_load("/lib/x86_64-linux-gnu/libm.so.6", &model),
            MPC_RT_FAILED_PRECONDITION);
  EXPECT_TRUE(lastErrorHas("not a compiled model")) << mpc_rt_last_error();
}

class Tables : public ::testing::Test {
protected:
  Tables() : copy(*mpc_rt_executable_query(MPC_RT_ABI_VERSION)) {}
  mpc_rt_status_t load() {
    mpc_rt_model_t *model = nullptr;
    auto status = mpc_rt_model_from_executable(&copy, &model);
    mpc_rt_model_release(model);
    return status;
  }
  mpc_rt_executable_t copy;
};

TEST_F(Tables, AreAcceptedAsTheyAre) { EXPECT_EQ(load(), MPC_RT_OK); }

TEST_F(Tables, OfAnotherAbiAreRefused) {
  copy.abi_version = 99;
  EXPECT_EQ(load(), MPC_RT_FAILED_PRECONDITION);
  EXPECT_TRUE(lastErrorHas("ABI 99")) << mpc_rt_last_error();
  copy.abi_version = MPC_RT_ABI_VERSION;
  copy.struct_size = 8;
  EXPECT_EQ(load(), MPC_RT_FAILED_PRECONDITION);
}

TEST_F(Tables, WithoutTheirTextsAreRefused) {
  for (const char *mpc_rt_executable_t::*text :
       {&mpc_rt_executable_t::model_name, &mpc_rt_executable_t::compiler_version,
        &mpc_rt_executable_t::source_hash}) {
    const char *intact = std::exchange(copy.*text, nullptr);
    EXPECT_EQ(load(), MPC_RT_DATA_LOSS);
    copy.*text = intact;
  }
  EXPECT_EQ(load(), MPC_RT_OK);
}

TEST_F(Tables, WithContradictionsAreRefused) {
  auto variables =
      std::vector<mpc_rt_variable_info_t>(copy.variables, copy.variables + copy.variable_count);
  copy.variables = variables.data();
  auto refuses = [&](auto change, const char *message) {
    auto intact = variables[fake::shadow];
    change(variables[fake::shadow]);
    EXPECT_EQ(load(), MPC_RT_DATA_LOSS) << message;
    EXPECT_TRUE(lastErrorHas(message)) << mpc_rt_last_error();
    variables[fake::shadow] = intact;
  };
  static const int64_t negative[] = {-1, 2}, overflowing[] = {int64_t{1} << 40, int64_t{1} << 40};
  static const int64_t other[] = {3, 3};
  refuses([](auto &v) { v.shadow_of = 100; }, "shadow of no variable");
  refuses([](auto &v) { v.shadow_of = fake::shadow; }, "does not fit");
  refuses([](auto &v) { v.tensor.dtype = 77; }, "unknown dtype");
  refuses([](auto &v) { v.tensor.rank = 9; }, "impossible rank");
  refuses([](auto &v) { v.tensor.dims = negative; }, "impossible extent");
  refuses([](auto &v) { v.tensor.dims = overflowing; }, "impossible extent");
  refuses([](auto &v) { v.tensor.dims = other; }, "does not fit");
  refuses([](auto &v) { v.role = 17; }, "unknown role");
  refuses([](auto &v) { v.tensor.name = nullptr; }, "no name");
  EXPECT_EQ(load(), MPC_RT_OK);

  uint32_t states[] = {0, 1000};
  mpc_rt_metric_info_t metric = {"loss", 0, 2, states};
  copy.metrics = &metric;
  copy.metric_count = 1;
  EXPECT_EQ(load(), MPC_RT_DATA_LOSS);
  metric = {"no such result", 2, 0, nullptr};
  EXPECT_EQ(load(), MPC_RT_DATA_LOSS);
  EXPECT_NE(std::string(mpc_rt_last_error()).find("metric_results"), std::string::npos);
  metric = {"twice", 2, 0, nullptr};
  EXPECT_EQ(load(), MPC_RT_OK);
  metric = {"twice", 3, 0, nullptr};
  EXPECT_EQ(load(), MPC_RT_DATA_LOSS);
  copy.variable_count = UINT32_MAX;
  EXPECT_EQ(load(), MPC_RT_DATA_LOSS);
}

TEST(Model, FindsNamesAndListsThemWhenItDoesNot) {
  mpc_rt_model_t *model = nullptr;
  ASSERT_EQ(mpc_rt_model_from_executable(mpc_rt_executable_query(MPC_RT_ABI_VERSION), &model),
            MPC_RT_OK);
  uint32_t index = 99;
  EXPECT_EQ(mpc_rt_find_entry(model, "evaluate", &index), MPC_RT_OK);
  EXPECT_EQ(index, fake::evaluate);
  EXPECT_EQ(mpc_rt_find_variable(model, "dense/bias", &index), MPC_RT_OK);
  EXPECT_EQ(index, fake::bias);
  EXPECT_EQ(mpc_rt_find_entry(model, "nope", &index), MPC_RT_NOT_FOUND);
  EXPECT_TRUE(lastErrorHas("predict, train_step")) << mpc_rt_last_error();
  EXPECT_EQ(mpc_rt_entry_arena_bytes(model, fake::trainStep, 3), 64u + 3 * 128);
  EXPECT_EQ(mpc_rt_entry_arena_bytes(model, fake::huge, 3), 0u);
  mpc_rt_model_release(model);
}

TEST(Model, KnowsItsDtypes) {
  EXPECT_EQ(mpc_rt_dtype_size(MPC_RT_BFLOAT16), 2u);
  EXPECT_EQ(mpc_rt_dtype_size(MPC_RT_BOOL), 1u);
  EXPECT_EQ(mpc_rt_dtype_size(1000), 0u);
  EXPECT_STREQ(mpc_rt_dtype_name(MPC_RT_FLOAT16), "float16");
  EXPECT_STREQ(mpc_rt_dtype_name(1000), "unknown");
  EXPECT_EQ(mpc_rt_abi_version(), MPC_RT_ABI_VERSION);
}

} // namespace
