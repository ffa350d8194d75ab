// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention for conformance tests: cases, drawn or given, and whole matrices in float64 by their
// definition, with a bound for each result from the terms that it is a sum of.
#ifndef MPC_RUNTIME_CTS_ATTENTION_CASE_H
#define MPC_RUNTIME_CTS_ATTENTION_CASE_H

#include "mpc-rt/executable.h"
#include "runtime/drivers/attention.h"

#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace mpc::rt::cts {

using Numbers = std::vector<double>;

struct AttentionCase {
  mpc_rt_dtype_t dtype;
  int64_t batch, targets, sources, heads, width, valueWidth;
  bool causal;
  uint32_t mask = 0; // MPC_RT_ATTENTION_MASK*
  bool drops = false;
  std::optional<double> hiddenScore = {};
  std::string text() const;
};

// The case of this number, the same each time.
AttentionCase drawAttention(uint32_t index);

// The operands and results of both services.
struct AttentionData {
  explicit AttentionData(const AttentionCase &c);
  mpc_rt_dtype_t wide() const {
    return c.dtype == MPC_RT_FLOAT64 ? MPC_RT_FLOAT64 : MPC_RT_FLOAT32;
  }
  double scale() const { return 1 / std::sqrt(static_cast<double>(c.width)); }
  mpc_rt_attention_t descriptor(uint32_t id) const;

  // The reference computes the forward results from their operands, and the derivative also from
  // the forward results as they are.
  std::string difference(bool ofGradient) const;

  const uint8_t *maskAt(const void *address) const {
    return c.mask ? static_cast<const uint8_t *>(address) : nullptr;
  }
  static constexpr double keepScale = 4.0 / 3;
  AttentionDropout dropoutAt(const void *address) const {
    return c.drops ? AttentionDropout{static_cast<const uint8_t *>(address), keepScale, true}
                   : AttentionDropout{};
  }
  double factorOf(size_t row, size_t source) const {
    return !c.drops ? 1 : kept[row * static_cast<size_t>(c.sources) + source] ? keepScale : 0;
  }
  // Whether the source counts for the target, and whether none does by the mask.
  bool sees(int64_t b, int64_t h, int64_t t, int64_t u) const;
  bool hides(int64_t b, int64_t h, int64_t t) const;

  AttentionCase c;
  std::vector<uint8_t> query, key, value, cotangent, mask, kept, out, logSums, queryGradient,
      keyGradient, valueGradient;
};

} // namespace mpc::rt::cts

#endif
