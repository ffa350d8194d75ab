// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which products use tiles on a CPU that has them, and what they leave on the calling thread.
#include "mpc-rt/device.h"
#include "runtime/base/cpu.h"
#include "runtime/base/element.h"
#include "runtime/cts/calls.h"
#include "runtime/cts/contraction_case.h"
#include "runtime/cts/convolution_case.h"
#include "runtime/drivers/cpu/kernels/micro_kernel.h"
#include "runtime/drivers/driver.h"
#include "test/SoftwareTiles/software.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>

namespace mpc::rt {
namespace {

using cts::ContractionCase;
using cts::ContractionData;
using cts::ConvolutionCase;
using cts::ConvolutionData;

constexpr mpc_rt_dtype_t float32 = MPC_RT_FLOAT32, bfloat16 = MPC_RT_BFLOAT16,
                         float16 = MPC_RT_FLOAT16, int8 = MPC_RT_INT8;

struct TileCase {
  const char *name;
  mpc_rt_dtype_t lhs, rhs;
  int64_t m, n, k;
  bool packed;
  int64_t blockRows; // 0: no scales
  bool usesTiles;
};

// Depths and columns are no multiples of a tile's.
constexpr TileCase tileCases[] = {
    {"many_rows", bfloat16, bfloat16, 300, 260, 97, false, 0, true},
    {"few_rows", bfloat16, bfloat16, 3, 260, 97, false, 0, false},
    {"float32", float32, float32, 300, 260, 97, false, 0, false},
    {"int8_by_int8", int8, int8, 300, 260, 97, false, 0, true},
    {"one_row_of_int8_by_int8", int8, int8, 1, 40, 97, false, 0, true},
    {"int8_one_row", bfloat16, int8, 1, 40, 97, false, 0, true},
    {"int8_of_float32", float32, int8, 40, 40, 97, false, 0, true},
    {"int8_of_float16", float16, int8, 17, 40, 97, false, 0, true},
    {"int4", bfloat16, int8, 33, 40, 97, true, 0, true},
    {"int4_in_blocks", bfloat16, int8, 33, 40, 97, true, 32, true},
    {"int4_in_blocks_of_float32", float32, int8, 5, 40, 97, true, 64, true},
    {"int4_in_one_block", float32, int8, 70, 40, 97, true, 97, true},
    {"int4_in_blocks_of_float16", float16, int8, 5, 40, 97, true, 32, false},
    {"int4_in_small_blocks", bfloat16, int8, 5, 40, 97, true, 16, false},
    // A copy in bfloat16 is.
    {"many_rows_of_int4_in_small_blocks", bfloat16, int8, 300, 260, 97, true, 16, true},
};

class TileProducts : public ::testing::TestWithParam<TileCase> {
protected:
  TileProducts() : driver(makeCpuDriver({1, cpu().isa})) { tiles::permit(); }
  // Scales of 1 and zeros of 0: the numbers themselves.
  mpc_rt_status_t multiply(ContractionData &data) {
    const TileCase &c = GetParam();
    const auto descriptor = data.shape.descriptor(1);
    auto *lhs = data.lhs.data(), *rhs = data.storedRhs().data(), *out = data.out.data();
    if (!c.blockRows)
      return cts::callContract(*driver, descriptor, lhs, rhs, nullptr, out, nullptr, 1);
    const int64_t blocks = (c.k + c.blockRows - 1) / c.blockRows;
    std::vector<uint8_t> scale(static_cast<size_t>(blocks * c.n) * 4),
        zero(static_cast<size_t>(blocks * c.n));
    std::vector<float> places(static_cast<size_t>(c.k));
    for (int64_t i = 0; i < blocks * c.n; ++i)
      storeElement(c.lhs, scale.data(), i, 1.0);
    for (int64_t i = 0; i < c.k; ++i)
      places[static_cast<size_t>(i)] = static_cast<float>(i / c.blockRows);
    return cts::callContractBlocks(*driver, descriptor, lhs, rhs,
                                   {scale.data(), zero.data(), places.data(), blocks}, nullptr, out,
                                   1);
  }
  ContractionData makeData() const {
    const TileCase &c = GetParam();
    ContractionCase shape;
    shape.m = c.m, shape.n = c.n, shape.k = c.k;
    shape.lhs = c.lhs, shape.rhs = c.rhs;
    shape.out = c.lhs == int8 ? MPC_RT_INT32 : c.lhs;
    shape.packedRhs = c.packed;
    shape.rhsVariable = 0;
    return ContractionData(shape);
  }
  std::unique_ptr<Driver> driver;
};

INSTANTIATE_TEST_SUITE_P(Every, TileProducts, ::testing::ValuesIn(tileCases),
                         [](const auto &info) { return std::string(info.param.name); });

TEST_P(TileProducts, AreTakenWhereTheyAreFast) {
  ContractionData data = makeData();
  const uint64_t before = tiles::countProducts();
  ASSERT_EQ(driver->begin(WeightUse::constant), MPC_RT_OK);
  ASSERT_EQ(multiply(data), MPC_RT_OK) << mpc_rt_last_error();
  driver->end();
  EXPECT_EQ(data.difference(), "");
  // Our kernels leave alone what oneDNN is forbidden, too.
  const bool mayUseTiles =
      (cpu().features & MPC_RT_FEATURE_AMX_BF16) && !std::getenv("DNNL_MAX_CPU_ISA");
  EXPECT_EQ(tiles::countProducts() > before, GetParam().usesTiles && mayUseTiles);
}

// The caller's oneDNN (in PyTorch, say) configures the tiles of a thread once, and takes that for
// still there.
TEST_P(TileProducts, LeaveTheTilesAsTheyWere) {
  struct alignas(64) Configuration {
    uint8_t bytes[64];
  };
  Configuration own = {};
  own.bytes[0] = 1;
  for (int tile = 0; tile < 3; ++tile) {
    own.bytes[16 + 2 * tile] = 32;
    own.bytes[48 + tile] = static_cast<uint8_t>(8 + tile);
  }
  ContractionData data = makeData();
  for (const Configuration &before : {Configuration{}, own}) {
    tiles::loadConfiguration(&before);
    ASSERT_EQ(driver->begin(WeightUse::constant), MPC_RT_OK);
    ASSERT_EQ(multiply(data), MPC_RT_OK) << mpc_rt_last_error();
    driver->end();
    Configuration after;
    tiles::storeConfiguration(&after);
    EXPECT_EQ(std::memcmp(&before, &after, sizeof(after)), 0);
  }
  tiles::release();
}

// Workers, too: Linux saves the tiles of a thread that has some at every switch.
TEST_P(TileProducts, LeaveNoTilesOnThreads) {
  driver = makeCpuDriver({3, cpu().isa});
  ContractionData data = makeData();
  ASSERT_EQ(driver->begin(WeightUse::constant), MPC_RT_OK);
  ASSERT_EQ(multiply(data), MPC_RT_OK) << mpc_rt_last_error();
  std::atomic<int> configured{0};
  void *argument = &configured;
  driver->parallelFor(
      [](void *const *arguments, int64_t begin, int64_t end) {
        alignas(64) uint8_t found[64];
        tiles::storeConfiguration(found);
        static_cast<std::atomic<int> *>(arguments[0])->fetch_add(found[0]);
      },
      &argument, 3, 1);
  driver->end();
  EXPECT_EQ(data.difference(), "");
  EXPECT_EQ(configured, 0);
}

// Threads share the rows of a loop over time: one call of the body each, not one fork per product.
// Whole steps of k, parts of one, and more than are packed at a time.
TEST(TileRowLoops, AreSharedByRows) {
  struct Body {
    Driver *driver;
    ContractionData data;
    std::atomic<int> calls{0};
  };
  tiles::permit();
  auto driver = makeCpuDriver({2, cpu().isa});
  const bool mayUseTiles =
      (cpu().features & MPC_RT_FEATURE_AMX_BF16) && !std::getenv("DNNL_MAX_CPU_ISA");
  const MicroKernel *native = bfloat16MicroKernel(cpu().isa);
  const MicroKernel *kernel = native ? native : float32MicroKernel(cpu().isa);
  const bool preparesRows = kernel && kernel->prepareLanes[MPC_RT_BFLOAT16];
  uint32_t id = 0;
  for (const int64_t k : {128, 100, 97, 640, 1000}) {
    ContractionCase shape;
    shape.m = 101, shape.n = 200, shape.k = k;
    shape.lhs = shape.rhs = shape.out = shape.bias = bfloat16;
    shape.hasBias = true;
    shape.rhsVariable = 0;
    Body body{driver.get(), ContractionData(shape)};
    const mpc_rt_contract_t descriptor = shape.descriptor(++id);
    const mpc_rt_rows_product_t product{&descriptor, body.data.rhs.data(), body.data.bias.data()};
    mpc_rt_call_t call = {};
    call.context = &body;
    const uint64_t before = tiles::countProducts();
    driver->variablesChanged();
    ASSERT_EQ(driver->begin(WeightUse::constant), MPC_RT_OK);
    const auto run = [](const mpc_rt_call_t *call, int64_t begin, int64_t end) {
      auto &own = *static_cast<Body *>(call->context);
      ++own.calls;
      return static_cast<int32_t>(
          own.driver->contractRows(0, own.data.lhs.data(), own.data.out.data(), begin, end));
    };
    ASSERT_EQ(driver->runRows({&call, run, shape.m, &product, 1, 1}), MPC_RT_OK)
        << mpc_rt_last_error();
    driver->end();
    EXPECT_EQ(body.data.difference(), "") << shape.text();
    // A part of a step behind several that are packed at a time is not read where it lies. Without
    // tiles, rows are shared that a kernel makes ready.
    const bool isShared = mayUseTiles ? k != 1000 : preparesRows;
    EXPECT_EQ(body.calls, isShared ? 2 : 1) << shape.text();
    EXPECT_EQ(tiles::countProducts() > before, mayUseTiles) << shape.text();
  }
}

// oneDNN has strided gradients of images in float32 only; others by its own tiles, on some CPUs.
TEST(TileConvolutions, AreThoseThatOneDnnWouldWiden) {
  tiles::permit();
  auto driver = makeCpuDriver({2, cpu().isa});
  for (const mpc_rt_dtype_t dtype : {bfloat16, float32}) {
    ConvolutionCase shape;
    shape.direction = MPC_RT_CONVOLUTION_INPUT_GRADIENT;
    shape.lhs = shape.rhs = shape.out = dtype;
    shape.batch = 3, shape.channels = 40, shape.filters = 48;
    shape.images = {9, 12}, shape.kernel = {3, 3}, shape.dilations = {1, 1};
    shape.strides = {2, 2}, shape.low = {1, 1}, shape.high = {1, 1};
    ConvolutionData data(shape);
    const uint64_t before = tiles::countProducts();
    ASSERT_EQ(driver->begin(WeightUse::constant), MPC_RT_OK);
    ASSERT_EQ(cts::callConvolve(*driver, shape.descriptor(1), data.lhs.data(), data.rhs.data(),
                                nullptr, data.out.data(), 1),
              MPC_RT_OK)
        << mpc_rt_last_error();
    driver->end();
    EXPECT_EQ(data.difference(), "") << shape.text();
    const bool mayUseTiles =
        (cpu().features & MPC_RT_FEATURE_AMX_BF16) && !std::getenv("DNNL_MAX_CPU_ISA");
    EXPECT_EQ(tiles::countProducts() > before, mayUseTiles && dtype == bfloat16) << shape.text();
  }
}

} // namespace
} // namespace mpc::rt
