// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled once per ISA level with MPC_ISA_LEVEL = 2, 3 or 4 (x86-64-vN). Includes nothing that
// defines inline functions with external linkage: the linker could otherwise pick an AVX-512 copy
// for code that runs on every CPU.
#include "runtime/base/vector_kernels.h"
#include "runtime/base/vector_types.h"

#include <immintrin.h>

#define MPC_CONCAT_(a, b) a##b
#define MPC_CONCAT(a, b) MPC_CONCAT_(a, b)

namespace mpc::rt {
namespace {

// Numbers of `Type` that lie in memory as float32, before rounding.
template <typename Type> struct Rounded {
  using Storage = float;
  static float load(float value) { return Type::load(Type::store(value)); }
};

template <typename Type>
void widen(const typename Type::Storage *__restrict from, float *__restrict to, size_t count) {
  for (size_t i = 0; i < count; ++i)
    to[i] = Type::load(from[i]);
}

template <typename Type>
void narrow(const float *__restrict from, typename Type::Storage *__restrict to, size_t count) {
  for (size_t i = 0; i < count; ++i)
    to[i] = Type::store(from[i]);
}

template <typename Bits> uint32_t largest(const Bits *bits, size_t count) {
  constexpr Bits magnitude = static_cast<Bits>(static_cast<Bits>(~Bits{0}) >> 1);
  Bits most = 0;
  for (size_t i = 0; i < count; ++i) {
    Bits value = bits[i] & magnitude;
    most = value > most ? value : most;
  }
  return most;
}

// ---- Bits of relu -------------------------------------------------------------------------------

// Patterns from 1 to that of infinity are numbers above 0.
constexpr int32_t infinity32 = 0x7F800000;
constexpr int16_t infinityOfBFloat16 = 0x7F80, infinityOfFloat16 = 0x7C00;

// Elements that are looked at at once: whole bytes of bits.
constexpr size_t maskWidth = 16;

inline uint16_t positive(const int16_t *values, int16_t infinity) {
#if MPC_ISA_LEVEL >= 4
  const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(values));
  const __mmask16 above = _mm256_cmpgt_epi16_mask(v, _mm256_setzero_si256());
  return _mm256_mask_cmple_epi16_mask(above, v, _mm256_set1_epi16(infinity));
#elif MPC_ISA_LEVEL == 3
  const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(values));
  const __m256i nan = _mm256_set1_epi16(static_cast<int16_t>(infinity + 1));
  const __m256i above =
      _mm256_and_si256(_mm256_cmpgt_epi16(v, _mm256_setzero_si256()), _mm256_cmpgt_epi16(nan, v));
  return static_cast<uint16_t>(_mm_movemask_epi8(
      _mm_packs_epi16(_mm256_castsi256_si128(above), _mm256_extracti128_si256(above, 1))));
#else
  const __m128i zero = _mm_setzero_si128(),
                nan = _mm_set1_epi16(static_cast<int16_t>(infinity + 1));
  auto above = [&](const int16_t *eight) {
    const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i *>(eight));
    return _mm_and_si128(_mm_cmpgt_epi16(v, zero), _mm_cmpgt_epi16(nan, v));
  };
  return static_cast<uint16_t>(
      _mm_movemask_epi8(_mm_packs_epi16(above(values), above(values + 8))));
#endif
}

inline uint16_t positive(const int32_t *values, int32_t infinity) {
#if MPC_ISA_LEVEL >= 4
  const __m512i v = _mm512_loadu_si512(values);
  const __mmask16 above = _mm512_cmpgt_epi32_mask(v, _mm512_setzero_si512());
  return _mm512_mask_cmple_epi32_mask(above, v, _mm512_set1_epi32(infinity));
#elif MPC_ISA_LEVEL == 3
  const __m256i zero = _mm256_setzero_si256(), nan = _mm256_set1_epi32(infinity + 1);
  auto above = [&](const int32_t *eight) {
    const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(eight));
    const __m256i both = _mm256_and_si256(_mm256_cmpgt_epi32(v, zero), _mm256_cmpgt_epi32(nan, v));
    return _mm256_movemask_ps(_mm256_castsi256_ps(both));
  };
  return static_cast<uint16_t>(above(values) | above(values + 8) << 8);
