// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buffers filled with elements of any floating dtype, int8 and int32, and where two differ.
#ifndef MPC_RUNTIME_CTS_ELEMENTS_H
#define MPC_RUNTIME_CTS_ELEMENTS_H

#include "runtime/base/element.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mpc::rt::cts {

// How often the sum of a product and a bias, or what it is added to, is rounded to a 16-bit dtype.
enum class Roundings {
  each, // the sum, then with the bias, as mpc_rt_contract_t says
  once, // with those: what a fused epilogue does (docs/decisions/0026)
};

// Pseudorandom integers from -`most` to `most` times `scale`: their products add up exactly in
// float32, in any order. Each `stream` is another sequence.
void fill(std::vector<uint8_t> &data, mpc_rt_dtype_t dtype, int64_t count, uint64_t seed,
          uint32_t stream, uint32_t most, double scale);

// All elements of `data` as float64: a reference reads each of them many times.
std::vector<double> widened(mpc_rt_dtype_t dtype, const std::vector<uint8_t> &data);

// `sums[i] += factor * row[i]`.
inline void addProducts(double *sums, double factor, const double *row, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    sums[i] += factor * row[i];
}

// Each of `batch` matrices of `rows` rows and `columns` columns, transposed.
std::vector<double> transposed(const std::vector<double> &matrices, int64_t batch, int64_t rows,
                               int64_t columns);

// The first of `count` elements that differs, NaN equal to NaN, after `what`; "" if none.
std::string firstDifference(const std::string &what, mpc_rt_dtype_t dtype, const void *wanted,
                            const void *got, int64_t count);

} // namespace mpc::rt::cts

#endif
