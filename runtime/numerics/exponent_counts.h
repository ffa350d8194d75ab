// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many elements have which exponent, of bytes that hold one each. For files that are compiled
// once per ISA level: all of it is static.
#ifndef MPC_RUNTIME_NUMERICS_EXPONENT_COUNTS_H
#define MPC_RUNTIME_NUMERICS_EXPONENT_COUNTS_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

namespace mpc::rt {
namespace {

#if MPC_ISA_LEVEL >= 4
constexpr size_t bytesOfVector = 64;
#elif MPC_ISA_LEVEL == 3
constexpr size_t bytesOfVector = 32;
#else
constexpr size_t bytesOfVector = 16;
#endif
typedef uint8_t Bytes __attribute__((vector_size(bytesOfVector)));
typedef uint16_t Pairs __attribute__((vector_size(bytesOfVector)));
typedef uint64_t Eights __attribute__((vector_size(bytesOfVector)));

// The byte of `table`, which repeats after 16, for the low bits of each index below 128; else 0.
inline Bytes lookUp(Bytes table, Bytes index) {
#if MPC_ISA_LEVEL >= 4
  return reinterpret_cast<Bytes>(
      _mm512_shuffle_epi8(reinterpret_cast<__m512i>(table), reinterpret_cast<__m512i>(index)));
#elif MPC_ISA_LEVEL == 3
  return reinterpret_cast<Bytes>(
      _mm256_shuffle_epi8(reinterpret_cast<__m256i>(table), reinterpret_cast<__m256i>(index)));
#else
  return reinterpret_cast<Bytes>(
      _mm_shuffle_epi8(reinterpret_cast<__m128i>(table), reinterpret_cast<__m128i>(index)));
#endif
}

// The sum of each eight bytes.
inline Eights sumsOfEight(Bytes bytes) {
#if MPC_ISA_LEVEL >= 4
  return reinterpret_cast<Eights>(
      _mm512_sad_epu8(reinterpret_cast<__m512i>(bytes), _mm512_setzero_si512()));
#elif MPC_ISA_LEVEL == 3
  return reinterpret_cast<Eights>(
      _mm256_sad_epu8(reinterpret_cast<__m256i>(bytes), _mm256_setzero_si256()));
#else
  return reinterpret_cast<Eights>(
      _mm_sad_epu8(reinterpret_cast<__m128i>(bytes), _mm_setzero_si128()));
#endif
}

// A function of three bits, whose results stand in the bits of `table`: one instruction of AVX-512.
template <uint8_t table> inline Bytes combine(Bytes a, Bytes b, Bytes c) {
  static_assert(table == 0x96 || table == 0xe8 || table == 0xca, "known below");
#if MPC_ISA_LEVEL >= 4
  return reinterpret_cast<Bytes>(_mm512_ternarylogic_epi64(reinterpret_cast<__m512i>(a),
                                                           reinterpret_cast<__m512i>(b),
                                                           reinterpret_cast<__m512i>(c), table));
#else
  if constexpr (table == 0x96)
    return a ^ b ^ c;
  else if constexpr (table == 0xe8)
    return (a & b) | (c & (a ^ b));
  else
    return (a & b) | (c & ~a);
#endif
}
inline Bytes sumOf(Bytes a, Bytes b, Bytes c) { return combine<0x96>(a, b, c); }
inline Bytes carryOf(Bytes a, Bytes b, Bytes c) { return combine<0xe8>(a, b, c); }
// Bits of `a` where `mask` has some, others of `b`.
inline Bytes select(uint8_t mask, Bytes a, Bytes b) { return combine<0xca>(Bytes{} + mask, a, b); }

// Neighbours in two bytes: bits that cross are not selected.
template <int bits> inline Bytes left(Bytes bytes) {
  return reinterpret_cast<Bytes>(reinterpret_cast<Pairs>(bytes) << bits);
}
template <int bits> inline Bytes right(Bytes bytes) {
  return reinterpret_cast<Bytes>(reinterpret_cast<Pairs>(bytes) >> bits);
}

// A number of up to eight bits beside each bit of a vector: planes[i] has the bit of weight 2^i.
// Adding takes two instructions and not one per number: most additions are carried in sixteens.
class BitCounters {
public:
  static constexpr size_t most = 255, together = 16;

  // Adds a bit of `get(j, 0)`, `get(j, 1)`, … to each: sixteen vectors for each of `count`.
  template <size_t count, typename Get>
  static void addSixteen(BitCounters (&counters)[count], const Get &get) {
    Bytes sixteens[count];
    carry<4>(counters, get, 0, sixteens);
    for (size_t j = 0; j < count; ++j)
      counters[j].ripple(4, sixteens[j]);
  }
  void addOne(Bytes bits) { ripple(0, bits); }