#else
  const __m128i zero = _mm_setzero_si128(), nan = _mm_set1_epi32(infinity + 1);
  int bits = 0;
  for (int part = 3; part >= 0; --part) {
    const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i *>(values + 4 * part));
    const __m128i above = _mm_and_si128(_mm_cmpgt_epi32(v, zero), _mm_cmpgt_epi32(nan, v));
    bits = bits << 4 | _mm_movemask_ps(_mm_castsi128_ps(above));
  }
  return static_cast<uint16_t>(bits);
#endif
}

inline void keep(int16_t *values, uint16_t bits) {
#if MPC_ISA_LEVEL >= 4
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(values), _mm256_maskz_loadu_epi16(bits, values));
#elif MPC_ISA_LEVEL == 3
  const __m256i singleBits = _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048,
                                               4096, 8192, 16384, INT16_MIN);
  const __m256i all = _mm256_set1_epi16(static_cast<int16_t>(bits));
  const __m256i kept = _mm256_cmpeq_epi16(_mm256_and_si256(all, singleBits), singleBits);
  auto *at = reinterpret_cast<__m256i *>(values);
  _mm256_storeu_si256(at, _mm256_and_si256(_mm256_loadu_si256(at), kept));
#else
  const __m128i singleBits = _mm_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128);
  for (int part = 0; part < 2; ++part) {
    const __m128i byte = _mm_set1_epi16(static_cast<int16_t>(bits >> 8 * part & 0xFF));
    const __m128i kept = _mm_cmpeq_epi16(_mm_and_si128(byte, singleBits), singleBits);
    auto *at = reinterpret_cast<__m128i *>(values + 8 * part);
    _mm_storeu_si128(at, _mm_and_si128(_mm_loadu_si128(at), kept));
  }
#endif
}

inline void keep(int32_t *values, uint16_t bits) {
#if MPC_ISA_LEVEL >= 4
  _mm512_storeu_si512(values, _mm512_maskz_loadu_epi32(bits, values));
#elif MPC_ISA_LEVEL == 3
  const __m256i singleBits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  const __m256i all = _mm256_set1_epi32(bits);
  for (int part = 0; part < 2; ++part) {
    const __m256i own = part ? _mm256_slli_epi32(singleBits, 8) : singleBits;
    const __m256i kept = _mm256_cmpeq_epi32(_mm256_and_si256(all, own), own);
    auto *at = reinterpret_cast<__m256i *>(values + 8 * part);
    _mm256_storeu_si256(at, _mm256_and_si256(_mm256_loadu_si256(at), kept));
  }
#else
  const __m128i singleBits = _mm_setr_epi32(1, 2, 4, 8);
  for (int part = 0; part < 4; ++part) {
    const __m128i four = _mm_set1_epi32(bits >> 4 * part & 0xF);
    const __m128i kept = _mm_cmpeq_epi32(_mm_and_si128(four, singleBits), singleBits);
    auto *at = reinterpret_cast<__m128i *>(values + 4 * part);
    _mm_storeu_si128(at, _mm_and_si128(_mm_loadu_si128(at), kept));
  }
#endif
}

template <typename Pattern, Pattern infinity>
void maskPositive(const void *values, uint8_t *mask, size_t count) {
  const auto *from = static_cast<const Pattern *>(values);
  size_t i = 0;
  for (; i + maskWidth <= count; i += maskWidth) {
    const uint16_t bits = positive(from + i, infinity);
    __builtin_memcpy(mask + i / 8, &bits, sizeof(bits));
  }
  if (i == count)
    return;
  Pattern rest[maskWidth] = {};
  __builtin_memcpy(rest, from + i, (count - i) * sizeof(Pattern));
  const uint16_t bits = positive(rest, infinity);
  __builtin_memcpy(mask + i / 8, &bits, (count - i + 7) / 8);
}

