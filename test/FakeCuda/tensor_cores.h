// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor Cores: what becomes of float32 and of its sums.
#ifndef MPC_TEST_FAKECUDA_TENSOR_CORES_H
#define MPC_TEST_FAKECUDA_TENSOR_CORES_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace fake {

// cublasComputeType_t
constexpr int compute32f = 68, computeTf32 = 77;

// MPC_FAKE_CUBLASLT_SUMS=device: sums of float32 are those of a GPU, in order, each rounded to
// nearest without Tensor Cores, cut with them, which cut their operands, too. Else a sum is that
// of float64, and operands are rounded.
inline bool addsLikeDevice() {
  static const char *played = std::getenv("MPC_FAKE_CUBLASLT_SUMS");
  return played && std::string(played) == "device";
}

// Tensor Cores keep 10 bits of fraction of a float32; cut, a NaN may become an infinity.
inline double toTf32(double value, bool isCut = false) {
  auto narrow = static_cast<float>(value);
  uint32_t bits;
  std::memcpy(&bits, &narrow, sizeof bits);
  if (!isCut && (bits & 0x7f800000u) != 0x7f800000u)
    bits += 0xfffu + ((bits >> 13) & 1u);
  if (isCut || (bits & 0x7f800000u) != 0x7f800000u)
    bits &= ~0x1fffu;
  std::memcpy(&narrow, &bits, sizeof bits);
  return narrow;
}

inline void roundToTf32(std::vector<double> &values) {
  for (double &value : values)
    value = toTf32(value, addsLikeDevice());
}

// Rounded to float32 toward zero.
inline float cutToFloat(double value) {
  const auto nearest = static_cast<float>(value);
  const bool isAway = std::fabs(static_cast<double>(nearest)) > std::fabs(value);
  return isAway && std::isfinite(nearest) ? std::nextafterf(nearest, 0.0f) : nearest;
}

// The sum of products of `count` numbers.
inline double addUp(const double *a, const double *b, int64_t count, int compute) {
  const bool onTensorCores = compute == computeTf32;
  if (!addsLikeDevice() || (compute != compute32f && !onTensorCores)) {
    double sum = 0;
    for (int64_t i = 0; i < count; ++i)
      sum += a[i] * b[i];
    return sum;
  }
  // mma.m16n8k8 adds up 8 products of TF32 at once.
  const int64_t atOnce = onTensorCores ? 8 : 1;
  float sum = 0;
  for (int64_t first = 0; first < count; first += atOnce) {
    double wide = sum;
    for (int64_t i = first; i < std::min(count, first + atOnce); ++i)
      wide += a[i] * b[i];
    sum = onTensorCores ? cutToFloat(wide) : static_cast<float>(wide);
  }
  return sum;
}

} // namespace fake

#endif
