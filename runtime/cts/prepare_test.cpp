// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conformance of what entries compute of their weights alone: memory that holds it for the
// variables as they are, whether or not it was computed before.
#include "runtime/cts/device_call.h"
#include "runtime/cts/driver_fixture.h"

#include <functional>
#include <string_view>

namespace mpc::rt::cts {
namespace {

// The memory that the driver prepares, how often it is filled, and what filling returns.
struct Prepared {
  void *memory = nullptr;
  int fills = 0;
  int32_t answer = MPC_RT_OK;
};
constexpr uint64_t bytes = 1000;

int32_t fill(const mpc_rt_call_t *call, void *memory) {
  auto &prepared = **static_cast<Prepared *const *>(call->context);
  EXPECT_NE(memory, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
  ++prepared.fills;
  return prepared.answer;
}

struct Context {
  Prepared *prepared; // first: where fill() finds it
  Driver *driver;
};

int32_t run(const mpc_rt_call_t *call) {
  const auto &context = *static_cast<const Context *>(call->context);
  return context.driver->prepare(*call, fill, bytes, context.prepared->memory);
}

class Prepare : public DriverTest {
protected:
  mpc_rt_status_t call(const mpc_rt_entry_info_t &entry, WeightUse use) {
    Context context{&prepared, driver.get()};
    mpc_rt_call_t call = {};
    call.struct_size = sizeof call;
    call.batch = 1;
    call.context = &context;
    if (auto status = driver->begin(use))
      return status;
    auto status = driver->run(entry, call, 0, 64, nullptr);
    driver->end();
    return status;
  }
  static mpc_rt_entry_info_t entryOf(const char *name) {
    mpc_rt_entry_info_t entry = {};
    entry.name = name;
    entry.fn = run;
    return entry;
  }
  // A driver that keeps nothing fills in every call.
  void expect(int fills) {
    if (driver->ownsMemory())
      EXPECT_EQ(prepared.fills, fills);
    else
      EXPECT_GE(prepared.fills, fills);
  }

  Prepared prepared;
};
INSTANTIATE_TEST_SUITE_P(Every, Prepare, ::testing::ValuesIn(everyDriver()), driverName);

TEST_P(Prepare, FillsAgainWhenVariablesChange) {
  const auto predict = entryOf("predict"), train = entryOf("train_step");
  ASSERT_EQ(call(predict, WeightUse::constant), MPC_RT_OK);
  expect(1);
  void *const memory = prepared.memory;
  // Plainly, recorded, replayed.
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(call(predict, WeightUse::constant), MPC_RT_OK);
  expect(1);
  driver->variablesChanged();
  ASSERT_EQ(call(predict, WeightUse::constant), MPC_RT_OK);
  expect(2);
  EXPECT_EQ(prepared.memory, memory);
  // Another entry has memory of its own, and writes variables.
  ASSERT_EQ(call(train, WeightUse::updated), MPC_RT_OK);
  expect(3);
  if (driver->ownsMemory()) {
    EXPECT_NE(prepared.memory, memory);
    EXPECT_GE(driver->libraryBytes(), 2 * bytes);
  }
  // None that it prepares something of.
  ASSERT_EQ(call(train, WeightUse::updated), MPC_RT_OK);
  expect(3);
  ASSERT_EQ(call(predict, WeightUse::constant), MPC_RT_OK);
  expect(4);
}

TEST_P(Prepare, IsKeptByCpus) {
  if (std::string_view(driver->name()) != "cpu")
    return; // drivers of GPUs are asked above
  const auto predict = entryOf("predict");
  // A run that reserves memory computes nothing.
  driver->setReserving(true);
  ASSERT_EQ(call(predict, WeightUse::constant), MPC_RT_OK);
  driver->setReserving(false);
  prepared.fills = 0;
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(call(predict, WeightUse::constant), MPC_RT_OK);
  EXPECT_EQ(prepared.fills, 1);
  EXPECT_GE(driver->libraryBytes(), bytes);
  ASSERT_EQ(call(predict, WeightUse::updated), MPC_RT_OK);
  ASSERT_EQ(call(predict, WeightUse::constant), MPC_RT_OK);
  EXPECT_EQ(prepared.fills, 2);
}

TEST_P(Prepare, FillsAgainAfterAFailure) {
  const auto predict = entryOf("predict");
  prepared.answer = MPC_RT_UNAVAILABLE;
  EXPECT_EQ(call(predict, WeightUse::constant), MPC_RT_UNAVAILABLE);
  prepared.answer = MPC_RT_OK;
  ASSERT_EQ(call(predict, WeightUse::constant), MPC_RT_OK);
  expect(2);
}

} // namespace
} // namespace mpc::rt::cts
