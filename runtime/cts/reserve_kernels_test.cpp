// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conformance of setReserving: the kernel that a driver names beforehand is the one that computes,
// and takes the bytes that were named, for contractions of every dtype. MPC_DRAWS=20000 draws so
// many.
#include "runtime/base/dtype.h"
#include "runtime/base/philox.h"
#include "runtime/cts/calls.h"
#include "runtime/cts/driver_fixture.h"

#include <cstdlib>
#include <cstring>

namespace mpc::rt::cts {
namespace {

// One call of a service. Operands are zeros: no kernel is chosen by values.
struct Draw {
  enum Service { plain, withLargest, andLaunch, withBits, andSum, services };

  mpc_rt_contract_t descriptor = {};
  Service service = plain;
  WeightUse use = WeightUse::updated;
  std::vector<uint64_t> lhs, rhs, bias, out;

  mpc_rt_status_t run(Driver &driver) {
    const bool isConsumed = descriptor.flags & MPC_RT_CONTRACT_CONSUMED;
    void *result = isConsumed ? nullptr : out.data();
    std::vector<uint8_t> bits(static_cast<size_t>(descriptor.m.fixed) *
                              (static_cast<size_t>(descriptor.n.fixed) / 8 + 32));
    std::vector<float> sums(static_cast<size_t>(descriptor.n.fixed));
    uint64_t largest = 0;
    void *const arguments[] = {result};
    const ResultKernel kernel{[](void *const *, int64_t, int64_t) {}, arguments, 1, 0, 100};
    switch (service) {
    case withLargest:
      return callContract(driver, descriptor, lhs.data(), rhs.data(), bias.data(), result, &largest,
                          1);
    case andLaunch:
      return callContractAndLaunch(driver, descriptor, lhs.data(), rhs.data(), bias.data(), result,
                                   kernel, 1);
    case withBits:
      return callContractWithBits(driver, descriptor, lhs.data(), rhs.data(), bias.data(),
                                  {nullptr, bits.data()}, result, 1);
    case andSum:
      return callContractAndSum(driver, descriptor, lhs.data(), rhs.data(), result,
                                {nullptr, isConsumed ? &kernel : nullptr, {}, sums.data()}, 1);
    default:
      return callContract(driver, descriptor, lhs.data(), rhs.data(), bias.data(), result,
                          /*largest=*/nullptr, 1);
    }
  }