template <typename Pattern> void keepWhere(const uint8_t *where, void *values, size_t count) {
  auto *at = static_cast<Pattern *>(values);
  size_t i = 0;
  uint16_t bits = 0;
  for (; i + maskWidth <= count; i += maskWidth) {
    __builtin_memcpy(&bits, where + i / 8, sizeof(bits));
    keep(at + i, bits);
  }
  if (i == count)
    return;
  Pattern rest[maskWidth] = {};
  __builtin_memcpy(rest, at + i, (count - i) * sizeof(Pattern));
  __builtin_memcpy(&bits, where + i / 8, (count - i + 7) / 8);
  keep(rest, bits);
  __builtin_memcpy(at + i, rest, (count - i) * sizeof(Pattern));
}

template <typename Type, uint32_t flags>
void epilogue(const float *sum, const float *__restrict bias, void *target, size_t count) {
  auto *out = static_cast<typename Type::Storage *>(target);
#pragma clang loop vectorize(assume_safety)
  for (size_t i = 0; i < count; ++i) {
    float value = Type::load(Type::store(sum[i]));
    if constexpr ((flags & epilogueBias) != 0)
      value = Type::load(Type::store(value + bias[i]));
    if constexpr ((flags & epilogueRelu) != 0)
      value = value < 0.0f ? 0.0f : value;
    if constexpr ((flags & epilogueAccumulate) != 0)
      value += Type::load(out[i]);
    out[i] = Type::store(value);
  }
}

template <typename Type, uint32_t flags>
void finish(const float *__restrict bias, void *target, size_t count) {
  auto *out = static_cast<typename Type::Storage *>(target);
  for (size_t i = 0; i < count; ++i) {
    float value = Type::load(out[i]);
    if constexpr ((flags & epilogueBias) != 0)
      value = Type::load(Type::store(value + bias[i]));
    if constexpr ((flags & epilogueRelu) != 0)
      value = value < 0.0f ? 0.0f : value;
    out[i] = Type::store(value);
  }
}

template <typename Type>
void addProducts(const float *__restrict lhs, const void *weights, size_t stride, size_t rows,
                 float *__restrict sums, size_t count) {
  auto *rhs = static_cast<const typename Type::Storage *>(weights);
  // Eight rows for one reading and writing of the sums, added in pairs, which also keeps the
  // rounding error of long sums down.
  for (; rows >= 8; rows -= 8, lhs += 8, rhs += 8 * stride) {
    const typename Type::Storage
        *__restrict r0 = rhs,
                    *__restrict r1 = rhs + stride, *__restrict r2 = r1 + stride,
                    *__restrict r3 = r2 + stride, *__restrict r4 = r3 + stride,
                    *__restrict r5 = r4 + stride, *__restrict r6 = r5 + stride,
                    *__restrict r7 = r6 + stride;
    // Each in a register of its own. Clang would add strides up for every vector, which costs a
    // tenth of the time.
    asm("" : "+r"(r1), "+r"(r2), "+r"(r3), "+r"(r4), "+r"(r5), "+r"(r6), "+r"(r7));
    float a0 = lhs[0], a1 = lhs[1], a2 = lhs[2], a3 = lhs[3], a4 = lhs[4], a5 = lhs[5], a6 = lhs[6],
          a7 = lhs[7];
    for (size_t i = 0; i < count; ++i)
      sums[i] += ((a0 * Type::load(r0[i]) + a1 * Type::load(r1[i])) +
                  (a2 * Type::load(r2[i]) + a3 * Type::load(r3[i]))) +
                 ((a4 * Type::load(r4[i]) + a5 * Type::load(r5[i])) +
                  (a6 * Type::load(r6[i]) + a7 * Type::load(r7[i])));
  }
  for (size_t row = 0; row < rows; ++row, rhs += stride)
    for (size_t i = 0; i < count; ++i)
      sums[i] += lhs[row] * Type::load(rhs[i]);
}

