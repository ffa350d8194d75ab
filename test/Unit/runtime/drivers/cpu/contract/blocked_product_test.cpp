// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks, strips, chunks and panels that are cut small, so that small products have several of
// each. Operands are small integers: every order of summation gives the same exact sums.
#include "mpc-rt/device.h"
#include "runtime/base/cpu.h"
#include "runtime/base/element.h"
#include "runtime/base/philox.h"
#include "runtime/cts/contraction_case.h"
#include "runtime/drivers/contraction.h"
#include "runtime/drivers/cpu/contract/blocked_product.h"
#include "test/Unit/runtime/drivers/cpu/kernels/micro_kernels_here.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>

namespace mpc::rt {
namespace {

using cts::ContractionCase;
using cts::ContractionData;

// Each kernel, with threads that pack the columns that they multiply, and without.
class BlockedProducts : public ::testing::TestWithParam<std::tuple<const MicroKernel *, bool>> {
protected:
  void SetUp() override {
    const MicroKernel *kernel = std::get<0>(GetParam());
    if (!runsHere(*kernel))
      GTEST_SKIP() << "this CPU does not run the kernel";
    small = *kernel;
    small.steps = 64 / kernel->depth;
    // Tiles pack where there are so many that each has a part.
    small.blockRows = (kernel->multiplyAndPack ? 5 : 3) * kernel->rows;
    small.blockColumns = 3 * kernel->columns;
    small.longRows = kernel->rows;
    small.groupPanels = std::min<int64_t>(kernel->groupPanels, 2);
    small.alongSteps = std::min<int64_t>(kernel->alongSteps, 1);
  }

  // Everything beside the kernel runs at this level.
  static int isa() { return isaOf(*std::get<0>(GetParam())); }

  bool widens() const { return small.packLhs[MPC_RT_FLOAT16][0] != nullptr; }

  void run(ContractionData &data, const MicroKernel &kernel, bool packed = false,
           unsigned threads = 2, uint32_t *largest = nullptr,
           const ResultKernel *onResult = nullptr, bool isConsumed = false,
           const ReluBits &bits = {}, float *rhsSums = nullptr,
           const std::vector<float> *wideLhs = nullptr, void *elsewhere = nullptr) {
    Contraction shape;
    auto descriptor = data.shape.descriptor(1);
    ASSERT_EQ(resolveContraction(descriptor, data.lhs.data(), data.rhs.data(), data.bias.data(),
                                 data.out.data(), 1, shape),
              MPC_RT_OK);
    shape.roundsLhs = wideLhs;
    shape.rhsStays = packed;
    const void *lhs = data.lhs.data();
    if (wideLhs)
      lhs = wideLhs->data();
    ThreadTeam team(threads);
    BlockedProduct product(team, vectorKernels(isa()), kernel, std::get<1>(GetParam()));
    ASSERT_TRUE(product.multiplies(shape));
    std::vector<float> bias(static_cast<size_t>(shape.n));
    for (int64_t n = 0; n < shape.n; ++n)
      bias[static_cast<size_t>(n)] =
          static_cast<float>(loadElement(data.shape.bias, data.bias.data(), n));
    team.begin();
    Buffer copy;
    if (packed) {
      ASSERT_TRUE(copy.allocate(product.packedBytes(shape)));
      product.packRhs(shape, data.rhs.data(), copy.data());
    }
    product.run(
        shape, lhs, packed ? nullptr : data.rhs.data(), copy.data(),
        shape.hasBias ? bias.data() : nullptr,
        {elsewhere ? elsewhere : data.out.data(), largest, onResult, isConsumed, bits, rhsSums});
    team.end();
  }

  // The kernel on the result sees each element once, and the product is the same without it.
  void expectKernelOnce(const ContractionCase &shape, bool packed, unsigned threads,
                        bool isConsumed, const std::string &name);