  std::string text() const {
    const mpc_rt_contract_t &d = descriptor;
    return std::to_string(d.batch.fixed) + "x" + std::to_string(d.m.fixed) + "x" +
           std::to_string(d.n.fixed) + "x" + std::to_string(d.k.fixed) + " " +
           dtypeName(d.lhs_dtype) + "x" + dtypeName(d.rhs_dtype) + " to " + dtypeName(d.out_dtype) +
           ", flags " + std::to_string(d.flags) + ", service " + std::to_string(service) +
           (d.has_bias ? ", bias" : "") + (d.rhs_variable < 0 ? "" : ", variable") +
           (use == WeightUse::constant ? ", constant" : "");
  }
};

struct Dtypes {
  mpc_rt_dtype_t lhs, rhs, out;
};
constexpr Dtypes everyDtypes[] = {
    {MPC_RT_FLOAT32, MPC_RT_FLOAT32, MPC_RT_FLOAT32},
    {MPC_RT_BFLOAT16, MPC_RT_BFLOAT16, MPC_RT_BFLOAT16},
    {MPC_RT_BFLOAT16, MPC_RT_BFLOAT16, MPC_RT_FLOAT32},
    {MPC_RT_FLOAT16, MPC_RT_FLOAT16, MPC_RT_FLOAT16},
    {MPC_RT_FLOAT16, MPC_RT_BFLOAT16, MPC_RT_FLOAT32},
    {MPC_RT_FLOAT64, MPC_RT_FLOAT64, MPC_RT_FLOAT64},
    {MPC_RT_FLOAT8_E4M3FN, MPC_RT_FLOAT8_E4M3FN, MPC_RT_FLOAT32},
    {MPC_RT_FLOAT8_E5M2, MPC_RT_FLOAT8_E4M3FN, MPC_RT_FLOAT32},
    {MPC_RT_INT8, MPC_RT_INT8, MPC_RT_INT32},
    {MPC_RT_FLOAT32, MPC_RT_INT8, MPC_RT_FLOAT32},
    {MPC_RT_BFLOAT16, MPC_RT_INT8, MPC_RT_BFLOAT16},
    {MPC_RT_FLOAT16, MPC_RT_INT8, MPC_RT_FLOAT16},
};

Draw draw(uint32_t index) {
  const PhiloxBlock a = philox({{index, 0, 0, 0}}, 43, 0), b = philox({{index, 1, 0, 0}}, 43, 0);
  const PhiloxBlock c = philox({{index, 2, 0, 0}}, 43, 0);
  const Dtypes dtypes = everyDtypes[index % std::size(everyDtypes)];
  const bool isLoop = dtypes.lhs == MPC_RT_FLOAT64 || isFloat8(dtypes.lhs); // which is slow
  constexpr int64_t mostRows[] = {4, 40, 700}, mostColumns[] = {8, 70, 600};
  constexpr int64_t mostTerms[] = {4, 64, 600};
  Draw draw;
  mpc_rt_contract_t &d = draw.descriptor;
  int64_t m = 0, n = 0, k = 0, batch = a.word[0] % 5 == 0 ? 1 + a.word[1] % 4 : 1;
  for (uint32_t turn = 0; turn == 0 || batch * m * n * k > (isLoop ? 1 << 18 : 1 << 24); ++turn) {
    const PhiloxBlock e = philox({{index, 3 + turn, 0, 0}}, 43, 0);
    m = 1 + e.word[0] % mostRows[e.word[3] % 3];
    n = 1 + e.word[1] % mostColumns[e.word[3] / 3 % 3];
    k = 1 + e.word[2] % mostTerms[e.word[3] / 9 % 3];
    k = e.word[3] / 27 % 3 ? (k + 31) / 32 * 32 : k;
  }
  d.struct_size = sizeof d;
  d.id = 7;
  d.layer = "drawn";
  d.lhs_dtype = dtypes.lhs, d.rhs_dtype = dtypes.rhs, d.out_dtype = dtypes.out;
  d.bias_dtype = b.word[0] % 2 ? mpc_rt_dtype_t{MPC_RT_FLOAT32} : dtypes.out;
  d.rhs_variable = a.word[2] % 3 ? 0 : -1;
  draw.use = a.word[3] % 2 ? WeightUse::constant : WeightUse::updated;

  const bool isFloating = dtypes.lhs != MPC_RT_INT8 && !isFloat8(dtypes.lhs);
  d.has_bias = isFloating && b.word[1] % 2;
  d.activation = isFloating && b.word[2] % 2 ? MPC_RT_ACTIVATION_RELU : MPC_RT_ACTIVATION_NONE;
  d.flags = (b.word[3] % 3 == 0 ? MPC_RT_CONTRACT_TRANSPOSE_LHS : 0u) |
            (c.word[0] % 3 == 0 ? MPC_RT_CONTRACT_TRANSPOSE_RHS : 0u);
  if (!isFloat8(dtypes.lhs) && c.word[1] % 6 == 0)
    d.flags |= MPC_RT_CONTRACT_ACCUMULATE;
  if (dtypes.rhs == MPC_RT_INT8 && isFloating && c.word[2] % 2) {
    d.flags = (d.flags & ~uint32_t{MPC_RT_CONTRACT_TRANSPOSE_RHS}) | MPC_RT_CONTRACT_PACKED_RHS;
    batch = 1;
  }
  if (dtypes.lhs == dtypes.rhs && dtypeSize(dtypes.lhs) == 2 && c.word[2] % 4 == 0) {
    d.lhs_dtype = MPC_RT_FLOAT32;
    d.flags |= MPC_RT_CONTRACT_ROUND_LHS;
  }
  d.batch = {batch, 0}, d.m = {m, 0}, d.n = {n, 0}, d.k = {k, 0};
  draw.service = static_cast<Draw::Service>(c.word[3] % Draw::services);
  const bool isAlone = d.flags & MPC_RT_CONTRACT_ACCUMULATE || batch > 1 || !isFloating ||
                       dtypes.lhs == MPC_RT_FLOAT64 || dtypes.rhs == MPC_RT_INT8;
  if (isAlone && draw.service > Draw::andLaunch)
    draw.service = Draw::plain;
  if (draw.service == Draw::withLargest && dtypes.lhs == MPC_RT_INT8)
    draw.service = Draw::plain;
  if (draw.service == Draw::withBits)
    d.activation = MPC_RT_ACTIVATION_RELU;
  if (draw.service == Draw::andSum) {
    d.flags = (d.flags & ~uint32_t{MPC_RT_CONTRACT_TRANSPOSE_RHS}) | MPC_RT_CONTRACT_TRANSPOSE_LHS;
    d.has_bias = 0;
    d.activation = MPC_RT_ACTIVATION_NONE;
  }
  if (draw.service >= Draw::andLaunch && draw.service != Draw::withBits && c.word[1] % 2 &&
      !isAlone)
    d.flags |= MPC_RT_CONTRACT_CONSUMED;

  draw.lhs.resize(static_cast<size_t>(batch * m * k));
  draw.rhs.resize(static_cast<size_t>(batch * k * n));
  draw.bias.resize(static_cast<size_t>(n));
  draw.out.resize(static_cast<size_t>(batch * m * n));
  return draw;
}

class ReservedKernels : public DriverTest {
protected:
  // A new driver answers what it would run, or what it has run.
  struct Answer {
    mpc_rt_status_t status;
    std::string kernel;
    uint64_t bytes;
  };
  static Answer ask(Draw &draw, bool reserves) {
    auto driver = GetParam().make({GetParam().threads, isa()});
    driver->kernels().log.start();
    EXPECT_TRUE(driver->setReserving(reserves));
    EXPECT_EQ(driver->begin(draw.use), MPC_RT_OK);
    const mpc_rt_status_t status = draw.run(*driver);
    driver->end();
    return {status, driver->kernels().log.text(), driver->libraryBytes()};
  }
  static uint32_t count() {
    const char *draws = std::getenv("MPC_DRAWS");
    return draws ? static_cast<uint32_t>(std::strtoul(draws, nullptr, 10)) : 1000;
  }
};

INSTANTIATE_TEST_SUITE_P(Every, ReservedKernels, ::testing::ValuesIn(everyDriver()), driverName);

TEST_P(ReservedKernels, AreTheOnesThatRun) {
  if (driver->ownsMemory() || !driver->computes())
    GTEST_SKIP() << "this driver names none beforehand";
  uint32_t computed = 0;
  for (uint32_t i = 0; i < count(); ++i) {
    Draw drawn = draw(i);
    const Answer said = ask(drawn, /*reserves=*/true), ran = ask(drawn, /*reserves=*/false);
    EXPECT_EQ(said.status, ran.status) << i << ": " << drawn.text();
    EXPECT_EQ(said.kernel, ran.kernel) << i << ": " << drawn.text();
    EXPECT_EQ(said.bytes, ran.bytes) << i << ": " << drawn.text() << "\n" << ran.kernel;
    computed += ran.status == MPC_RT_OK;
    EXPECT_EQ(ran.kernel.empty(), ran.status != MPC_RT_OK) << drawn.text();
  }
  EXPECT_EQ(computed, count()) << mpc_rt_last_error();
}

} // namespace
} // namespace mpc::rt::cts
