// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled once per ISA level, as vector_kernels.cpp is.
#include "runtime/drivers/cpu/attend/attention_rows.h"
#include "runtime/drivers/cpu/kernels/float_vectors.h"

#define MPC_CONCAT_(a, b) a##b
#define MPC_CONCAT(a, b) MPC_CONCAT_(a, b)

namespace mpc::rt {
namespace {

constexpr float infinity = __builtin_inff();

using Words = int32_t __attribute__((vector_size(lanes * sizeof(int32_t))));

inline Vector repeat(float value) { return Vector{} + value; }

inline Vector select(Words where, Vector yes, Vector no) {
  return reinterpret_cast<Vector>((where & reinterpret_cast<Words>(yes)) |
                                  (~where & reinterpret_cast<Words>(no)));
}

// e^x = 2^n e^r with |r| <= log(2) / 2: the polynomial of Cephes' expf (S. Moshier), less than 2
// units in the last place. What is below the normal numbers becomes 0.
inline Vector exponential(Vector x) {
  constexpr float least = -87.33654f, most = 88.37626f, log2OfE = 1.44269504f;
  // log(2) in two parts, of which the first times a small integer is exact.
  constexpr float upper = 0.693359375f, lower = -2.12194440e-4f;
  constexpr float roundsToInteger = 12582912.0f; // 1.5 * 2^23
  const Vector clamped = select(x > most, repeat(most), select(x < least, repeat(least), x));
  const Vector shifted = multiplyAdd(clamped, repeat(log2OfE), repeat(roundsToInteger));
  const Vector n = shifted - roundsToInteger;
  const Vector r = multiplyAdd(n, repeat(-lower), multiplyAdd(n, repeat(-upper), clamped));
  constexpr float coefficients[] = {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f,
                                    1.6666665459e-1f, 5.0000001201e-1f};
  Vector polynomial = repeat(1.9875691500e-4f);
  for (const float coefficient : coefficients)
    polynomial = multiplyAdd(polynomial, r, repeat(coefficient));
  polynomial = multiplyAdd(polynomial, r * r, r + 1.0f);
  // The low bits of `shifted` are n; that of NaN is of no account.
  const Words power = (reinterpret_cast<Words>(shifted) << 23) + (127 << 23);
  Vector result = polynomial * reinterpret_cast<Vector>(power);
  result = select(x < least, Vector{}, result);
  result = select(x > most, repeat(infinity), result);
  return select(x != x, x, result);
}

inline int64_t wholeVectors(int64_t count) { return (count + lanes - 1) / lanes * lanes; }

inline void fill(float *row, int64_t first, int64_t end, float value) {
  for (int64_t i = first; i < end; ++i)
    row[i] = value;
}

inline float sumOf(Vector value) {
  float sum = 0;
  for (int64_t i = 0; i < lanes; ++i)
    sum += value[i];
  return sum;
}

using Bytes = uint8_t __attribute__((vector_size(lanes)));

// All bits of a lane where the byte is not 0; of lanes behind `count` none.
inline Words loadMask(const uint8_t *mask, int64_t count) {
  Bytes bytes = {};
  if (count >= lanes)
    __builtin_memcpy(&bytes, mask, sizeof(bytes));
  else
    for (int64_t i = 0; i < count; ++i)
      bytes[i] = mask[i];
  return __builtin_convertvector(bytes, Words) != 0;
}

// Applies dropout: what is not kept becomes 0, the rest is scaled.
inline Vector drop(Vector value, const uint8_t *kept, int64_t count, float keepScale) {
  return select(loadMask(kept, count), value * keepScale, Vector{});
}

void softmax(float *scores, const uint8_t *mask, const uint8_t *kept, int64_t count, float scale,
             float keepScale, float *largest, float *sum) {
  const int64_t end = wholeVectors(count);
  for (int64_t i = 0; i < end; i += lanes) {
    const Vector score = load(scores + i) * scale;
    store(mask ? select(loadMask(mask + i, count - i), score, repeat(-infinity)) : score,
          scores + i);
  }
  fill(scores, count, end, -infinity);
  // NaN is the largest: it must come out.
  Vector most = repeat(-infinity);
  for (int64_t i = 0; i < end; i += lanes) {
    const Vector x = load(scores + i);
    most = select((x > most) | (x != x), x, most);
  }
  float top = -infinity;
  for (int64_t i = 0; i < lanes; ++i)
    top = most[i] > top || __builtin_isnan(most[i]) ? most[i] : top;
  Vector sums = Vector{};
  for (int64_t i = 0; i < end; i += lanes) {
    const Vector power = exponential(load(scores + i) - top);
    store(power, scores + i);
    sums += power;
  }
  // If all scores are -inf, the elements that fill up the last vector are not numbers, either.
  fill(scores, count, end, 0);
  const float total = sumOf(sums), factor = 1 / total;
  for (int64_t i = 0; i < end; i += lanes) {
    const Vector p = load(scores + i) * factor;
    store(kept ? drop(p, kept + i, count - i, keepScale) : p, scores + i);
  }
  *largest = top;
  *sum = total;
}

void differentiate(float *scores, float *products, const uint8_t *mask, const uint8_t *kept,
                   int64_t count, float scale, float keepScale, float logSum, float shift) {
  const int64_t end = wholeVectors(count);
  for (int64_t i = 0; i < end; i += lanes) {
    Vector p = exponential(load(scores + i) * scale - logSum);
    Vector product = load(products + i);
    if (kept)
      product = drop(product, kept + i, count - i, keepScale);
    Vector change = p * scale * (product - shift);
    if (mask) {
      const Words counts = loadMask(mask + i, count - i);
      p = select(counts, p, Vector{});
      change = select(counts, change, Vector{});
    }
    if (kept)
      p = drop(p, kept + i, count - i, keepScale);
    store(p, scores + i);
    store(change, products + i);
  }
  fill(scores, count, end, 0);
  fill(products, count, end, 0);
}

float multiply(const float *a, const float *b, int64_t count) {
  const int64_t whole = count / lanes * lanes;
  Vector sums = Vector{};
  for (int64_t i = 0; i < whole; i += lanes)
    sums = multiplyAdd(load(a + i), load(b + i), sums);
  float sum = sumOf(sums);
  for (int64_t i = whole; i < count; ++i)
    sum += a[i] * b[i];
  return sum;
}

} // namespace

extern const AttentionRows MPC_CONCAT(attentionRowsV, MPC_ISA_LEVEL);
constexpr AttentionRows MPC_CONCAT(attentionRowsV, MPC_ISA_LEVEL) = {softmax, differentiate,
                                                                     multiply};

#if MPC_ISA_LEVEL == 2
extern const AttentionRows attentionRowsV3, attentionRowsV4;

const AttentionRows &attentionRows(int isa) noexcept {
  return isa == 2 ? attentionRowsV4 : isa == 1 ? attentionRowsV3 : attentionRowsV2;
}
#endif

} // namespace mpc::rt
