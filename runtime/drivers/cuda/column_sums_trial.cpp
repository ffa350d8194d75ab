// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether cuBLASLt's sums of an operand's columns are what a kernel of the artifact would give:
// tried with the product itself, when its plan is made.
#include "runtime/base/dtype.h"
#include "runtime/base/element.h"
#include "runtime/drivers/cuda/epilogue_trials.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mpc::rt::cuda {
namespace {

// Rows that repeat, each next time with the other sign, so that no sum grows with their number.
// Splits of the contracted dimension are no multiples of their number.
constexpr int64_t period = 61;

// A whole number that the dtype just holds, without an order that a wrong layout would keep. In
// float32 TF32 would round it; in 16 bits even the sum of two has digits that the dtype lacks.
double numberAt(mpc_rt_dtype_t dtype, int64_t row, int64_t column) {
  const uint64_t hash =
      static_cast<uint64_t>(row * 0x100003 + column + 1) * 0x9E3779B97F4A7C15u >> 40;
  const int64_t most = dtype == MPC_RT_FLOAT32 ? 4095 : dtype == MPC_RT_FLOAT16 ? 2047 : 255;
  return static_cast<double>(static_cast<int64_t>(hash % static_cast<uint64_t>(2 * most + 1)) -
                             most);
}

// The last row has these numbers instead, in some columns.
double lastNumberAt(mpc_rt_dtype_t dtype, int64_t column) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  switch (column % 8) {
  case 3:
    return std::numeric_limits<double>::quiet_NaN();
  case 5:
    return infinity;
  case 6:
    return -infinity;
  default:
    return numberAt(dtype, -1, column);
  }
}

double signAt(int64_t row) { return row / period % 2 ? -1 : 1; }

} // namespace

bool EpilogueTrials::writeRows(const ProductPlan &plan, const Memory &rhs,
                               const std::vector<uint8_t> &repeated,
                               const std::vector<uint8_t> &last) const {
  const auto whole = last.size() * static_cast<size_t>(plan.shape.k - 1);
  for (size_t at = 0; at < whole; at += repeated.size())
    if (session.cuda.memcpyToDevice(rhs.address() + at, repeated.data(),
                                    std::min(repeated.size(), whole - at), session.stream))
      return false;
  return !session.cuda.memcpyToDevice(rhs.address() + whole, last.data(), last.size(),
                                      session.stream);
}

// All sums are of whole numbers that float32 adds up exactly, in any order.
bool EpilogueTrials::sumsColumns(const ProductPlan &plan, ProductOperands operands) {
  const Contraction &c = plan.shape;
  const size_t rowBytes = static_cast<size_t>(c.n) * dtypeSize(c.rhs);
  std::vector<uint8_t> repeated(2 * period * rowBytes), last(rowBytes);
  std::vector<double> expected(static_cast<size_t>(c.n));
  for (int64_t column = 0; column < c.n; ++column) {
    // Rows of both signs cancel each other, except for a part of the first or the second period.
    const int64_t left = (c.k - 1) % (2 * period);
    double &sum = expected[static_cast<size_t>(column)];
    for (int64_t row = 0; row < 2 * period; ++row) {
      const double number = signAt(row) * numberAt(c.rhs, row % period, column);
      storeElement(c.rhs, repeated.data(), row * c.n + column, number);
      sum += row < left ? number : 0;
    }
    storeElement(c.rhs, last.data(), column, lastNumberAt(c.rhs, column));
    sum = roundElement(c.out, sum + lastNumberAt(c.rhs, column));
  }
  Memory rhs(session, Memory::Kind::device);
  bool grew = false;
  std::vector<uint8_t> host(static_cast<size_t>(c.n) * dtypeSize(c.out));
  if (rhs.reserve(c.rhsElements() * dtypeSize(c.rhs), "a check of sums", grew) ||
      !writeRows(plan, rhs, repeated, last))
    return false;
  operands.rhs = rhs.data();
  if (products.issue(plan, operands, "a check of sums") ||
      !readBack(host.data(), operands.sums, host.size()))
    return false;
  for (int64_t column = 0; column < c.n; ++column) {
    const double wanted = expected[static_cast<size_t>(column)];
    const double sum = loadElement(c.out, host.data(), column);
    if (std::isnan(wanted) ? !std::isnan(sum) : sum != wanted)
      return false;
  }
  return true;
}

} // namespace mpc::rt::cuda