template <typename Type>
void addRows(const void *values, size_t stride, size_t rows, float *__restrict sums, size_t count) {
  const auto *row = static_cast<const typename Type::Storage *>(values);
  for (; rows; --rows, row += stride)
    for (size_t i = 0; i < count; ++i)
      sums[i] += Type::load(row[i]);
}

// Whole vectors of the level: a line takes as few stores as they allow.
void storeAroundCaches(const void *lines, void *to, size_t bytes) {
  constexpr size_t vectorBytes = MPC_ISA_LEVEL == 4 ? 64 : MPC_ISA_LEVEL == 3 ? 32 : 16;
  using Vector = uint32_t __attribute__((vector_size(vectorBytes), may_alias));
  const auto *from = static_cast<const Vector *>(lines);
  auto *target = static_cast<Vector *>(to);
  for (size_t i = 0; i < bytes / sizeof(Vector); ++i)
    __builtin_nontemporal_store(from[i], target + i);
}

// ---- Integer weights ----------------------------------------------------------------------------

constexpr size_t lanes = MPC_ISA_LEVEL == 4 ? 16 : MPC_ISA_LEVEL == 3 ? 8 : 4;
constexpr size_t vectorsAtOnce = 4, columnsAtOnce = lanes * vectorsAtOnce;
using Floats = float __attribute__((vector_size(lanes * 4)));
using Ints = int32_t __attribute__((vector_size(lanes * 4)));
using Bytes = int8_t __attribute__((vector_size(lanes)));

template <bool isInt4> inline Floats loadWeights(const int8_t *row, size_t column) {
  Bytes bytes;
  __builtin_memcpy(&bytes, row + (isInt4 ? column % (tileColumns / 2) : column), sizeof(bytes));
  Ints numbers = __builtin_convertvector(bytes, Ints);
  if (isInt4)
    numbers = column < tileColumns / 2 ? (numbers << 28) >> 28 : numbers >> 4;
  return __builtin_convertvector(numbers, Floats);
}

template <bool isInt4, size_t rows>
void multiplyRows(const int8_t *tile, size_t k, const float *lhs, float *sums, size_t sumStride,
                  size_t columns) {
#ifdef __clang__
#pragma clang fp contract(fast)
#endif
  constexpr size_t rowBytes = isInt4 ? tileColumns / 2 : tileColumns;
  for (size_t first = 0; first < columns; first += columnsAtOnce) {
    Floats total[rows][vectorsAtOnce] = {};
    for (size_t i = 0; i < k; ++i)
      for (size_t v = 0; v < vectorsAtOnce; ++v) {
        Floats weights = loadWeights<isInt4>(tile + i * rowBytes, first + v * lanes);
        for (size_t r = 0; r < rows; ++r)
          total[r][v] += lhs[r * k + i] * weights;
      }
    const size_t count = columns - first < columnsAtOnce ? columns - first : columnsAtOnce;
    for (size_t r = 0; r < rows; ++r)
      __builtin_memcpy(sums + r * sumStride + first, total[r], count * sizeof(float));
  }
}

template <bool isInt4>
void multiplyTile(const int8_t *tile, size_t k, const float *lhs, size_t rows, float *sums,
                  size_t sumStride, size_t columns) {
  constexpr size_t rowsAtOnce = 4;
  for (; rows >= rowsAtOnce; rows -= rowsAtOnce) {
    multiplyRows<isInt4, rowsAtOnce>(tile, k, lhs, sums, sumStride, columns);
    lhs += rowsAtOnce * k;
    sums += rowsAtOnce * sumStride;
  }
  for (; rows; --rows) {
    multiplyRows<isInt4, 1>(tile, k, lhs, sums, sumStride, columns);
    lhs += k;
    sums += sumStride;
  }
}

template <typename Type>
void scaleInt4(const int8_t *__restrict row, const float *__restrict zero,
               const float *__restrict scale, float *__restrict to) {
  constexpr size_t half = tileColumns / 2;
  for (size_t i = 0; i < half; ++i) {
    const int byte = row[i];
    const auto low = static_cast<float>(((byte & 15) ^ 8) - 8);
    const auto high = static_cast<float>(byte >> 4);
    to[i] = Type::load(Type::store((low - zero[i]) * scale[i]));
    to[half + i] = Type::load(Type::store((high - zero[half + i]) * scale[half + i]));
  }
}

