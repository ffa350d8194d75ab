// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kept integer weights on AVX-512: products of int8 against the plain loop, and what the panels of
// floating weights hold, number by number.
#include "mpc-rt/device.h"
#include "runtime/base/cpu.h"
#include "runtime/base/element.h"
#include "runtime/base/memory.h"
#include "runtime/drivers/cpu/kernels/int8_kernel.h"
#include "runtime/drivers/cpu/kernels/weight_kernel.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace mpc::rt {
namespace {

bool has(uint64_t feature) {
  return cpu().isa >= MPC_RT_ISA_X86_64_V4 && (cpu().features & feature);
}

std::vector<int8_t> draw(int64_t count, uint32_t seed) {
  std::vector<int8_t> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<int8_t>((i * 2654435761u + seed * 40503u) >> 13);
  if (count > 1)
    values[0] = values[1] = -128;
  return values;
}

// Products of bytes by each kernel that this CPU has.
class Int8Kernels : public ::testing::TestWithParam<const Int8Kernel *> {
protected:
  void SetUp() override {
    const bool runs = &kernel == &amxInt8    ? has(MPC_RT_FEATURE_AMX_INT8) && mayUseTiles()
                      : &kernel == &vnniInt8 ? has(MPC_RT_FEATURE_AVX512_VNNI)
                                             : cpu().isa >= MPC_RT_ISA_X86_64_V3;
    if (!runs)
      GTEST_SKIP() << "this CPU has no " << kernel.name;
  }

  void check(int64_t m, int64_t n, int64_t k, bool transposed, const std::vector<int8_t> &lhs,
             const std::vector<int8_t> &rhs) {
    Contraction c;
    c.batch = 1, c.m = m, c.n = n, c.k = k, c.transposeRhs = transposed;
    Buffer weights, scratch;
    reserve(weights, kernel.weightBytes(c));
    reserve(scratch, kernel.scratchBytes(c, team.threads()));
    std::memset(scratch.data(), 0x5a, scratch.size());
    // The numbers around the result must stay.
    constexpr int32_t other = 0x12345678;
    std::vector<int32_t> out(static_cast<size_t>(m * n) + 128, other), expected = out;
    team.begin();
    kernel.packWeights(team, c, rhs.data(), reinterpret_cast<int8_t *>(weights.data()));
    kernel.multiply(team, c, lhs.data(), reinterpret_cast<const int8_t *>(weights.data()),
                    scratch.data(), out.data() + 64);
    contractInt8(team, /*avx2=*/false, c, lhs.data(), rhs.data(), expected.data() + 64);
    team.end();
    EXPECT_EQ(out, expected) << m << " x " << n << " x " << k << (transposed ? " ^T" : "");
  }

  const Int8Kernel &kernel = *GetParam();
  ThreadTeam team{2};
};

INSTANTIATE_TEST_SUITE_P(Every, Int8Kernels, ::testing::Values(&avx2Int8, &vnniInt8, &amxInt8),
                         [](const auto &info) { return std::string(info.param->name); });

TEST_P(Int8Kernels, MultiplyExactly) {
  uint32_t seed = 0;
  for (int64_t m : {1, 2, 5, 6, 7, 17, 50, 97})
    for (int64_t n : {1, 16, 17, 64, 130})
      for (int64_t k : {1, 3, 4, 63, 256})
        for (bool transposed : {false, true}) {
          const auto lhs = draw(m * k, ++seed);
          check(m, n, k, transposed, lhs, draw(k * n, seed + 1000));
        }
  // More rows than a block has, and more than are packed at a time; several chunks of k.
  for (int64_t m : {400, 1200})
    check(m, 40, 1100, false, draw(m * 1100, 1), draw(1100 * 40, 2));
}

TEST_P(Int8Kernels, WrapAround) {
  // In one of the kernels the shift of its weights makes sums wrap around, too.
  constexpr int64_t deep = 150001;
  check(2, 3, deep, false, std::vector<int8_t>(2 * deep, -128),
        std::vector<int8_t>(3 * deep, -128));
}

// Rows of a tile with the numbers 0 to 15 and -8 to 7, in runs of blocks that begin anywhere.
struct Tile {
  static constexpr int64_t rows = 13, steps = 16, columns = 64, blocks = 3;
  std::vector<int8_t> numbers = draw(rows * columns / 2, 7);
  alignas(64) float adjustments[blocks][2][columns];
  int32_t blockOf[rows] = {0, 0, 0, 1, 1, 2, 1, 1, 1, 1, 0, 2, 2};

