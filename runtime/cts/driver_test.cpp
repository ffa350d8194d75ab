// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every driver does more than compute: variables, run brackets, refusals.
#include "runtime/cts/calls.h"
#include "runtime/cts/contraction_case.h"
#include "runtime/cts/driver_fixture.h"

#include <cstring>
#include <xmmintrin.h>

namespace mpc::rt::cts {

INSTANTIATE_TEST_SUITE_P(Every, DriverTest, ::testing::ValuesIn(everyDriver()), driverName);

TEST_P(DriverTest, HasAName) {
  EXPECT_NE(driver->name(), nullptr);
  EXPECT_EQ(driver->threads(), GetParam().threads);
  EXPECT_EQ(driver->computes(), std::strcmp(driver->name(), "null") != 0);
}

// The host fetches what it wrote and stored, whether there are two copies of it or one.
TEST_P(DriverTest, KeepsTheVariablesThatTheHostStored) {
  std::vector<uint8_t> host(1024);
  const std::vector<MemoryBlock> blocks = {{0, 512}, {512, 512}};
  ASSERT_EQ(driver->begin(WeightUse::updated), MPC_RT_OK);
  DeviceMemory &memory = driver->deviceMemory();
  ASSERT_EQ(memory.bindVariables(host.data(), host.size(), blocks), MPC_RT_OK);
  for (size_t i = 0; i < host.size(); ++i)
    host[i] = static_cast<uint8_t>(i * 7);
  const std::vector<uint8_t> written = host;
  EXPECT_EQ(memory.storeVariables(0, 512), MPC_RT_OK);
  EXPECT_EQ(memory.storeVariables(512, 512), MPC_RT_OK);
  EXPECT_EQ(memory.fetchVariables(0, host.size()), MPC_RT_OK);
  EXPECT_EQ(host, written);
  EXPECT_EQ(memory.storeFetchedVariables(), MPC_RT_OK);
  driver->end();
  EXPECT_EQ(memory.fetchVariables(0, host.size()), MPC_RT_OK);
  EXPECT_EQ(host, written);
  EXPECT_FALSE(memory.hasInputs({}, 1)) << "none were asked for";
}

TEST_P(DriverTest, RestoresTheCallersControlWord) {
  unsigned before = _mm_getcsr();
  _mm_setcsr(before | _MM_ROUND_DOWN);
  ASSERT_EQ(driver->begin(WeightUse::updated), MPC_RT_OK);
  driver->end();
  unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(after, before | _MM_ROUND_DOWN);
}

TEST_P(DriverTest, RunsAgainAfterARun) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(driver->begin(WeightUse::constant), MPC_RT_OK);
    driver->end();
    driver->variablesChanged();
  }
}

TEST_P(DriverTest, RefusesDescriptorsThatNobodyCouldRun) {
  ContractionCase shape;
  shape.m = shape.n = shape.k = 2;
  ContractionData data(shape);
  ASSERT_EQ(driver->begin(WeightUse::updated), MPC_RT_OK);
  auto refused = [&](auto change, mpc_rt_status_code_t code, const char *word) {
    auto descriptor = shape.descriptor(1);
    change(descriptor);
    auto before = data.out;
    EXPECT_EQ(callContract(*driver, descriptor, data.lhs.data(), data.rhs.data(), nullptr,
                           data.out.data(), nullptr, 3),
              code)
        << word;
    EXPECT_NE(std::strstr(mpc_rt_last_error(), word), nullptr) << mpc_rt_last_error();
    EXPECT_NE(std::strstr(mpc_rt_last_error(), "test/layer"), nullptr) << mpc_rt_last_error();
    EXPECT_EQ(before, data.out);
  };
  using D = mpc_rt_contract_t;
  refused([](D &d) { d.struct_size = 8; }, MPC_RT_FAILED_PRECONDITION, "descriptor of 8 bytes");
  refused([](D &d) { d.flags = 1024; }, MPC_RT_FAILED_PRECONDITION, "newer");
  refused([](D &d) { d.activation = 9; }, MPC_RT_FAILED_PRECONDITION, "newer");
  refused([](D &d) { d.lhs_dtype = MPC_RT_INT32; }, MPC_RT_INVALID_ARGUMENT, "int32");
  refused([](D &d) { d.out_dtype = 99; }, MPC_RT_INVALID_ARGUMENT, "unknown");
  refused([](D &d) { d.m = {-5, 0}; }, MPC_RT_INVALID_ARGUMENT, "extents");
  refused([](D &d) { d.m = {0, INT64_MAX}; }, MPC_RT_INVALID_ARGUMENT, "extents");
  refused([](D &d) { d.m.fixed = d.n.fixed = int64_t{1} << 40; }, MPC_RT_INVALID_ARGUMENT,
          "extents");
  refused([](D &d) { d.has_bias = 1; }, MPC_RT_INVALID_ARGUMENT, "null operand");
  driver->end();
}

} // namespace mpc::rt::cts
