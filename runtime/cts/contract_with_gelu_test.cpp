// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conformance of contract with gelu: the product that contract computes, and gelu or its
// derivative.
#include "runtime/base/dtype.h"
#include "runtime/base/element.h"
#include "runtime/cts/calls.h"
#include "runtime/cts/contraction_case.h"
#include "runtime/cts/device_call.h"
#include "runtime/cts/driver_fixture.h"
#include "runtime/drivers/gelu.h"

#include <cmath>
#include <limits>

namespace mpc::rt::cts {
namespace {

constexpr mpc_rt_dtype_t floatingDtypes[] = {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16,
                                             MPC_RT_FLOAT64};

class ContractWithGelu : public DriverTest {
protected:
  enum class Kind { gelu, kept, derivative };

  // `beside`: what is kept, or where the derivative is taken.
  mpc_rt_status_t contract(ContractionData &data, std::vector<uint8_t> &beside, Kind kind) {
    auto descriptor = data.shape.descriptor(++nextId);
    driver->variablesChanged(); // the next case's weights are others
    return callOnDevice(*driver, WeightUse::updated,
                        {&data.lhs, &data.rhs, &data.bias, &data.out, &beside},
                        [&](void *const *operands) {
                          GeluArguments gelu;
                          gelu.at = kind == Kind::derivative ? operands[4] : nullptr;
                          gelu.kept = kind == Kind::kept ? operands[4] : nullptr;
                          return callContractWithGelu(*driver, descriptor, operands[0], operands[1],
                                                      data.shape.hasBias ? operands[2] : nullptr,
                                                      gelu, operands[3], 1);
                        });
  }
  // The distance of numbers of the dtype at `value`.
  static double unitAt(mpc_rt_dtype_t dtype, double value) {
    const int bits = dtype == MPC_RT_FLOAT16    ? 10
                     : dtype == MPC_RT_BFLOAT16 ? 7
                     : dtype == MPC_RT_FLOAT32  ? 23
                                                : 52;
    const int least = dtype == MPC_RT_FLOAT16 ? -14 : -126;
    return std::ldexp(1.0, std::max(least, value == 0 ? least : std::ilogb(value)) - bits);
  }
  // Two units: gelu's own rounding, and one of an argument that may be rounded before or not; and
  // what float32 leaves where terms cancel.
  static void expectClose(const ContractionCase &c, double wanted, double got, double terms,
                          double argumentError) {
    if (std::isnan(wanted)) {
      EXPECT_TRUE(std::isnan(got)) << c.text() << ": " << got;
      return;
    }
    const double unit = c.out == MPC_RT_FLOAT64 ? 0x1p-50 : 0x1p-21;
    const double most = unitAt(c.out, wanted) + 1.2 * argumentError + terms * unit;
    EXPECT_LE(std::fabs(got - wanted), most) << c.text() << ": " << got << " for " << wanted;
  }
  void check(const ContractionCase &shape, Kind kind) {
    ContractionData data(shape);
    const auto count = static_cast<int64_t>(shape.m * shape.n);
    std::vector<uint8_t> beside(static_cast<size_t>(count) * dtypeSize(shape.out));
    for (int64_t i = 0; kind == Kind::derivative && i < count; ++i)
      storeElement(shape.out, beside.data(), i, static_cast<double>(i * 7 % 25 - 12) / 3);
    const std::vector<uint8_t> given = beside, whole = data.expected(),
                               fused = data.expected(Roundings::once);
    ASSERT_EQ(contract(data, beside, kind), MPC_RT_OK) << mpc_rt_last_error();
    if (!driver->computes())
      return;
    for (int64_t i = 0; i < count && !HasFailure(); ++i) {
      const double sum = loadElement(shape.out, whole.data(), i);
      const double got = loadElement(shape.out, data.out.data(), i);
      const double unit = unitAt(shape.out, sum);
      if (kind == Kind::derivative) {
        const double x = loadElement(shape.out, given.data(), i);
        expectClose(shape, sum * geluSlopeOf(x), got, std::fabs(sum) * (1 + std::fabs(x * x * x)),
                    unit);
      } else {
        expectClose(shape, geluOf(sum), got, 1 + std::fabs(sum), unit);
      }
      if (kind == Kind::kept) {
        const double kept = loadElement(shape.out, beside.data(), i);
        EXPECT_TRUE(kept == sum || kept == loadElement(shape.out, fused.data(), i))
            << shape.text() << " keeps " << kept << " for " << sum;
      }
    }
    if (kind != Kind::kept) {
      EXPECT_EQ(beside, given);
    }
  }
  uint32_t nextId = 0;
};

INSTANTIATE_TEST_SUITE_P(Every, ContractWithGelu, ::testing::ValuesIn(everyDriver()), driverName);

// Rows that libraries take, and others; with and without a bias.
TEST_P(ContractWithGelu, AppliesGelu) {
  for (mpc_rt_dtype_t dtype : floatingDtypes)
    for (int64_t columns : {1, 8, 20, 136})
      for (bool hasBias : {false, true})
        for (Kind kind : {Kind::gelu, Kind::kept}) {
          ContractionCase shape;
          shape.m = 1 + columns % 9, shape.n = columns, shape.k = 5;
          shape.lhs = shape.rhs = shape.out = shape.bias = dtype;
          shape.hasBias = hasBias;
          shape.transposeRhs = columns % 3 == 0;
          shape.transposeLhs = columns == 136;
          shape.seed = static_cast<uint64_t>(columns);
          check(shape, kind);
        }
  // Dtypes that no library multiplies, and nothing to sum.
  ContractionCase mixed;
  mixed.m = 6, mixed.n = 20, mixed.k = 3;
  mixed.lhs = MPC_RT_BFLOAT16;
  mixed.hasBias = true;
  check(mixed, Kind::kept);
  mixed.lhs = mixed.rhs = mixed.out = mixed.bias = MPC_RT_FLOAT16;
  mixed.k = 0;
  check(mixed, Kind::kept);
  mixed.hasBias = false;
  check(mixed, Kind::gelu);
}

TEST_P(ContractWithGelu, AppliesTheDerivative) {
  for (mpc_rt_dtype_t dtype : floatingDtypes)
    for (int64_t columns : {1, 8, 20, 136}) {
      ContractionCase shape;
      shape.m = 1 + columns % 9, shape.n = columns, shape.k = 5;
      shape.lhs = shape.rhs = shape.out = dtype;
      shape.transposeRhs = true;
      shape.seed = static_cast<uint64_t>(columns);
      check(shape, Kind::derivative);
      shape.k = 0;
      check(shape, Kind::derivative);
    }
}

TEST_P(ContractWithGelu, OfLargeProducts) {
  for (mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16}) {
    ContractionCase shape;
    shape.m = 260, shape.n = 280, shape.k = 70;
    shape.lhs = shape.rhs = shape.out = shape.bias = static_cast<mpc_rt_dtype_t>(dtype);
    check(shape, Kind::derivative);
    shape.hasBias = true;
    check(shape, Kind::kept);
  }
}

// The result is not a number where a step of the formula is none: at -inf, 0 is multiplied by
// infinity.
TEST_P(ContractWithGelu, TreatsNaNAndInfinity) {
  if (!driver->computes())
    return;
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const double rows[] = {nan, infinity, -infinity, -0.0}, wanted[] = {nan, infinity, nan, 0.0};
  for (mpc_rt_dtype_t dtype : floatingDtypes) {
    ContractionCase shape;
    shape.m = 4, shape.n = 40, shape.k = 1;
    shape.lhs = shape.rhs = shape.out = shape.bias = dtype;
    ContractionData data(shape);
    for (int64_t i = 0; i < shape.n; ++i)
      storeElement(dtype, data.rhs.data(), i, 1.0);
    for (int64_t row = 0; row < 4; ++row)
      storeElement(dtype, data.lhs.data(), row, rows[row]);
    std::vector<uint8_t> kept(static_cast<size_t>(shape.m * shape.n) * dtypeSize(dtype));
    ASSERT_EQ(contract(data, kept, Kind::kept), MPC_RT_OK) << mpc_rt_last_error();
    for (int64_t i = 0; i < shape.m * shape.n; ++i) {
      const double value = loadElement(dtype, data.out.data(), i), want = wanted[i / shape.n];
      const double argument = loadElement(dtype, kept.data(), i), row = rows[i / shape.n];
      EXPECT_TRUE(std::isnan(want) ? std::isnan(value) : value == want) << shape.text() << value;
      EXPECT_TRUE(std::isnan(row) ? std::isnan(argument) : argument == row) << shape.text();
    }
  }
}

TEST_P(ContractWithGelu, RefusesWhatNoLibraryHas) {
  for (bool isInteger : {false, true}) {
    ContractionCase shape;
    shape.m = 3, shape.n = 4, shape.k = 5;
    shape.batch = isInteger ? 1 : 2;
    if (isInteger) {
      shape.lhs = shape.rhs = MPC_RT_INT8;
      shape.out = MPC_RT_INT32;
    }
    ContractionData data(shape);
    std::vector<uint8_t> beside(data.out.size());
    EXPECT_EQ(contract(data, beside, Kind::gelu), MPC_RT_INVALID_ARGUMENT) << isInteger;
  }
  ContractionCase shape;
  ContractionData data(shape);
  std::vector<uint8_t> beside(data.out.size());
  mpc_rt_contract_call_t call =
      contractCall(data.lhs.data(), data.rhs.data(), nullptr, data.out.data(), 1);
  auto refuses = [&](uint32_t activation, const void *at, void *kept) {
    auto descriptor = shape.descriptor(1);
    descriptor.activation = activation;
    call.gelu_at = at, call.kept = kept;
    EXPECT_EQ(driver->contract(descriptor, call), MPC_RT_INVALID_ARGUMENT) << activation;
  };
  ASSERT_EQ(driver->begin(WeightUse::updated), MPC_RT_OK);
  refuses(MPC_RT_ACTIVATION_RELU, nullptr, beside.data());
  refuses(MPC_RT_ACTIVATION_GELU, beside.data(), nullptr);
  refuses(MPC_RT_ACTIVATION_GELU_GRADIENT, nullptr, nullptr);
  refuses(MPC_RT_ACTIVATION_GELU_GRADIENT, beside.data(), beside.data());
  driver->end();
}

} // namespace
} // namespace mpc::rt::cts