  explicit Tile(mpc_rt_dtype_t dtype) {
    for (int block = 0; block < blocks; ++block)
      for (int column = 0; column < columns; ++column) {
        adjustments[block][0][column] = static_cast<float>((block + column) % 16 - 8);
        adjustments[block][1][column] =
            static_cast<float>(roundElement(dtype, 0.013 * (column + 1) + block));
      }
  }
  float divisorOf(mpc_rt_dtype_t dtype, int64_t row) const {
    return static_cast<float>(roundElement(dtype, 0.3 + 0.07 * double(row)));
  }
  double weight(mpc_rt_dtype_t dtype, int64_t row, int64_t column, bool isDivided) const {
    const int byte = numbers[static_cast<size_t>(row * columns / 2 + column % 32)];
    const int number = column < 32 ? ((byte & 15) ^ 8) - 8 : byte >> 4;
    const auto &own = adjustments[blockOf[row]];
    const double scaled =
        roundElement(dtype, double((float(number) - own[0][column]) * own[1][column]));
    return isDivided ? roundElement(dtype, scaled / double(divisorOf(dtype, row))) : scaled;
  }
};

enum class Change { none, division, multiplication };

void checkPanel(const WeightKernel &kernel, mpc_rt_dtype_t dtype, Change change) {
  Tile tile(dtype);
  const int64_t depth = kernel.kernel.depth;
  std::vector<float> factors;
  for (int64_t row = 0; row < Tile::rows; ++row) {
    const float divisor = tile.divisorOf(dtype, row);
    factors.push_back(change == Change::multiplication ? 1.0f / divisor : divisor);
  }
  alignas(64) static uint8_t panel[Tile::steps * 2 * Tile::columns * 4];
  const mpc_rt_dtype_t stored = depth == 2 ? MPC_RT_BFLOAT16 : MPC_RT_FLOAT32;
  const WidenWeights *widen = change == Change::none       ? kernel.scaled
                              : change == Change::division ? kernel.divided
                                                           : kernel.multiplied;
  widen[dtype](
      {tile.numbers.data(), Tile::rows, &tile.adjustments[0][0][0], tile.blockOf, factors.data()},
      Tile::steps / depth, panel);
  for (int64_t row = 0; row < Tile::steps; ++row)
    for (int64_t column = 0; column < Tile::columns; ++column) {
      const int64_t index = (row / depth * Tile::columns + column) * depth + row % depth;
      EXPECT_EQ(loadElement(stored, panel, index),
                row < Tile::rows ? tile.weight(dtype, row, column, change != Change::none) : 0.0)
          << "row " << row << ", column " << column << ", change " << static_cast<int>(change);
    }
}

TEST(IntegerWeights, BecomePanelsOfScaledNumbers) {
  if (!has(MPC_RT_FEATURE_AVX512_V4))
    GTEST_SKIP() << "this CPU has no AVX-512";
  for (Change change : {Change::none, Change::division}) {
    checkPanel(avx512Float32Weights, MPC_RT_FLOAT32, change);
    checkPanel(avx512Float32Weights, MPC_RT_FLOAT16, change);
  }
}

TEST(IntegerWeights, BecomePanelsOfBFloat16) {
  if (!has(MPC_RT_FEATURE_AVX512_BF16))
    GTEST_SKIP() << "this CPU has no AVX512-BF16";
  for (Change change : {Change::none, Change::division, Change::multiplication})
    checkPanel(avx512BFloat16Weights, MPC_RT_BFLOAT16, change);
}

// Numbers in pairs, of runs that belong to blocks in any order, with zeros and scales at the ends
// of what they may be. The panel has whole runs.
struct PairTile {
  static constexpr int64_t runs = 6, rows = runs * pairRun - 9, steps = runs * pairRun / 2;
  static constexpr int64_t columns = 64, blocks = 3;
  static constexpr int32_t blockOfRun[runs] = {0, 0, 2, 1, 1, 0};
  alignas(64) uint32_t numbers[runs][columns][2] = {};
  alignas(64) float adjustments[blocks][2][columns];
  int32_t blockOf[rows];
  float divisors[2 * steps], reciprocals[2 * steps];

