// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums of a tile that become rows of the result while they are in registers: rounded, bias added,
// then relu (FinishedRows).
//
// This header is for files compiled for one kind of CPU: nothing here has external linkage.
#ifndef MPC_RUNTIME_DRIVERS_CPU_KERNELS_FINISHED_PANEL_H
#define MPC_RUNTIME_DRIVERS_CPU_KERNELS_FINISHED_PANEL_H

#include "runtime/drivers/cpu/kernels/micro_kernel.h"

namespace mpc::rt {
namespace {

// `Row` is what the result is rounded to: the vectors of its kernel (vector_panels.h), the `bytes`
// of a number, round(), store() and storeFirst() of a count. larger(a, b) is b where both are
// zeros, or one is NaN.
template <typename Row> class FinishedPanel {
  using Sums = typename Row::Sums;

public:
  // All columns of the panel exist.
  template <int64_t count, int64_t vectors>
  static void storeSums(const Sums (&sums)[count][vectors], const FinishedRows &to) {
    if (!to.bias && !to.relu) {
      for (int64_t i = 0; i < count; ++i)
        for (int64_t j = 0; j < vectors; ++j)
          Row::storeRow(to.rows[i] + j * lanes * Row::bytes, sums[i][j]);
      return;
    }
    const FinishedPanel finish(to);
    Sums bias[vectors];
    for (int64_t j = 0; j < vectors; ++j)
      bias[j] = finish.biasAt(j * lanes, lanes);
    for (int64_t i = 0; i < count; ++i)
      for (int64_t j = 0; j < vectors; ++j)
        Row::storeRow(to.rows[i] + j * lanes * Row::bytes, finish.of(sums[i][j], bias[j]));
  }
  // Finishes sums in memory, where columns are missing: once, in place of once in each kernel.
  [[gnu::noinline]] static void storeRows(const float *sums, int64_t stride, int64_t count,
                                          const FinishedRows &to) {
    const FinishedPanel finish(to);
    const bool isAll = !to.bias && !to.relu; // that rounding does
    for (int64_t column = 0; column < to.columns; column += lanes) {
      const int64_t left = to.columns - column;
      const Sums bias = finish.biasAt(column, left);
      for (int64_t i = 0; i < count; ++i) {
        const Sums sum = Row::load(sums + i * stride + column);
        const Sums values = isAll ? sum : finish.of(sum, bias);
        uint8_t *target = to.rows[i] + column * Row::bytes;
        if (left >= lanes)
          Row::storeRow(target, values);
        else
          Row::storeFirst(target, values, left);
      }
    }
  }

private:
  static constexpr int64_t lanes = Row::lanes;
  // To add -0 and to take the larger one of -infinity change nothing.
  explicit FinishedPanel(const FinishedRows &to)
      : bias(to.bias), least(Row::repeat(to.relu ? 0.0f : -__builtin_inff())) {}
  Sums biasAt(int64_t column, int64_t count) const {
    const Sums none = Row::repeat(-0.0f);
    return bias ? Row::loadFirst(bias + column, count, none) : none;
  }
  Sums of(Sums sums, Sums added) const {
    return Row::larger(least, Row::plus(Row::round(sums), added));
  }
  const float *const bias;
  const Sums least;
};

} // namespace
} // namespace mpc::rt

#endif
