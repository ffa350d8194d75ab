// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory from the caller's allocator, options of older headers, and the bytes foretold.
#include "test/Unit/runtime/execution/fake_model.h"

#include <cstdlib>
#include <cstring>
#include <map>

// Programs with the first headers call this symbol.
extern "C" void
initFirstOptions(mpc_rt_context_options_t *options) __asm__("mpc_rt_context_options_init");
extern "C" MPC_RT_API void
initSecondOptions(mpc_rt_context_options_t *options) __asm__("mpc_rt_context_options_init_2");

namespace {

class Pool {
public:
  Pool() {
    table = {sizeof(table), 0, allocate, release, this};
    EXPECT_EQ(mpc_rt_model_from_executable(mpc_rt_executable_query(MPC_RT_ABI_VERSION), &model),
              MPC_RT_OK);
  }
  ~Pool() {
    mpc_rt_model_release(model);
    EXPECT_TRUE(held.empty());
  }
  mpc_rt_status_t create(mpc_rt_context_t **context) {
    mpc_rt_context_options_t options;
    mpc_rt_context_options_init(&options);
    EXPECT_EQ(options.struct_size, sizeof(options));
    options.allocator = &table;
    return mpc_rt_context_create(model, &options, context);
  }
  size_t heldBytes() const {
    size_t bytes = 0;
    for (auto &block : held)
      bytes += block.second;
    return bytes;
  }