  // The sums over all lanes, of each bit of a byte.
  void total(uint32_t *counts) const {
    Bytes low[4], high[4];
    transpose(planes, low);
    transpose(planes + 4, high);
    Eights sums[8];
    for (size_t i = 0; i < 4; ++i) {
      sums[i] = sumsOfEight(select(0x0f, low[i], left<4>(high[i])));
      sums[i + 4] = sumsOfEight(select(0x0f, right<4>(low[i]), high[i]));
    }
    for (size_t i = 0; i < 8; i += 4) {
      const uint64_t four =
          add((sums[i] | sums[i + 1] << 16) | (sums[i + 2] << 32 | sums[i + 3] << 48));
      for (size_t j = 0; j < 4; ++j)
        counts[i + j] = static_cast<uint32_t>(four >> 16 * j & 0xffff);
    }
  }

private:
  // 2^level vectors from `first` on: the result is what they carry out of the planes below `level`.
  template <size_t level, size_t count, typename Get>
  static void carry(BitCounters (&counters)[count], const Get &get, size_t first,
                    Bytes (&result)[count]) {
    Bytes a[count], b[count];
    if constexpr (level == 1) {
      get(first, a);
      get(first + 1, b);
    } else {
      carry<level - 1>(counters, get, first, a);
      carry<level - 1>(counters, get, first + (size_t{1} << (level - 1)), b);
    }
    for (size_t j = 0; j < count; ++j) {
      Bytes &plane = counters[j].planes[level - 1];
      result[j] = carryOf(plane, a[j], b[j]);
      plane = sumOf(plane, a[j], b[j]);
    }
  }
  void ripple(size_t plane, Bytes bits) {
    for (; plane < 8; ++plane) {
      const Bytes up = planes[plane] & bits;
      planes[plane] ^= bits;
      bits = up;
    }
  }
  // Numbers of four bits: result[i] has those of the bits i and i + 4 of a byte.
  static void transpose(const Bytes *four, Bytes *result) {
    const Bytes low[] = {select(0x55, four[0], left<1>(four[1])),
                         select(0x55, right<1>(four[0]), four[1])},
                high[] = {select(0x55, four[2], left<1>(four[3])),
                          select(0x55, right<1>(four[2]), four[3])};
    for (size_t odd = 0; odd < 2; ++odd) {
      result[odd] = select(0x33, low[odd], left<2>(high[odd]));
      result[odd + 2] = select(0x33, right<2>(low[odd]), high[odd]);
    }
  }
  static uint64_t add(Eights sums) {
    uint64_t sum = 0;
    for (size_t i = 0; i < sizeof sums / sizeof(uint64_t); ++i)
      sum += sums[i];
    return sum;
  }

  Bytes planes[8] = {};
};

// A byte becomes a bit: table j has those of the exponents 8 j to 8 j + 7.
struct BitTables {
  alignas(bytesOfVector) uint8_t bytes[2][bytesOfVector] = {};
  constexpr BitTables() {
    for (size_t i = 0; i < bytesOfVector; i += 16)
      for (size_t j = 0; j < 16; ++j)
        bytes[j / 8][i + j] = static_cast<uint8_t>(1 << j % 8);
  }
};
constexpr BitTables bitTables;

// Adds the number of bytes with each of 8 * `count` values from `first` on. Bytes below `first`
// are taken for larger ones than any.
template <size_t count>
void countBytes(const uint8_t *places, size_t vectors, uint32_t first, uint32_t *counts) {
  const Bytes base = Bytes{} + static_cast<uint8_t>(first);
  const Bytes toHighBit = Bytes{} + uint8_t{128 - 16}; // of 16 and more, that are no indices
  Bytes tables[count];
  for (size_t j = 0; j < count; ++j)
    __builtin_memcpy(&tables[j], bitTables.bytes[j], sizeof(Bytes));
  auto get = [&](size_t vector, Bytes(&bits)[count]) {
    Bytes bytes;
    __builtin_memcpy(&bytes, places + vector * sizeof(Bytes), sizeof(Bytes));
    const Bytes index = __builtin_elementwise_add_sat(bytes - base, toHighBit);
    for (size_t j = 0; j < count; ++j)
      bits[j] = lookUp(tables[j], index);
  };
  for (size_t i = 0; i < vectors;) {
    BitCounters counters[count];
    const size_t end = i + BitCounters::most < vectors ? i + BitCounters::most : vectors;
    for (; i + BitCounters::together <= end; i += BitCounters::together)
      BitCounters::addSixteen(counters, [&](size_t j, auto &bits) { get(i + j, bits); });
    for (; i < end; ++i) {
      Bytes bits[count];
      get(i, bits);
      for (size_t j = 0; j < count; ++j)
        counters[j].addOne(bits[j]);
    }
    for (size_t j = 0; j < count; ++j) {
      uint32_t eight[8];
      counters[j].total(eight);
      for (size_t k = 0; k < 8; ++k)
        counts[8 * j + k] += eight[k];
    }
  }
}

} // namespace
} // namespace mpc::rt

#endif