  static int numberAt(int64_t row, int64_t column) {
    return static_cast<int>((row * 31 + column * 7 + row / 5) % 16) - 8;
  }

  PairTile() {
    constexpr double scales[] = {0.013, -3.7, 0x1p99, 0x1p-60, 0.0};
    for (int64_t row = 0; row < rows; ++row) {
      blockOf[row] = blockOfRun[row / pairRun];
      for (int64_t column = 0; column < columns; ++column)
        numbers[row / pairRun][column][row % 2] |= static_cast<uint32_t>(numberAt(row, column) + 8)
                                                   << (row % pairRun / 2 * 4);
    }
    for (int64_t block = 0; block < blocks; ++block)
      for (int64_t column = 0; column < columns; ++column) {
        adjustments[block][0][column] = static_cast<float>((block * 64 + column) * 2 - 128);
        adjustments[block][1][column] = static_cast<float>(roundElement(
            MPC_RT_BFLOAT16, scales[(block + column) % 5] * (1 + double(column) / 64)));
      }
    for (int64_t row = 0; row < 2 * steps; ++row) {
      divisors[row] = static_cast<float>(roundElement(MPC_RT_BFLOAT16, 0.3 + 0.07 * double(row)));
      reciprocals[row] = 1.0f / divisors[row];
    }
  }
  double weight(int64_t row, int64_t column, bool isDivided) const {
    const auto &own = adjustments[blockOf[row]];
    const double scaled = roundElement(
        MPC_RT_BFLOAT16, (numberAt(row, column) - double(own[0][column])) * double(own[1][column]));
    return isDivided ? roundElement(MPC_RT_BFLOAT16, scaled / double(divisors[row])) : scaled;
  }
};

TEST(IntegerWeights, InPairsBecomePanelsOfBFloat16) {
  if (!has(MPC_RT_FEATURE_AVX512_BF16))
    GTEST_SKIP() << "this CPU has no AVX512-BF16";
  const PairTile tile;
  alignas(64) static uint16_t panel[PairTile::steps][PairTile::columns][2];
  for (bool isDivided : {false, true}) {
    avx512BFloat16Weights.pairs[isDivided ? 1 : 0]({reinterpret_cast<const int8_t *>(tile.numbers),
                                                    PairTile::rows, &tile.adjustments[0][0][0],
                                                    tile.blockOf, tile.reciprocals},
                                                   PairTile::steps, panel);
    for (int64_t row = 0; row < 2 * PairTile::steps; ++row)
      for (int64_t column = 0; column < PairTile::columns; ++column)
        ASSERT_EQ(loadElement(MPC_RT_BFLOAT16, &panel[row / 2][column][row % 2], 0),
                  row < PairTile::rows ? tile.weight(row, column, isDivided) : 0.0)
            << "row " << row << ", column " << column << ", divided " << isDivided;
  }
}

// WeightScales::reciprocals relies on this, here shown for all significands; exponents change
// nothing.
TEST(IntegerWeights, AreDividedByMultiplicationInBFloat16) {
  for (int a = 128; a < 256; ++a)
    for (int d = 128; d < 256; ++d) {
      const float divided = float(a) / float(d), multiplied = float(a) * (1.0f / float(d));
      ASSERT_EQ(roundElement(MPC_RT_BFLOAT16, double(divided)),
                roundElement(MPC_RT_BFLOAT16, double(multiplied)))
          << a << " / " << d;
      ASSERT_EQ(roundElement(MPC_RT_BFLOAT16, double(divided)),
                roundElement(MPC_RT_BFLOAT16, double(a) / double(d)));
    }
}

} // namespace
} // namespace mpc::rt