  // Every field from a few values each.
  ContractionCase draw(uint32_t index) const {
    PhiloxBlock a = philox({{index, 0, 0, 0}}, 11, 0), b = philox({{index, 1, 0, 0}}, 11, 0);
    PhiloxBlock c = philox({{index, 2, 0, 0}}, 11, 0);
    constexpr int64_t lanes[] = {1, 5, 31, 64, 97, 200}, depths[] = {1, 31, 64, 65, 130, 161};
    auto dtype = [&](uint32_t word) {
      return widens() ? static_cast<mpc_rt_dtype_t>(word % 3) : MPC_RT_BFLOAT16;
    };
    ContractionCase shape;
    shape.batch = a.word[0] % 4 == 0 ? 3 : 1;
    shape.m = lanes[a.word[1] % 6];
    shape.n = lanes[a.word[2] % 6];
    shape.k = depths[a.word[3] % 6];
    shape.lhs = dtype(b.word[0]);
    shape.rhs = dtype(b.word[1]);
    shape.out = b.word[2] % 3;
    shape.bias = b.word[3] % 3;
    shape.transposeLhs = c.word[0] % 2;
    shape.transposeRhs = c.word[0] / 2 % 2;
    shape.hasBias = c.word[1] % 2;
    shape.relu = c.word[2] % 2;
    shape.accumulate = c.word[3] % 4 == 0;
    shape.seed = index;
    return shape;
  }

