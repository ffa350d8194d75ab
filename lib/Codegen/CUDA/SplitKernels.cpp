// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Text of the kernel in front of products of float32 that are three of TF32: x = high + low, and of
// two operands high * high, high * low and low * high are kept.
#include "lib/Codegen/CUDA/LibraryKernels.h"

llvm::StringRef mpc::getCudaSplitKernels() {
  return R"cuda(
// Bits of a magnitude, rounded to the 10 bits of fraction that TF32 has.
__device__ inline unsigned rounded_to_tf32(unsigned magnitude) {
  return (magnitude + 0xfff + (magnitude >> 13 & 1)) & ~0x1fffu;
}
// `whole` is what multiplies `whole`. It is high, but for what is not finite: that has no other
// parts, since an infinity times a part that is 0 or of the other sign would be NaN.
struct SplitNumber {
  float high, low, whole;
  __device__ inline explicit SplitNumber(float x) {
    const unsigned bits = bits_as<unsigned>(x), magnitude = bits & 0x7fffffffu;
    const unsigned sign = bits ^ magnitude;
    high = low = 0.0f;
    // TF32 cuts the last bits of a NaN, which then could be an infinity: a quiet one has the first.
    whole = magnitude > 0x7f800000u ? f32_of_bits(bits | 0x00400000u) : x;
    if (magnitude >= 0x7f800000u)
      return;
    unsigned top = rounded_to_tf32(magnitude);
    const bool is_cut = top >= 0x7f800000u; // both parts, whose sum then is no infinity
    if (is_cut)
      top = magnitude & ~0x1fffu;
    if (top == 0 && magnitude != 0)
      top = 0x2000; // away from zero: an infinity times it is one, and low takes it back
    whole = high = f32_of_bits(sign | top);
    const unsigned rest = bits_as<unsigned>(x - high);
    low = f32_of_bits(is_cut ? rest & ~0x1fffu
                             : (rest & 0x80000000u) | rounded_to_tf32(rest & 0x7fffffffu));
  }
};
// Rows of `inner` numbers, `stride` apart, as three rows each: of a left operand low, high and
// whole, of a right one high, low and whole, so that small products are added up first.
template <int width> __device__ inline void split(const SplitPart &part, const index i) {
  const index packs = part.inner / width, row = divided(i, packs), at = (i - row * packs) * width;
  const pack<float, width> from = *(const pack<float, width> *)((const float *)part.from + row * part.stride + at);
  pack<float, width> high, low, whole;
#pragma unroll
  for (int k = 0; k < width; ++k) {
    const SplitNumber number(from.at[k]);
    high.at[k] = number.high;
    low.at[k] = number.low;
    whole.at[k] = number.whole;
  }
  float *to = (float *)part.to + 3 * row * part.inner + at;
  *(pack<float, width> *)to = part.is_right ? high : low;
  *(pack<float, width> *)(to + part.inner) = part.is_right ? low : high;
  *(pack<float, width> *)(to + 2 * part.inner) = whole;
}
// Both operands of a product.
extern "C" __global__ void __launch_bounds__(256)
    mpc_split_operands(const SplitParts parts, const index count) {
  for (index i = first_index(); i < count; i += index_step()) {
    const bool is_first = i < parts.parts[0].count;
    const SplitPart &part = parts.parts[is_first ? 0 : 1];
    const index at = is_first ? i : i - parts.parts[0].count;
    if (part.in_packs)
      split<4>(part, at);
    else
      split<1>(part, at);
  }
}
)cuda";
}
