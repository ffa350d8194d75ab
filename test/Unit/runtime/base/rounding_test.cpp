// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions between float32 and the 16-bit formats, and float8, against LLVM's APFloat: all
// patterns, and every midpoint between neighbours with the float32 values just below and above it.
// Scalar code and the vector kernels of each ISA level that this CPU has.
#include "runtime/base/cpu.h"
#include "runtime/base/rounding.h"
#include "runtime/base/vector_kernels.h"

#include <gtest/gtest.h>
#include <llvm/ADT/APFloat.h>
#include <vector>

using namespace mpc::rt;

namespace {

struct Format {
  const char *name;
  const llvm::fltSemantics &(*semantics)();
  uint16_t (*round)(float);
  float (*widen)(uint16_t);
};

const llvm::fltSemantics &bfloat() { return llvm::APFloat::BFloat(); }
const llvm::fltSemantics &half() { return llvm::APFloat::IEEEhalf(); }

const Format formats[] = {{"bfloat16", bfloat, roundToBFloat16, widenBFloat16},
                          {"float16", half, roundToFloat16, widenFloat16}};

uint16_t referenceRound(const llvm::fltSemantics &semantics, uint32_t bits) {
  llvm::APFloat value(llvm::APFloat::IEEEsingle(), llvm::APInt(32, bits));
  bool lost;
  value.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &lost);
  return static_cast<uint16_t>(value.bitcastToAPInt().getZExtValue());
}

uint32_t referenceWiden(const llvm::fltSemantics &semantics, uint16_t bits) {
  llvm::APFloat value(semantics, llvm::APInt(16, bits));
  bool lost;
  value.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &lost);
  return static_cast<uint32_t>(value.bitcastToAPInt().getZExtValue());
}

// float32 patterns at, halfway after, and one step around each 16-bit value; and extremes.
std::vector<uint32_t> interesting(const Format &format) {
  std::vector<uint32_t> patterns;
  for (uint32_t value = 0; value < 0x10000; ++value) {
    uint32_t low = referenceWiden(format.semantics(), static_cast<uint16_t>(value));
    uint32_t high = referenceWiden(format.semantics(), static_cast<uint16_t>(value + 1));
    // Neighbours of one sign: the bit patterns are ordered, and the midpoint is representable. It
    // is computed as a value: exponents differ in step between subnormals and normals.
    double middle = (static_cast<double>(floatOf(low)) + static_cast<double>(floatOf(high))) / 2;
    uint32_t midpoint = bitsOf(static_cast<float>(middle));
    for (uint32_t base : {low, midpoint})
      for (uint32_t offset : {0u, 1u, ~0u})
        patterns.push_back(base + offset);
  }
  // Beyond the largest value: 65520 is float16's midpoint to infinity.
  for (uint32_t bits :
       {0x477fefffu, 0x477ff000u, 0x477ff001u, 0x7f7f7fffu, 0x7f7f8000u, 0x7f7fffffu, 0x7f800001u,
        0x7fbfffffu, 0x7fc00000u, 0x7fffffffu, 0x00000001u, 0x007fffffu})
    for (uint32_t sign : {0u, 0x80000000u})
      patterns.push_back(bits | sign);
  return patterns;
}

class Rounding : public ::testing::TestWithParam<int> {
protected:
  const Format &format() const { return formats[GetParam()]; }
};

TEST_P(Rounding, WidensEveryPattern) {
  for (uint32_t value = 0; value < 0x10000; ++value)
    ASSERT_EQ(bitsOf(format().widen(static_cast<uint16_t>(value))),
              referenceWiden(format().semantics(), static_cast<uint16_t>(value)))
        << std::hex << value;
}

TEST_P(Rounding, RoundsAroundEveryMidpoint) {
  auto patterns = interesting(format());
  ASSERT_GT(patterns.size(), 6u * 65536);
  for (uint32_t bits : patterns)
    ASSERT_EQ(format().round(floatOf(bits)), referenceRound(format().semantics(), bits))
        << std::hex << bits;
}