template <typename Type> void divideWeights(float divisor, float *row) {
  for (size_t i = 0; i < tileColumns; ++i)
    row[i] = Type::load(Type::store(row[i] / divisor));
}

template <typename Type> constexpr void fill(EpilogueRow *row) {
  row[0] = epilogue<Type, 0>;
  row[1] = epilogue<Type, 1>;
  row[2] = epilogue<Type, 2>;
  row[3] = epilogue<Type, 3>;
  row[4] = epilogue<Type, 4>;
  row[5] = epilogue<Type, 5>;
  row[6] = epilogue<Type, 6>;
  row[7] = epilogue<Type, 7>;
}

constexpr VectorKernels table() {
  VectorKernels kernels{};
  kernels.widenBFloat16 = widen<BFloat16>;
  kernels.widenFloat16 = widen<Float16>;
  kernels.roundBFloat16 = narrow<BFloat16>;
  kernels.roundFloat16 = narrow<Float16>;
  kernels.largest16 = largest<uint16_t>;
  kernels.largest32 = largest<uint32_t>;
  kernels.keepWhere16 = keepWhere<int16_t>;
  kernels.keepWhere32 = keepWhere<int32_t>;
  kernels.maskPositive[0] = maskPositive<int32_t, infinity32>;
  kernels.maskPositive[1] = maskPositive<int16_t, infinityOfBFloat16>;
  kernels.maskPositive[2] = maskPositive<int16_t, infinityOfFloat16>;
  kernels.multiplyInt8 = multiplyTile<false>;
  kernels.multiplyInt4 = multiplyTile<true>;
  kernels.scaleInt4[0] = scaleInt4<Float32>;
  kernels.scaleInt4[1] = scaleInt4<BFloat16>;
  kernels.scaleInt4[2] = scaleInt4<Float16>;
  kernels.divideWeights[0] = divideWeights<Float32>;
  kernels.divideWeights[1] = divideWeights<BFloat16>;
  kernels.divideWeights[2] = divideWeights<Float16>;
  fill<Float32>(kernels.epilogue[0]);
  fill<BFloat16>(kernels.epilogue[1]);
  fill<Float16>(kernels.epilogue[2]);
  kernels.finishBFloat16[epilogueBias] = finish<BFloat16, epilogueBias>;
  kernels.finishBFloat16[epilogueRelu] = finish<BFloat16, epilogueRelu>;
  kernels.finishBFloat16[epilogueBias | epilogueRelu] =
      finish<BFloat16, epilogueBias | epilogueRelu>;
  kernels.addProducts[0] = addProducts<Float32>;
  kernels.addProducts[1] = addProducts<BFloat16>;
  kernels.addProducts[2] = addProducts<Float16>;
  kernels.addRoundedProducts[0] = addProducts<Float32>;
  kernels.addRoundedProducts[1] = addProducts<Rounded<BFloat16>>;
  kernels.addRoundedProducts[2] = addProducts<Rounded<Float16>>;
  kernels.addRows[0] = addRows<Float32>;
  kernels.addRows[1] = addRows<BFloat16>;
  kernels.addRows[2] = addRows<Float16>;
  kernels.storeAroundCaches = storeAroundCaches;
  return kernels;
}

} // namespace

extern const VectorKernels MPC_CONCAT(vectorKernelsV, MPC_ISA_LEVEL);
constexpr VectorKernels MPC_CONCAT(vectorKernelsV, MPC_ISA_LEVEL) = table();

#if MPC_ISA_LEVEL == 2
extern const VectorKernels vectorKernelsV3, vectorKernelsV4;

const VectorKernels &vectorKernels(int isa) noexcept {
  return isa == 2 ? vectorKernelsV4 : isa == 1 ? vectorKernelsV3 : vectorKernelsV2;
}
#endif

} // namespace mpc::rt
