// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Software tiles against the manual's own loops, and what they end the program for.
#include "runtime/base/cpu.h"
#include "runtime/base/philox.h"
#include "runtime/base/rounding.h"
#include "test/SoftwareTiles/software.h"

#include "mpc-rt/device.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <thread>
#include <vector>

namespace mpc::tiles {
namespace {

struct Configuration {
  uint8_t palette = 1, startRow = 0, reserved[14] = {};
  uint16_t rowBytes[16] = {};
  uint8_t rows[16] = {};
};

// Tile 0 has m x n sums, tile 1 m x 2 k numbers, tile 2 k x 2 n; tile 3 is like tile 2.
Configuration shapes(int m, int n, int k) {
  Configuration c;
  const int rows[] = {m, m, k, k}, words[] = {n, k, n, n};
  for (int tile = 0; tile < 4; ++tile) {
    c.rows[tile] = static_cast<uint8_t>(rows[tile]);
    c.rowBytes[tile] = static_cast<uint16_t>(4 * words[tile]);
  }
  return c;
}

class SoftwareTiles : public ::testing::Test {
protected:
  void SetUp() override { permit(); }
  void TearDown() override { release(); }
};

class SoftwareProducts : public SoftwareTiles {
protected:
  void SetUp() override {
    SoftwareTiles::SetUp();
    if (!(rt::cpu().features & MPC_RT_FEATURE_AMX_BF16))
      GTEST_SKIP() << "this CPU has no AVX-512";
  }
};

using SoftwareTilesDeathTest = SoftwareTiles;

float withoutDenormal(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? x * 0.0f : x; }

float fusedProduct(uint16_t a, uint16_t b, float sum) {
  auto wide = [](uint16_t x) { return withoutDenormal(rt::floatOf(uint32_t{x} << 16)); };
  return withoutDenormal(std::fma(wide(a), wide(b), withoutDenormal(sum)));
}

// TDPBF16PS as the manual has it, element by element.
void reference(int m, int n, int k, float (*sums)[16], const uint16_t (*lhs)[32],
               const uint16_t (*rhs)[32]) {
  for (int row = 0; row < m; ++row)
    for (int column = 0; column < n; ++column) {
      float parts[2] = {};
      for (int pair = 0; pair < k; ++pair)
        for (int half = 0; half < 2; ++half)
          parts[half] =
              fusedProduct(lhs[row][2 * pair + half], rhs[pair][2 * column + half], parts[half]);
      sums[row][column] = withoutDenormal(withoutDenormal(sums[row][column]) +
                                          withoutDenormal(parts[0] + parts[1]));
    }
}

TEST_F(SoftwareProducts, AreWhatTheManualSays) {
  uint32_t next = 0;
  for (int turn = 0; turn < 300; ++turn) {
    auto draw = [&] { return rt::philox({{next++, 0, 0, 0}}, 3, 0).word[0]; };
    const int m = 1 + draw() % 16, n = 1 + draw() % 16, k = 1 + draw() % 16;
    // Any bits, or (mostly) numbers near the denormals, or near one.
    auto number = [&]() -> uint32_t {
      const uint32_t bits = draw();
      return turn % 8 == 0 ? bits
             : turn % 2    ? (bits & 0x807fffff) | (56 + bits % 16) << 23
                           : (bits & 0x807fffff) | (120 + bits % 16) << 23;
    };
    float sums[16][16], found[16][16];
    uint16_t lhs[16][32], rhs[16][32];
    for (auto &row : sums)
      for (float &sum : row)
        sum = rt::floatOf(turn % 2 ? number() & 0x80ffffff : number());
    for (auto *matrix : {&lhs, &rhs})
      for (auto &row : *matrix)
        for (uint16_t &element : row)
          element = static_cast<uint16_t>(number() >> 16);
    std::memcpy(found, sums, sizeof(sums));
    reference(m, n, k, sums, lhs, rhs);
    const Configuration configuration = shapes(m, n, k);
    loadConfiguration(&configuration);
    load(0, found, sizeof(found[0]));
    load(1, lhs, sizeof(lhs[0]));
    load(2, rhs, sizeof(rhs[0]));
    multiplyBFloat16(0, 1, 2);
    store(0, found, sizeof(found[0]));
    for (int row = 0; row < 16; ++row)
      for (int column = 0; column < 16; ++column)
        ASSERT_TRUE(rt::bitsOf(found[row][column]) == rt::bitsOf(sums[row][column]) ||
                    (std::isnan(found[row][column]) && std::isnan(sums[row][column])))
            << "turn " << turn << ", row " << row << ", column " << column << ": "
            << found[row][column] << " instead of " << sums[row][column];
  }
}

TEST_F(SoftwareProducts, OfBytesWrapAround) {
  uint32_t next = 0;
  for (int turn = 0; turn < 100; ++turn) {
    auto draw = [&] { return rt::philox({{next++, 0, 0, 0}}, 5, 0).word[0]; };
    const int m = 1 + draw() % 16, n = 1 + draw() % 16, k = 1 + draw() % 16;
    int32_t sums[16][16], found[16][16];
    int8_t lhs[16][64], rhs[16][64];
    for (auto &row : sums)
      for (int32_t &sum : row)
        sum = static_cast<int32_t>(turn % 2 ? draw() : 0x7fffff00);
    for (auto *matrix : {&lhs, &rhs})
      for (auto &row : *matrix)
        for (int8_t &element : row)
          element = static_cast<int8_t>(turn % 8 ? draw() >> 24 : 0x80);
    std::memcpy(found, sums, sizeof(sums));
    for (int row = 0; row < m; ++row)
      for (int column = 0; column < n; ++column)
        for (int i = 0; i < 4 * k; ++i)
          sums[row][column] = static_cast<int32_t>(static_cast<int64_t>(sums[row][column]) +
                                                   lhs[row][i] * rhs[i / 4][4 * column + i % 4]);
    const Configuration configuration = shapes(m, n, k);
    loadConfiguration(&configuration);
    load(0, found, sizeof(found[0]));
    load(1, lhs, sizeof(lhs[0]));
    load(2, rhs, sizeof(rhs[0]));
    multiplyInt8(0, 1, 2);
    store(0, found, sizeof(found[0]));
    for (int row = 0; row < m; ++row)
      for (int column = 0; column < n; ++column)
        ASSERT_EQ(found[row][column], sums[row][column])
            << "turn " << turn << ", row " << row << ", column " << column;
  }
}

TEST_F(SoftwareProducts, KeepTheControlWord) {
  const Configuration configuration = shapes(16, 16, 16);
  loadConfiguration(&configuration);
  const unsigned before = _mm_getcsr();
  const unsigned other = (before & ~0x803fu) | 0x2000u; // no flags, denormals, rounding down
  _mm_setcsr(other);
  multiplyBFloat16(0, 1, 2);
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(after, other);
}

TEST_F(SoftwareTiles, MoveTheRowsThatAreConfigured) {
  uint8_t from[16][80], to[16][80] = {};
  for (int i = 0; i < 16 * 80; ++i)
    from[i / 80][i % 80] = static_cast<uint8_t>(1 + i % 251);
  const Configuration configuration = shapes(5, 3, 16);
  loadConfiguration(&configuration);
  load(0, from, sizeof(from[0]));
  store(0, to, sizeof(to[0]));
  for (int row = 0; row < 16; ++row)
    for (int byte = 0; byte < 80; ++byte)
      ASSERT_EQ(to[row][byte], row < 5 && byte < 12 ? from[row][byte] : 0);
  zero(0);
  store(0, to, sizeof(to[0]));
  EXPECT_EQ(to[4][11], 0);
}

TEST_F(SoftwareTiles, ShowTheirConfiguration) {
  const Configuration configuration = shapes(5, 3, 16), none = {0};
  Configuration found;
  loadConfiguration(&configuration);
  storeConfiguration(&found);
  EXPECT_EQ(std::memcmp(&found, &configuration, sizeof(found)), 0);
  std::thread([&] { storeConfiguration(&found); }).join();
  EXPECT_EQ(std::memcmp(&found, &none, sizeof(found)), 0) << "each thread has its own";
  release();
  storeConfiguration(&found);
  EXPECT_EQ(std::memcmp(&found, &none, sizeof(found)), 0);
}

TEST_F(SoftwareProducts, RoundPairs) {
  alignas(64) float values[32];
  alignas(64) uint16_t found[32];
  const uint32_t some[] = {0x3f808000, 0x3f818000, 0x3f808001, 0x7f7fffff, 0x7f800000, 0x7f800001,
                           0xffc00001, 0x80000001, 0x007fffff, 0x00800000, 0xbf7fffff, 0};
  for (int i = 0; i < 32; ++i)
    values[i] = rt::floatOf(some[i % 12]);
  [&]() __attribute__((target("avx512f,avx512bw"))) {
    const __m512bh rounded = roundToBFloat16(_mm512_load_ps(values + 16), _mm512_load_ps(values));
    _mm512_store_si512(found, reinterpret_cast<const __m512i &>(rounded));
  }();
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(found[i], rt::roundToBFloat16(withoutDenormal(values[i]))) << values[i];
}

TEST_F(SoftwareTilesDeathTest, EndWhereTheCpuWouldFault) {
  alignas(64) uint8_t memory[1024] = {};
  auto with = [&](Configuration c, auto &&then) {
    loadConfiguration(&c);
    then();
  };
  EXPECT_DEATH(zero(0), "TILEZERO: tiles are not configured");
  EXPECT_DEATH(load(0, memory, 64), "TILELOADD: tiles are not configured");
  EXPECT_DEATH(store(0, memory, 64), "TILESTORED: tiles are not configured");
  EXPECT_DEATH(multiplyBFloat16(0, 1, 2), "TDPBF16PS: tiles are not configured");
  EXPECT_DEATH(multiplyInt8(0, 1, 2), "TDPBSSD: tiles are not configured");
  const Configuration c = shapes(5, 3, 7);
  EXPECT_DEATH(with(c, [] { zero(8); }), "there are 8 tiles");
  EXPECT_DEATH(with(c, [] { zero(4); }), "does not have the tile");
  EXPECT_DEATH(with(c, [] { multiplyBFloat16(0, 2, 1); }), "do not belong together");
  EXPECT_DEATH(with(c, [] { multiplyBFloat16(2, 2, 1); }), "not different ones");
  EXPECT_DEATH(with(shapes(17, 3, 7), [] {}), "up to 16 rows");
  EXPECT_DEATH(with(shapes(5, 17, 7), [] {}), "up to 64 bytes");
  EXPECT_DEATH(with(shapes(0, 3, 7), [] {}), "or neither");
  Configuration wrong = c;
  wrong.reserved[3] = 1;
  EXPECT_DEATH(with(wrong, [] {}), "reserved bytes");
  wrong = c;
  wrong.palette = 2;
  EXPECT_DEATH(with(wrong, [] {}), "no palette but 1");
  EXPECT_DEATH(std::thread([&] { loadConfiguration(&c); }).join(), "expected TILERELEASE");
}

} // namespace
} // namespace mpc::tiles