TEST_P(Rounding, VectorKernelsAgreeOnEachIsa) {
  auto patterns = interesting(format());
  std::vector<float> wide(patterns.size());
  std::memcpy(wide.data(), patterns.data(), patterns.size() * sizeof(float));
  for (int isa = 0; isa <= cpu().isa; ++isa) {
    auto &kernels = vectorKernels(isa);
    auto round = GetParam() == 0 ? kernels.roundBFloat16 : kernels.roundFloat16;
    std::vector<uint16_t> narrow(wide.size());
    // Odd start and length: heads and tails of the vector loop.
    round(wide.data() + 1, narrow.data() + 1, wide.size() - 1);
    round(wide.data(), narrow.data(), 1);
    for (size_t i = 0; i < wide.size(); ++i)
      ASSERT_EQ(narrow[i], referenceRound(format().semantics(), patterns[i]))
          << isaName(isa) << " " << std::hex << patterns[i];
  }
}

TEST_P(Rounding, VectorKernelsWidenEveryPattern) {
  std::vector<uint16_t> narrow(65536);
  for (size_t i = 0; i < narrow.size(); ++i)
    narrow[i] = static_cast<uint16_t>(i);
  for (int isa = 0; isa <= cpu().isa; ++isa) {
    auto &kernels = vectorKernels(isa);
    std::vector<float> wide(narrow.size());
    (GetParam() == 0 ? kernels.widenBFloat16 : kernels.widenFloat16)(narrow.data(), wide.data(),
                                                                     narrow.size());
    for (size_t i = 0; i < narrow.size(); ++i) {
      uint32_t want = referenceWiden(format().semantics(), narrow[i]), have = bitsOf(wide[i]);
      // Operands of a product: a signalling NaN may stay signalling.
      if ((want & 0x7fffffffu) > 0x7f800000u)
        want |= 0x400000u, have |= 0x400000u;
      ASSERT_EQ(have, want) << isaName(isa) << " " << std::hex << i;
    }
  }
}

struct Float8 {
  const llvm::fltSemantics &(*semantics)();
  uint8_t (*round)(float);
  float (*widen)(uint8_t);
};

const llvm::fltSemantics &e4m3() { return llvm::APFloat::Float8E4M3FN(); }
const llvm::fltSemantics &e5m2() { return llvm::APFloat::Float8E5M2(); }

TEST(RoundingToFloat8, AgreesWithReference) {
  for (const Float8 &format : {Float8{e4m3, roundToFloat8E4M3FN, widenFloat8E4M3FN},
                               Float8{e5m2, roundToFloat8E5M2, widenFloat8E5M2}}) {
    const llvm::fltSemantics &semantics = format.semantics();
    auto widened = [&](uint32_t code) {
      llvm::APFloat value(semantics, llvm::APInt(8, code));
      bool lost;
      value.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &lost);
      return value.convertToFloat();
    };
    std::vector<uint32_t> patterns = {0x1u,        0x007fffffu, 0x00800000u, 0x477fffffu,
                                      0x47800000u, 0x7f7fffffu, 0x7f800000u, 0x7fc00000u};
    for (uint32_t code = 0; code < 256; ++code) {
      const float low = widened(code), high = widened((code + 1) % 256);
      const float own = format.widen(static_cast<uint8_t>(code));
      ASSERT_TRUE(own == low || (own != own && low != low)) << std::hex << code;
      for (float base : {low, (low + high) / 2})
        for (uint32_t offset : {0u, 1u, ~0u})
          patterns.push_back(bitsOf(base) + offset);
    }
    // The midpoints behind the largest numbers.
    for (float base : {464.0f, 61440.0f})
      for (uint32_t offset : {0u, 1u, ~0u})
        patterns.push_back(bitsOf(base) + offset);
    for (uint32_t magnitude : patterns)
      for (uint32_t bits : {magnitude, magnitude ^ 0x80000000u}) {
        llvm::APFloat value(llvm::APFloat::IEEEsingle(), llvm::APInt(32, bits));
        const bool isNaN = value.isNaN();
        bool lost;
        value.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &lost);
        const uint8_t code = format.round(floatOf(bits));
        if (isNaN) // of any payload
          ASSERT_NE(format.widen(code), format.widen(code)) << std::hex << bits;
        else
          ASSERT_EQ(code, value.bitcastToAPInt().getZExtValue()) << std::hex << bits;
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, Rounding, ::testing::Values(0, 1),
                         [](auto &info) { return std::string(formats[info.param].name); });

} // namespace