  mpc_rt_allocator_t table = {};
  mpc_rt_model_t *model = nullptr;
  std::map<void *, size_t> held;
  size_t most = SIZE_MAX, offset = 0;

private:
  static void *allocate(size_t bytes, size_t alignment, void *user) {
    auto *pool = static_cast<Pool *>(user);
    EXPECT_EQ(alignment, 64u);
    EXPECT_GT(bytes, 0u);
    if (bytes > pool->most)
      return nullptr;
    const size_t whole = (bytes + pool->offset + alignment - 1) / alignment * alignment;
    auto *memory = static_cast<char *>(std::aligned_alloc(alignment, whole));
    std::memset(memory, 0xa5, whole); // nobody may count on zeros
    pool->held[memory + pool->offset] = bytes;
    return memory + pool->offset;
  }
  static void release(void *memory, size_t bytes, size_t alignment, void *user) {
    auto *pool = static_cast<Pool *>(user);
    EXPECT_EQ(alignment, 64u);
    EXPECT_EQ(pool->held.count(memory), 1u);
    EXPECT_EQ(pool->held[memory], bytes);
    pool->held.erase(memory);
    std::free(static_cast<char *>(memory) - pool->offset);
  }
};

mpc_rt_workspace_t workspaceOf(const mpc_rt_model_t *model, int64_t batch) {
  mpc_rt_workspace_t workspace = {};
  workspace.struct_size = sizeof(workspace);
  EXPECT_EQ(mpc_rt_model_workspace(model, batch, &workspace), MPC_RT_OK) << mpc_rt_last_error();
  return workspace;
}

TEST(Allocator, HoldsVariablesAndScratchMemory) {
  Pool pool;
  mpc_rt_context_t *context = nullptr;
  ASSERT_EQ(pool.create(&context), MPC_RT_OK) << mpc_rt_last_error();
  EXPECT_EQ(pool.heldBytes(), workspaceOf(pool.model, 0).variable_bytes);
  auto *momentum =
      static_cast<float *>(mpc_rt_context_variable(context, fake::kernelMomentum, nullptr));
  EXPECT_TRUE(pool.held.begin()->first <= momentum);
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(momentum[i], 0.0f); // its initializer's value
  fake::Context other(1);
  EXPECT_EQ(std::memcmp(mpc_rt_context_variable(context, fake::kernel, nullptr),
                        other.variable<float>(fake::kernel), 24),
            0);
  ASSERT_EQ(mpc_rt_context_run(context, fake::trainStep, nullptr, nullptr, 3), MPC_RT_OK);
  EXPECT_EQ(pool.heldBytes(), workspaceOf(pool.model, 0).variable_bytes +
                                  mpc_rt_entry_arena_bytes(pool.model, fake::trainStep, 3));
  mpc_rt_context_release(context);
}

TEST(Allocator, MayHaveNoMemory) {
  Pool pool;
  mpc_rt_context_t *context = nullptr;
  pool.most = 16;
  EXPECT_EQ(pool.create(&context), MPC_RT_RESOURCE_EXHAUSTED);
  EXPECT_EQ(context, nullptr);
  pool.most = SIZE_MAX;
  ASSERT_EQ(pool.create(&context), MPC_RT_OK);
  pool.most = 64;
  EXPECT_EQ(mpc_rt_context_run(context, fake::trainStep, nullptr, nullptr, 3),
            MPC_RT_RESOURCE_EXHAUSTED);
  pool.most = SIZE_MAX; // the next attempt works
  EXPECT_EQ(mpc_rt_context_run(context, fake::trainStep, nullptr, nullptr, 3), MPC_RT_OK);
  mpc_rt_context_release(context);
}

TEST(Allocator, IsRefusedWhenWrong) {
  Pool pool;
  mpc_rt_context_t *context = nullptr;
  pool.offset = 8;
  EXPECT_EQ(pool.create(&context), MPC_RT_INVALID_ARGUMENT);
  EXPECT_NE(std::strstr(mpc_rt_last_error(), "multiple of 64"), nullptr) << mpc_rt_last_error();
  EXPECT_TRUE(pool.held.empty());
  pool.offset = 0;
  pool.table.release = nullptr;
  EXPECT_EQ(pool.create(&context), MPC_RT_INVALID_ARGUMENT);
  EXPECT_NE(std::strstr(mpc_rt_last_error(), "release"), nullptr) << mpc_rt_last_error();
  EXPECT_EQ(context, nullptr);
}

TEST(Allocator, IsNoneInOptionsOfOlderHeaders) {
  Pool pool;
  union {
    mpc_rt_context_options_t options;
    unsigned char bytes[sizeof(mpc_rt_context_options_t)];
  } memory;
  std::memset(memory.bytes, 0xee, sizeof(memory.bytes));
  initFirstOptions(&memory.options);
  EXPECT_EQ(memory.options.struct_size, offsetof(mpc_rt_context_options_t, allocator));
  EXPECT_EQ(memory.options.isa, -1);
  for (size_t i = memory.options.struct_size; i < sizeof(memory.bytes); ++i)
    EXPECT_EQ(memory.bytes[i], 0xee) << "behind the old struct";
  mpc_rt_context_t *context = nullptr;
  ASSERT_EQ(mpc_rt_context_create(pool.model, &memory.options, &context), MPC_RT_OK)
      << mpc_rt_last_error();
  EXPECT_EQ(mpc_rt_context_run(context, fake::trainStep, nullptr, nullptr, 3), MPC_RT_OK);
  mpc_rt_context_release(context);
}

// The next headers had `allocator`, and no `communicator`.
TEST(Allocator, IsTheLastInOptionsOfTheSecondHeaders) {
  Pool pool;
  union {
    mpc_rt_context_options_t options;
    unsigned char bytes[sizeof(mpc_rt_context_options_t)];
  } memory;
  std::memset(memory.bytes, 0xee, sizeof(memory.bytes));
  initSecondOptions(&memory.options);
  EXPECT_EQ(memory.options.struct_size, offsetof(mpc_rt_context_options_t, communicator));
  EXPECT_EQ(memory.options.allocator, nullptr);
  for (size_t i = memory.options.struct_size; i < sizeof(memory.bytes); ++i)
    EXPECT_EQ(memory.bytes[i], 0xee) << "behind the old struct";
  mpc_rt_context_t *context = nullptr;
  ASSERT_EQ(mpc_rt_context_create(pool.model, &memory.options, &context), MPC_RT_OK)
      << mpc_rt_last_error();
  mpc_rt_context_release(context);
}

TEST(Workspace, RefusesWrongInput) {
  Pool pool;
  mpc_rt_workspace_t workspace = {};
  EXPECT_EQ(mpc_rt_model_workspace(pool.model, 1, &workspace), MPC_RT_INVALID_ARGUMENT);
  workspace.struct_size = sizeof(workspace);
  EXPECT_EQ(mpc_rt_model_workspace(nullptr, 1, &workspace), MPC_RT_INVALID_ARGUMENT);
  EXPECT_EQ(mpc_rt_model_workspace(pool.model, 1, nullptr), MPC_RT_INVALID_ARGUMENT);
  EXPECT_EQ(mpc_rt_model_workspace(pool.model, -1, &workspace), MPC_RT_INVALID_ARGUMENT);
  EXPECT_NE(std::strstr(mpc_rt_last_error(), "batch -1"), nullptr);
  EXPECT_EQ(mpc_rt_model_workspace(pool.model, 2, &workspace), MPC_RT_INVALID_ARGUMENT);
  EXPECT_NE(std::strstr(mpc_rt_last_error(), "overflows"), nullptr) << mpc_rt_last_error();
}

} // namespace