  MicroKernel small = {};
};

TEST_P(BlockedProducts, AreExact) {
  for (uint32_t i = 0; i < 120; ++i) {
    ContractionData data(draw(i));
    bool packed = data.shape.batch == 1 && i % 2;
    run(data, small, packed, 1 + i % 3);
    EXPECT_EQ(data.difference(), "") << (packed ? "packed before, case " : "case ") << i;
  }
}

TEST_P(BlockedProducts, HaveTheSameBytesForEveryNumberOfThreadsAndEveryBatch) {
  ContractionCase shape = draw(3);
  shape.batch = 1, shape.m = 130, shape.n = 200, shape.k = 161;
  shape.out = MPC_RT_FLOAT32;
  shape.transposeLhs = shape.accumulate = false;
  ContractionData first(shape);
  // Sums that do depend on the order.
  for (int64_t i = 0; i < shape.m * shape.k; ++i)
    storeElement(shape.lhs, first.lhs.data(), i, std::sin(static_cast<double>(i)));
  auto lhs = first.lhs;
  run(first, small, false, 1);
  for (unsigned threads : {2u, 3u, 5u})
    for (bool packed : {false, true}) {
      ContractionData again(shape);
      again.lhs = lhs;
      run(again, small, packed, threads);
      EXPECT_EQ(again.out, first.out) << threads << " threads";
    }
  ContractionCase fewer = shape;
  fewer.m = 7;
  ContractionData part(fewer);
  part.lhs.assign(lhs.begin(), lhs.begin() + static_cast<std::ptrdiff_t>(part.lhs.size()));
  part.rhs = first.rhs;
  part.bias = first.bias;
  run(part, small);
  EXPECT_TRUE(std::equal(part.out.begin(), part.out.end(), first.out.begin()));
}

// The real sizes of blocks, with a rest in every direction, and a result that goes around the
// caches.
TEST_P(BlockedProducts, AreExactInBlocksOfTheRealSize) {
  ContractionCase shape;
  shape.lhs = shape.rhs = widens() ? MPC_RT_FLOAT32 : MPC_RT_BFLOAT16;
  shape.m = 1030, shape.n = 1056, shape.k = 33;
  ContractionData data(shape);
  uint32_t largest = 0;
  run(data, *std::get<0>(GetParam()), false, 2, &largest);
  EXPECT_EQ(data.difference(), "");
  EXPECT_EQ(largest, data.largest());
}

// Rows that weights are streamed to, by pieces of which the kernel has several calls; columns that
// fill narrow panels in part, and rows of several blocks by those.
TEST_P(BlockedProducts, StreamPackedWeights) {
  uint32_t i = 0;
  for (int64_t m : {1, 6, 17, 64, 150})
    for (int64_t n : {3, 8, 10, 32, 33, 200})
      for (int64_t k : {62, 64, 257, 386, 700}) {
        ContractionCase shape = draw(i++);
        shape.batch = 1;
        shape.m = m, shape.n = n, shape.k = k;
        ContractionData data(shape);
        uint32_t largest = 0;
        run(data, small, /*packed=*/i % 4 != 0, 1 + i % 5, &largest);
        EXPECT_EQ(data.difference(), "") << m << " x " << n << " x " << k;
        EXPECT_EQ(largest, data.largest()) << m << " x " << n << " x " << k;
      }
}

// More than one strip of packed rows and columns.
TEST_P(BlockedProducts, AreExactInStrips) {
  ContractionCase shape;
  shape.lhs = shape.rhs = widens() ? MPC_RT_FLOAT32 : MPC_RT_BFLOAT16;
  const int64_t bytes = widens() ? 4 : 2;
  shape.k = 16384;
  shape.m = (40 << 20) / (shape.k * bytes);
  shape.n = shape.m + 3;
  // All rows and columns alike: one sum says what all of them are.
  ContractionData data(shape);
  auto repeat = [&](std::vector<uint8_t> &values, int64_t count, bool rows) {
    for (int64_t i = 0; i < count; ++i)
      storeElement(shape.lhs, values.data(), i,
                   static_cast<double>((rows ? i % shape.k : i / shape.n) % 3));
  };
  repeat(data.lhs, shape.m * shape.k, true);
  repeat(data.rhs, shape.k * shape.n, false);
  double expected = 0;
  for (int64_t k = 0; k < shape.k; ++k)
    expected += static_cast<double>(k % 3 * (k % 3));
  run(data, small);
  for (int64_t i = 0; i < shape.m * shape.n; ++i)
    ASSERT_EQ(loadElement(shape.out, data.out.data(), i), expected) << "element " << i;
}

// Adds 1 to each element and counts how often it was seen: arguments are the dtype, the result,
// what comes out, and the counts.
void addOne(void *const *arguments, int64_t begin, int64_t end) {
  const auto dtype = *static_cast<const mpc_rt_dtype_t *>(arguments[0]);
  for (int64_t i = begin; i < end; ++i) {
    static_cast<double *>(arguments[2])[i] = 1 + loadElement(dtype, arguments[1], i);
    static_cast<uint8_t *>(arguments[3])[i]++;
  }
}

void BlockedProducts::expectKernelOnce(const ContractionCase &shape, bool packed, unsigned threads,
                                       bool isConsumed, const std::string &name) {
  ContractionData data(shape), expected(shape);
  run(expected, small);
  const auto elements = shape.batch * shape.m * shape.n;
  std::vector<double> sums(static_cast<size_t>(elements));
  std::vector<uint8_t> seen(static_cast<size_t>(elements));
  mpc_rt_dtype_t dtype = shape.out;
  void *const arguments[] = {&dtype, data.out.data(), sums.data(), seen.data()};
  const ResultKernel kernel{addOne, arguments, 4, 1, 1};
  run(data, small, packed, threads, nullptr, &kernel, isConsumed);
  for (int64_t e = 0; e < elements; ++e) {
    ASSERT_EQ(seen[static_cast<size_t>(e)], 1) << name << ", element " << e;
    ASSERT_EQ(sums[static_cast<size_t>(e)], 1 + loadElement(dtype, expected.out.data(), e))
        << name << ", element " << e;
  }
  if (!isConsumed)
    EXPECT_EQ(data.out, expected.out) << name;
  else if (!shape.accumulate)
    EXPECT_EQ(data.out, data.initial) << name << " wrote what nobody reads";
}

TEST_P(BlockedProducts, RunAKernelOnceOnEveryElement) {
  for (uint32_t i = 0; i < 60; ++i) {
    const ContractionCase shape = draw(i);
    expectKernelOnce(shape, /*packed=*/shape.batch == 1 && i % 3 == 0, 1 + i % 3,
                     /*isConsumed=*/i % 2, "case " + std::to_string(i));
  }
}

// Rows that lie together are multiplied by all panels, some at a time: of one vector of columns, of
// two, of three, of four, and more than the result of some rows may have at once.
TEST_P(BlockedProducts, MultiplyShortRows) {
  uint32_t i = 0;
  for (int64_t m : {1, 13, 60, 150})
    for (int64_t n : {10, 16, 24, 40, 48, 80, 96, 144, 512, 1024, 1025})
      for (int64_t k : {1, 33, 64, 130}) {
        ContractionCase shape = draw(i++);
        shape.batch = 1;
        shape.m = m, shape.n = n, shape.k = k;
        shape.transposeLhs = false;
        const std::string name =
            std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k);
        ContractionData data(shape);
        uint32_t largest = 0;
        run(data, small, /*packed=*/true, 1 + i % 3, &largest);
        EXPECT_EQ(data.difference(), "") << name;
        EXPECT_EQ(largest, data.largest()) << name;
        expectKernelOnce(shape, /*packed=*/true, 1 + i % 3, /*isConsumed=*/i % 2, name);
      }
}

// Sums that are the result already, on lines of memory and between them.
TEST_P(BlockedProducts, MultiplyShortRowsWhereTheResultLies) {
  for (int64_t n : {16, 40, 80, 96, 144, 512})
    for (size_t offset : {0, 16, 64, 80}) {
      ContractionCase shape;
      shape.m = 62, shape.n = n, shape.k = 24;
      shape.lhs = shape.rhs = widens() ? MPC_RT_FLOAT32 : MPC_RT_BFLOAT16;
      ContractionData data(shape);
      Buffer memory;
      ASSERT_TRUE(memory.allocate(data.out.size() + offset));
      uint8_t *out = memory.data() + offset;
      uint32_t largest = 0, *asked = offset >= 64 ? &largest : nullptr;
      run(data, small, true, 2, asked, nullptr, false, {}, nullptr, nullptr, out);
      data.out.assign(out, out + data.out.size());
      EXPECT_EQ(data.difference(), "") << n << " columns, " << offset << " bytes off a line";
      EXPECT_EQ(largest, asked ? data.largest() : 0);
    }
}

// Blocks as long as rows, and rows of several blocks.
TEST_P(BlockedProducts, RunAKernelOnBlocksOfTheRealSize) {
  for (int64_t n : {1056, 4200}) {
    ContractionCase shape;
    shape.lhs = shape.rhs = shape.out = widens() ? MPC_RT_FLOAT32 : MPC_RT_BFLOAT16;
    shape.m = 130, shape.n = n, shape.k = 33;
    ContractionData data(shape);
    std::vector<double> sums(static_cast<size_t>(shape.m * n));
    std::vector<uint8_t> seen(sums.size());
    void *const arguments[] = {&shape.out, data.out.data(), sums.data(), seen.data()};
    const ResultKernel kernel{addOne, arguments, 4, 1, 1};
    run(data, *std::get<0>(GetParam()), false, 2, nullptr, &kernel);
    EXPECT_EQ(data.difference(), "");
    for (int64_t e = 0; e < shape.m * n; ++e) {
      ASSERT_EQ(seen[static_cast<size_t>(e)], 1) << "element " << e;
      ASSERT_EQ(sums[static_cast<size_t>(e)], 1 + loadElement(shape.out, data.out.data(), e));
    }
  }
}

// Bits that a product makes, and another one reads.
TEST_P(BlockedProducts, MakeAndReadBits) {
  for (uint32_t i = 0; i < 60; ++i) {
    ContractionCase shape = draw(i);
    const bool reads = i % 2;
    shape.batch = 1;
    shape.accumulate = false;
    shape.relu = !reads;
    shape.hasBias &= !reads;
    ContractionData data(shape), whole(shape);
    run(whole, small);
    const int64_t rowBytes = (shape.n + 127) / 128 * 16;
    std::vector<uint8_t> bits(static_cast<size_t>(shape.m * rowBytes));
    for (size_t byte = 0; reads && byte < bits.size(); ++byte)
      bits[byte] = static_cast<uint8_t>(byte * 37 + byte / 11);
    const std::vector<uint8_t> given = bits;
    run(data, small, i % 3 == 0, 1 + i % 3, nullptr, nullptr, false,
        reads ? ReluBits{bits.data(), nullptr} : ReluBits{nullptr, bits.data()});
    if (reads)
      EXPECT_EQ(bits, given);
    for (int64_t m = 0; m < shape.m; ++m)
      for (int64_t n = 0; n < shape.n; ++n) {
        const bool bit = bits[static_cast<size_t>(m * rowBytes + n / 8)] >> n % 8 & 1;
        const double product = loadElement(shape.out, whole.out.data(), m * shape.n + n);
        ASSERT_EQ(loadElement(shape.out, data.out.data(), m * shape.n + n),
                  reads && !bit ? 0 : product)
            << "case " << i << " at " << m << ", " << n;
        if (!reads)
          ASSERT_EQ(bit, product > 0) << "case " << i << " at " << m << ", " << n;
      }
  }
}

// The sums of these numbers depend on the order: it is row by row, whatever the blocks are.
TEST_P(BlockedProducts, SumColumnsOfRhs) {
  for (uint32_t i = 0; i < 60; ++i) {
    ContractionCase shape = draw(i);
    shape.batch = 1;
    shape.transposeRhs = false;
    ContractionData data(shape);
    std::vector<float> wanted(static_cast<size_t>(shape.n));
    for (int64_t k = 0; k < shape.k; ++k)
      for (int64_t n = 0; n < shape.n; ++n) {
        storeElement(shape.rhs, data.rhs.data(), k * shape.n + n,
                     std::sin(static_cast<double>(k * shape.n + n)));
        wanted[static_cast<size_t>(n)] +=
            static_cast<float>(loadElement(shape.rhs, data.rhs.data(), k * shape.n + n));
      }
    std::vector<float> sums(wanted.size(), -1.0f);
    run(data, small, false, 1 + i % 5, nullptr, nullptr, false, {}, sums.data());
    EXPECT_EQ(sums, wanted) << "case " << i;
  }
}

// Numbers a little beside those that both 16-bit dtypes hold.
TEST_P(BlockedProducts, RoundTheLhs) {
  for (uint32_t i = 0; i < 60; ++i) {
    ContractionCase shape = draw(i);
    shape.lhs = shape.rhs = widens() && i % 2 ? MPC_RT_FLOAT16 : MPC_RT_BFLOAT16;
    ContractionData data(shape);
    std::vector<float> wide(static_cast<size_t>(shape.batch * shape.m * shape.k));
    for (size_t e = 0; e < wide.size(); ++e)
      wide[e] = static_cast<float>(
          loadElement(shape.lhs, data.lhs.data(), static_cast<int64_t>(e)) * (1 + 0x1p-13));
    run(data, i % 3 ? small : *std::get<0>(GetParam()), i % 4 == 1 && shape.batch == 1, 1 + i % 3,
        nullptr, nullptr, false, {}, nullptr, &wide);
    EXPECT_EQ(data.difference(), "") << "case " << i;
  }
}

// A number that is not finite reaches the elements that it belongs to, and no others: the zeros
// that panels are filled up with would make NaN of it.
TEST_P(BlockedProducts, KeepNanAndInfinityInTheirRowsAndColumns) {
  for (double value : {std::nan(""), std::numeric_limits<double>::infinity()})
    for (bool left : {true, false}) {
      ContractionCase shape;
      shape.lhs = shape.rhs = MPC_RT_BFLOAT16;
      shape.m = 35, shape.n = 37, shape.k = 41;
      ContractionData data(shape);
      for (int64_t i = 0; i < shape.k * shape.n; ++i)
        storeElement(shape.rhs, data.rhs.data(), i, 1.0);
      for (int64_t i = 0; i < shape.m * shape.k; ++i)
        storeElement(shape.lhs, data.lhs.data(), i, 1.0);
      const int64_t row = 34, column = 36, k = 40;
      storeElement(MPC_RT_BFLOAT16, left ? data.lhs.data() : data.rhs.data(),
                   left ? row * shape.k + k : k * shape.n + column, value);
      run(data, small);
      for (int64_t m = 0; m < shape.m; ++m)
        for (int64_t n = 0; n < shape.n; ++n) {
          double have = loadElement(shape.out, data.out.data(), m * shape.n + n);
          if (left ? m == row : n == column)
            EXPECT_EQ(std::isnan(have), std::isnan(value)) << m << ", " << n;
          else
            EXPECT_EQ(have, 41.0) << m << ", " << n;
        }
    }
}

std::string
nameOfProduct(const ::testing::TestParamInfo<std::tuple<const MicroKernel *, bool>> &info) {
  return testNameOf(*std::get<0>(info.param)) + (std::get<1>(info.param) ? "PackingOnce" : "");
}

INSTANTIATE_TEST_SUITE_P(Every, BlockedProducts,
                         ::testing::Combine(::testing::Values(&amxBFloat16, &avx512BFloat16,
                                                              &avx512Float32, &avx512Float32Ahead,
                                                              &avx512Widened, &avx2Float32,
                                                              &sse4Float32),
                                            ::testing::Bool()),
                         nameOfProduct);

// These kernels differ in how they pack, in their blocks and in what their panels hold; each sum
// goes along k in all of them.
class Float32Products : public BlockedProducts {
protected:
  // Before AVX2 there is no instruction that rounds once.
  static float addProduct(float a, float b, float sum) {
    if (std::get<0>(GetParam()) != &sse4Float32)
      return std::fma(a, b, sum);
    volatile float product = a * b;
    return sum + product;
  }
};

TEST_P(Float32Products, SumAlongK) {
  for (int flags = 0; flags < (widens() ? 8 : 4); ++flags)
    for (int64_t k : {64, 129, 192}) {
      const int transposed = flags % 4;
      ContractionCase shape;
      shape.lhs = shape.rhs = flags < 4 ? MPC_RT_BFLOAT16 : MPC_RT_FLOAT32;
      shape.m = 62, shape.n = 200, shape.k = k;
      shape.transposeLhs = transposed & 1, shape.transposeRhs = transposed & 2;
      ContractionData data(shape);
      for (int64_t i = 0; i < shape.m * k; ++i)
        storeElement(shape.lhs, data.lhs.data(), i, std::sin(static_cast<double>(i)));
      for (int64_t i = 0; i < k * shape.n; ++i)
        storeElement(shape.rhs, data.rhs.data(), i, std::cos(static_cast<double>(i)));
      std::vector<uint8_t> wanted(data.out.size());
      for (int64_t m = 0; m < shape.m; ++m)
        for (int64_t n = 0; n < shape.n; ++n) {
          float sum = 0;
          for (int64_t i = 0; i < k; ++i) {
            const int64_t left = shape.transposeLhs ? i * shape.m + m : m * k + i;
            const int64_t right = shape.transposeRhs ? n * k + i : i * shape.n + n;
            sum =
                addProduct(static_cast<float>(loadElement(shape.lhs, data.lhs.data(), left)),
                           static_cast<float>(loadElement(shape.rhs, data.rhs.data(), right)), sum);
          }
          storeElement(shape.out, wanted.data(), m * shape.n + n, sum);
        }
      run(data, small, /*packed=*/k == 129);
      EXPECT_EQ(data.out, wanted) << "k " << k << ", transposed " << transposed;
    }
}

INSTANTIATE_TEST_SUITE_P(Every, Float32Products,
                         ::testing::Combine(::testing::Values(&avx512Float32, &avx512Float32Ahead,
                                                              &avx512Widened, &avx2Float32,
                                                              &sse4Float32),
                                            ::testing::Bool()),
                         nameOfProduct);

} // namespace
} // namespace mpc::rt
