// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The work of attention on rows of scores between its products, in float32. It is written once and
// compiled once per ISA level.
#ifndef MPC_RUNTIME_DRIVERS_CPU_ATTEND_ATTENTION_ROWS_H
#define MPC_RUNTIME_DRIVERS_CPU_ATTEND_ATTENTION_ROWS_H

#include <stdint.h>

namespace mpc::rt {

// Rows have room for whole vectors of up to 16 numbers.
struct AttentionRows {
  // The first `count` numbers times `scale` become their softmax. Gives the largest one, and the
  // sum of the exponentials of what they are less than it. Where `mask`, which may be null, has
  // zeros, they do not count. Where `kept`, which may be null, has zeros, the softmax then is 0,
  // elsewhere `keepScale` times what it was.
  void (*softmax)(float *scores, const uint8_t *mask, const uint8_t *kept, int64_t count,
                  float scale, float keepScale, float *largest, float *sum);
  // Scores become p = e^(scale * score - logSum), products with cotangents scale * p * (product -
  // shift); both become 0 where the mask does. With `kept`, products count first and p at last as
  // the softmax above.
  void (*differentiate)(float *scores, float *products, const uint8_t *mask, const uint8_t *kept,
                        int64_t count, float scale, float keepScale, float logSum, float shift);
  float (*multiply)(const float *a, const float *b, int64_t count); // sum of the products
};

// `isa` is an mpc_rt_isa_t that this CPU has.
const AttentionRows &attentionRows(int isa) noexcept;

} // namespace mpc::rt

#endif
