// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names and numbers are those of FIPS 180-4, 4.1.2, 4.2.2 and 6.2; the instructions' order is that
// of Intel's "Intel SHA Extensions" (2013).
#include "runtime/base/sha256.h"

#include <array>
#include <cpuid.h>
#include <cstdint>
#include <cstring>
#include <immintrin.h>

namespace mpc::rt {
namespace {

constexpr size_t blockBytes = 64;
using State = std::array<uint32_t, 8>;

alignas(16) constexpr uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

constexpr uint32_t rotate(uint32_t word, int by) { return word >> by | word << (32 - by); }

void compressPortably(State &state, const uint8_t *data, size_t blocks) {
  for (; blocks; --blocks, data += blockBytes) {
    uint32_t w[64];
    for (int t = 0; t < 16; ++t) {
      std::memcpy(&w[t], data + 4 * t, 4);
      w[t] = __builtin_bswap32(w[t]);
    }
    for (int t = 16; t < 64; ++t) {
      const uint32_t s0 = rotate(w[t - 15], 7) ^ rotate(w[t - 15], 18) ^ w[t - 15] >> 3;
      const uint32_t s1 = rotate(w[t - 2], 17) ^ rotate(w[t - 2], 19) ^ w[t - 2] >> 10;
      w[t] = s1 + w[t - 7] + s0 + w[t - 16];
    }
    auto [a, b, c, d, e, f, g, h] = state;
    for (int t = 0; t < 64; ++t) {
      const uint32_t sum1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
      const uint32_t t1 = h + sum1 + ((e & f) ^ (~e & g)) + constants[t] + w[t];
      const uint32_t sum0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
      const uint32_t t2 = sum0 + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    const uint32_t words[] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; ++i)
      state[i] += words[i];
  }
}

__attribute__((target("sha,sse4.1"))) void compressByInstructions(State &state, const uint8_t *data,
                                                                  size_t blocks) {
  const __m128i bigEndian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  // The instructions take the words as ABEF and CDGH.
  const auto *words = reinterpret_cast<const __m128i *>(state.data());
  const __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128(words), 0xb1);
  const __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128(words + 1), 0x1b);
  __m128i abef = _mm_alignr_epi8(badc, efgh, 8);
  __m128i cdgh = _mm_blend_epi16(efgh, badc, 0xf0);
  for (; blocks; --blocks, data += blockBytes) {
    const __m128i before[2] = {abef, cdgh};
    __m128i w[4];
    for (int i = 0; i < 4; ++i)
      w[i] =
          _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i *>(data) + i), bigEndian);
    for (int group = 0; group < 16; ++group) { // of four rounds
      __m128i &now = w[group % 4];
      if (group >= 4) {
        const __m128i sevenBack = _mm_alignr_epi8(w[(group + 3) % 4], w[(group + 2) % 4], 4);
        now = _mm_add_epi32(_mm_sha256msg1_epu32(now, w[(group + 1) % 4]), sevenBack);
        now = _mm_sha256msg2_epu32(now, w[(group + 3) % 4]);
      }
      const __m128i sum =
          _mm_add_epi32(now, _mm_load_si128(reinterpret_cast<const __m128i *>(constants) + group));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
    }
    abef = _mm_add_epi32(abef, before[0]);
    cdgh = _mm_add_epi32(cdgh, before[1]);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1b);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  auto *result = reinterpret_cast<__m128i *>(state.data());
  _mm_storeu_si128(result, _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(result + 1, _mm_alignr_epi8(dchg, feba, 8));
}

bool hasInstructions() noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & 1u << 29;
}

std::string hash(const void *data, size_t bytes, decltype(&compressPortably) compress) {
  State state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const auto *next = static_cast<const uint8_t *>(data);
  compress(state, next, bytes / blockBytes);
  // The rest of the data, a one, zeros, and the number of bits fill one block or two.
  uint8_t last[2 * blockBytes] = {};
  const size_t left = bytes % blockBytes;
  if (left)
    std::memcpy(last, next + bytes - left, left);
  last[left] = 0x80;
  const size_t blocks = left + 9 > blockBytes ? 2 : 1;
  const uint64_t bits = __builtin_bswap64(uint64_t{bytes} * 8);
  std::memcpy(last + blocks * blockBytes - 8, &bits, 8);
  compress(state, last, blocks);
  std::string text;
  for (uint32_t word : state)
    for (int shift = 28; shift >= 0; shift -= 4)
      text += "0123456789abcdef"[word >> shift & 15];
  return text;
}

} // namespace

std::string sha256(const void *data, size_t bytes) {
  static const bool fast = hasInstructions();
  return hash(data, bytes, fast ? compressByInstructions : compressPortably);
}

std::string sha256Portably(const void *data, size_t bytes) {
  return hash(data, bytes, compressPortably);
}

} // namespace mpc::rt
