// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bits of relu's derivative by the vector kernels of each ISA level that this CPU has: every
// pattern of 16 bits, those of float32 around what matters, and every count within a few vectors.
#include "mpc-rt/device.h"
#include "runtime/base/cpu.h"
#include "runtime/base/rounding.h"
#include "runtime/base/vector_kernels.h"

#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

using namespace mpc::rt;

namespace {

// This byte is behind the last byte of bits, and behind the last element.
constexpr uint8_t untouched = 0xA5;

bool bitOf(const std::vector<uint8_t> &bits, size_t i) { return bits[i / 8] >> i % 8 & 1; }

template <typename Pattern>
void checkMask(MaskPositive maskPositive, const std::vector<Pattern> &values,
               float (*widen)(Pattern)) {
  const size_t bytes = (values.size() + 7) / 8;
  std::vector<uint8_t> mask(bytes + 1, untouched);
  maskPositive(values.data(), mask.data(), values.size());
  for (size_t i = 0; i < 8 * bytes; ++i)
    ASSERT_EQ(bitOf(mask, i), i < values.size() && widen(values[i]) > 0.0f)
        << i << " of " << values.size();
  EXPECT_EQ(mask[bytes], untouched);
}

template <typename Pattern> void checkKeep(KeepWhere keepWhere, size_t count) {
  std::vector<uint8_t> where((count + 7) / 8);
  for (size_t i = 0; i < where.size(); ++i)
    where[i] = static_cast<uint8_t>(i * 37 + 11);
  std::vector<Pattern> values(count + 1), wanted(count + 1);
  for (size_t i = 0; i <= count; ++i) {
    values[i] = static_cast<Pattern>(~i); // negative, NaN
    wanted[i] = i == count || bitOf(where, i) ? values[i] : Pattern{0};
  }
  keepWhere(where.data(), values.data(), count);
  EXPECT_EQ(values, wanted) << count;
}

float floatOfPattern(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

template <typename Test> void onEachLevel(Test test) {
  for (int isa = 0; isa <= cpu().isa; ++isa) {
    SCOPED_TRACE(isa);
    test(vectorKernels(isa));
  }
}

TEST(ReluBits, SayWhichAreGreaterThanZero) {
  std::vector<uint16_t> every(0x10000);
  for (size_t i = 0; i < every.size(); ++i)
    every[i] = static_cast<uint16_t>(i);
  std::vector<uint32_t> words;
  for (uint32_t middle : {0u, 0x00800000u, 0x3F800000u, 0x7F800000u, 0x7FFFFFFFu, 0x80000000u,
                          0x80800000u, 0xFF800000u})
    for (uint32_t around = 0; around < 5; ++around)
      words.push_back(middle + around - 2);
  onEachLevel([&](const VectorKernels &kernels) {
    checkMask(kernels.maskPositive[1], every, widenBFloat16);
    checkMask(kernels.maskPositive[2], every, widenFloat16);
    for (size_t count = 0; count <= words.size(); ++count)
      checkMask(kernels.maskPositive[0], {words.begin(), words.begin() + std::ptrdiff_t(count)},
                floatOfPattern);
    for (size_t count = 0; count <= 70; ++count)
      checkMask<uint16_t>(kernels.maskPositive[1],
                          {every.begin() + 0x7F60, every.begin() + std::ptrdiff_t(0x7F60 + count)},
                          widenBFloat16);
  });
}

TEST(ReluBits, KeepWhatTheyAreSetFor) {
  onEachLevel([](const VectorKernels &kernels) {
    for (size_t count = 0; count <= 70; ++count) {
      checkKeep<uint16_t>(kernels.keepWhere16, count);
      checkKeep<uint32_t>(kernels.keepWhere32, count);
    }
  });
}

} // namespace
