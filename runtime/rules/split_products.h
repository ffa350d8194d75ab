// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which products of float32 are worth three of TF32 (mpcc --fp32-precision=tf32x3), and how many
// terms Tensor Cores add up in one of them.
#ifndef MPC_RUNTIME_RULES_SPLIT_PRODUCTS_H
#define MPC_RUNTIME_RULES_SPLIT_PRODUCTS_H

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace mpc::rules {

// `batch` row-major products [m, k] x [k, n].
struct SplitProduct {
  int64_t batch = 1, m = 0, n = 0, k = 0;

  // Three products have twice float32's error in shorter sums, where memory is what takes the time.
  static constexpr int64_t fewestTerms = 16;
  // Launches are most of the time of fewer operations, and a split is one more.
  static constexpr double fewestOperations = 1 << 28;
  // A number that is split costs 16 bytes, read and written, 4 ps at an H200's 4 TB/s; an operation
  // takes 0.0097 ps less where 97 TFLOP/s, a third of those of TF32, stand for float32's 50.
  static constexpr double operationsOfSplit = 412;

  bool isWorthwhile() const {
    const double outputs =
        static_cast<double>(batch) * static_cast<double>(m) * static_cast<double>(n);
    const double operations = 2 * outputs * static_cast<double>(k);
    const double operands =
        static_cast<double>(batch) * static_cast<double>(m + n) * static_cast<double>(k);
    return k >= fewestTerms && operations >= fewestOperations &&
           operations >= operationsOfSplit * operands;
  }

  // Tensor Cores cut every partial sum instead of rounding it, whose error grows with the terms to
  // the power of 1.5, that of float32 to the power of 1. Sums of 4 square roots of the terms each,
  // added up in float32, stay below twice float32's error (0129).
  int64_t termsOfPart() const {
    constexpr int64_t multiple = 32;
    const auto terms = static_cast<int64_t>(4 * std::sqrt(static_cast<double>(k)));
    return std::min(k, std::max(multiple, terms / multiple * multiple));
  }
};

} // namespace mpc::rules

#endif
