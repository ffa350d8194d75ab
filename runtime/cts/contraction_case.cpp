// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference adds up products in float64, in the order of k, and rounds exactly where the
// contract says. It goes through memory row by row, since it is most of what these tests take.
#include "runtime/cts/contraction_case.h"
#include "runtime/base/dtype.h"
#include "runtime/cts/elements.h"

#include <algorithm>
#include <cstring>

namespace mpc::rt::cts {
mpc_rt_contract_t ContractionCase::descriptor(uint32_t id) const {
  mpc_rt_contract_t d = {};
  d.struct_size = sizeof(d);
  d.id = id;
  d.lhs_dtype = lhs;
  d.rhs_dtype = rhs;
  d.out_dtype = out;
  d.bias_dtype = bias;
  d.flags = (transposeLhs ? MPC_RT_CONTRACT_TRANSPOSE_LHS : 0u) |
            (transposeRhs ? MPC_RT_CONTRACT_TRANSPOSE_RHS : 0u) |
            (accumulate ? MPC_RT_CONTRACT_ACCUMULATE : 0u) |
            (packedRhs ? MPC_RT_CONTRACT_PACKED_RHS : 0u);
  d.activation = relu ? MPC_RT_ACTIVATION_RELU : MPC_RT_ACTIVATION_NONE;
  d.batch = {batch, 0};
  d.m = {m, 0};
  d.n = {n, 0};
  d.k = {k, 0};
  d.rhs_variable = rhsVariable;
  d.has_bias = hasBias;
  d.layer = "test/layer";
  return d;
}

std::string ContractionCase::text() const {
  auto size = [](int64_t value) { return std::to_string(value); };
  return size(batch) + "x" + size(m) + "x" + size(n) + "x" + size(k) + " " + dtypeName(lhs) +
         (transposeLhs ? "^T" : "") + " * " + dtypeName(rhs) +
         (transposeRhs ? "^T"
          : packedRhs  ? " packed"
                       : "") +
         " -> " + dtypeName(out) + (hasBias ? std::string(" + ") + dtypeName(bias) : "") +
         (relu ? " relu" : "") + (accumulate ? " accumulate" : "");
}

ContractionData::ContractionData(const ContractionCase &c) : shape(c) {
  // Integers take nearly every value, so that sums of pairs leave 16 bits.
  const uint32_t most = c.lhs == MPC_RT_INT8 ? 127 : 7;
  fill(lhs, c.lhs, c.batch * c.m * c.k, c.seed, 1, most, 1.0);
  fill(rhs, c.rhs, c.batch * c.k * c.n, c.seed, 2, most, 1.0);
  fill(bias, c.bias, c.n, c.seed, 3, 7, 1.0 + 1.0 / 128);
  fill(out, c.out, c.batch * c.m * c.n, c.seed, 4, 7, 0.5);
  initial = out;
}

std::vector<uint8_t> &ContractionData::storedRhs() {
  if (!shape.packedRhs)
    return rhs;
  const auto columns = static_cast<size_t>(shape.n), bytes = (columns + 1) / 2;
  packed.assign(static_cast<size_t>(shape.k) * bytes, 0);
  for (size_t k = 0; k < static_cast<size_t>(shape.k); ++k)
    for (size_t n = 0; n < columns; ++n)
      packed[k * bytes + n / 2] |= static_cast<uint8_t>((rhs[k * columns + n] & 15) << (n % 2 * 4));
  return packed;
}

std::vector<uint8_t> ContractionData::expected(Roundings roundings) const {
  const ContractionCase &c = shape;
  const std::vector<double> left = widened(c.lhs, lhs), stored = widened(c.rhs, rhs),
                            addends = widened(c.bias, bias);
  const std::vector<double> right =
      c.transposeRhs ? transposed(stored, c.batch, c.n, c.k) : std::vector<double>();
  const int64_t rowStep = c.transposeLhs ? c.m : 1;
  const bool once = (c.hasBias || c.accumulate) && roundings == Roundings::once;
  std::vector<uint8_t> result(initial.size());
  std::vector<double> sums(static_cast<size_t>(c.n));
  for (int64_t b = 0; b < c.batch; ++b)
    for (int64_t m = 0; m < c.m; ++m) {
      const double *row = left.data() + b * c.m * c.k + (c.transposeLhs ? m : m * c.k);
      const double *columns = (c.transposeRhs ? right : stored).data() + b * c.k * c.n;
      std::fill(sums.begin(), sums.end(), 0.0);
      for (int64_t k = 0; k < c.k; ++k)
        addProducts(sums.data(), row[k * rowStep], columns + k * c.n, c.n);
      for (int64_t n = 0; n < c.n; ++n) {
        const int64_t position = (b * c.m + m) * c.n + n;
        const double sum = sums[static_cast<size_t>(n)];
        double value = once ? sum : roundElement(c.out, sum);
        if (c.hasBias)
          value = roundElement(c.out, value + addends[static_cast<size_t>(n)]);
        if (c.relu)
          value = value < 0 ? 0 : value;
        if (c.accumulate)
          value += loadElement(c.out, initial.data(), position);
        storeElement(c.out, result.data(), position, value);
      }
    }
  return result;
}

std::string ContractionData::difference(Roundings roundings) const {
  return firstDifference(shape.text(), shape.out, expected(roundings).data(), out.data(),
                         shape.batch * shape.m * shape.n);
}

uint64_t ContractionData::largest() const {
  const size_t width = dtypeSize(shape.out);
  const uint64_t magnitude = ~uint64_t{0} >> (65 - 8 * width);
  uint64_t most = 0;
  for (size_t i = 0; i < out.size(); i += width) {
    uint64_t bits = 0;
    std::memcpy(&bits, out.data() + i, width);
    most = std::max(most, bits & magnitude);
  }
  return most;
}

} // namespace mpc::rt::cts
