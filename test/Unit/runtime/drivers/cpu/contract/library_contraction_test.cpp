// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contractions that oneDNN is told to compute, whatever the rules say. MPC_DRAWS=20000 draws so
// many.
#include "runtime/base/dtype.h"
#include "runtime/base/element.h"
#include "runtime/base/philox.h"
#include "runtime/base/status.h"
#include "runtime/cts/calls.h"
#include "runtime/cts/contraction_case.h"
#include "runtime/cts/isa.h"
#include "runtime/drivers/driver.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

namespace mpc::rt {
namespace {

// Sums long enough for oneDNN to cut them, matrices that fill no block.
cts::ContractionCase draw(uint32_t index) {
  const PhiloxBlock a = philox({{index, 0, 0, 0}}, 21, 0), b = philox({{index, 1, 0, 0}}, 21, 0);
  const PhiloxBlock c = philox({{index, 2, 0, 0}}, 21, 0);
  constexpr int64_t mostRows[] = {4, 40, 400}, mostColumns[] = {4, 70, 300};
  constexpr int64_t mostTerms[] = {8, 100, 1000, 5000};
  for (uint32_t turn = 0;; ++turn) {
    const PhiloxBlock d = philox({{index, 3 + turn, 0, 0}}, 21, 0);
    cts::ContractionCase shape;
    shape.batch = a.word[0] % 4 == 0 ? 1 + a.word[1] % 5 : 1;
    shape.m = 1 + d.word[0] % mostRows[d.word[3] % 3];
    shape.n = 1 + d.word[1] % mostColumns[d.word[3] / 3 % 3];
    shape.k = 1 + d.word[2] % mostTerms[d.word[3] / 9 % 4];
    shape.lhs = shape.rhs = b.word[0] % 4 ? MPC_RT_BFLOAT16 : MPC_RT_FLOAT32;
    shape.out = b.word[1] % 2 ? shape.lhs : b.word[2] % 3;
    shape.bias = b.word[3] % 3;
    shape.hasBias = c.word[0] % 2;
    shape.relu = c.word[1] % 2;
    shape.transposeLhs = c.word[2] % 2;
    shape.transposeRhs = c.word[3] % 2;
    shape.seed = index;
    if (shape.batch * shape.m * shape.n * shape.k <= 2000000)
      return shape;
  }
}

class LibraryContractions : public ::testing::Test {
protected:
  void expectExactSums(cts::ContractionData &data, uint32_t index) {
    auto driver = makeCpuDriver({1 + index % 8, cts::isa()});
    driver->kernels().log.start();
    ASSERT_EQ(driver->kernels().setChoices("5 1 changing onednn\n"), MPC_RT_OK)
        << mpc_rt_last_error();
    const auto descriptor = data.shape.descriptor(5);
    ASSERT_EQ(driver->begin(WeightUse::updated), MPC_RT_OK);
    ASSERT_EQ(cts::callContract(*driver, descriptor, data.lhs.data(), data.rhs.data(),
                                data.bias.data(), data.out.data(), /*largest=*/nullptr, 1),
              MPC_RT_OK)
        << mpc_rt_last_error();
    driver->end();
    ASSERT_EQ(data.difference(), "") << driver->kernels().log.text();
    // Kernels named KIND:ISA.
    const std::string line = driver->kernels().log.text();
    byLibrary += line.substr(0, line.find(": ")).find(':') != std::string::npos;
  }

  static uint32_t count() {
    const char *draws = std::getenv("MPC_DRAWS");
    return draws ? static_cast<uint32_t>(std::strtoul(draws, nullptr, 10)) : 200;
  }
  uint32_t byLibrary = 0;
};

TEST_F(LibraryContractions, AreExact) {
  for (uint32_t i = 0; i < count(); ++i) {
    cts::ContractionData data(draw(i));
    expectExactSums(data, i);
  }
  EXPECT_GT(byLibrary, count() / 2);
}

TEST_F(LibraryContractions, KeepAnInfinityInItsPlace) {
  for (uint32_t i = 0; i < count(); ++i) {
    cts::ContractionData data(draw(1000000 + i));
    std::vector<uint8_t> &operand = i % 2 ? data.lhs : data.rhs;
    const auto elements = static_cast<int64_t>(operand.size() / dtypeSize(data.shape.lhs));
    storeElement(data.shape.lhs, operand.data(), i * int64_t{7919} % elements,
                 std::numeric_limits<double>::infinity());
    expectExactSums(data, i);
  }
}

TEST_F(LibraryContractions, AreExactInIntegers) {
  for (uint32_t i = 0; i < count(); ++i) {
    cts::ContractionCase shape = draw(2000000 + i);
    shape.lhs = shape.rhs = MPC_RT_INT8;
    shape.out = MPC_RT_INT32;
    shape.hasBias = shape.relu = false;
    cts::ContractionData data(shape);
    expectExactSums(data, i);
  }
}

// Shapes of which each was wrong, or ended the program, on some CPU: more threads than matrices,
// and one term less than a tile has.
TEST_F(LibraryContractions, AreExactWhereTheyWereNot) {
  constexpr int64_t shapes[][4] = {{2, 4, 63, 4},   {3, 4, 2, 2294},  {4, 40, 2, 2265},
                                   {2, 10, 50, 55}, {1, 332, 55, 63}, {3, 202, 1, 3295},
                                   {5, 2, 208, 125}};
  for (const auto &[batch, m, n, k] : shapes)
    for (const mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_INT8})
      for (const bool transposed : {false, true}) {
        cts::ContractionCase shape;
        shape.batch = batch, shape.m = m, shape.n = n, shape.k = k;
        shape.lhs = shape.rhs = dtype;
        shape.out = dtype == MPC_RT_INT8 ? mpc_rt_dtype_t{MPC_RT_INT32} : dtype;
        shape.transposeLhs = transposed;
        shape.transposeRhs = !transposed;
        cts::ContractionData data(shape);
        expectExactSums(data, 7);
      }
}

} // namespace
} // namespace mpc::rt
