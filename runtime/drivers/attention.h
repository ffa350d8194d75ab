// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An attention descriptor for one batch, checked, and what attention and its derivative are given.
#ifndef MPC_RUNTIME_DRIVERS_ATTENTION_H
#define MPC_RUNTIME_DRIVERS_ATTENTION_H

#include "mpc-rt/executable.h"
#include "mpc-rt/status.h"

#include <optional>
#include <tuple>

namespace mpc::rt {

struct Attention {
  mpc_rt_dtype_t dtype = 0;
  bool causal = false;
  bool isGradient = false;
  uint32_t mask = 0; // MPC_RT_ATTENTION_MASK*
  int64_t batch = 0, targets = 0, sources = 0, heads = 0, width = 0, valueWidth = 0;
  double scale = 1;
  std::optional<double> hiddenScore; // of sources that do not count, whose probability is 0 then

  bool operator==(const Attention &other) const {
    auto fields = [](const Attention &a) {
      return std::tie(a.dtype, a.causal, a.mask, a.batch, a.targets, a.sources, a.heads, a.width,
                      a.valueWidth, a.scale, a.hiddenScore);
    };
    return fields(*this) == fields(other);
  }
  // The dtype of log_sums.
  mpc_rt_dtype_t wide() const { return dtype == MPC_RT_FLOAT64 ? dtype : MPC_RT_FLOAT32; }
  int64_t queryElements() const { return batch * targets * heads * width; }
  int64_t keyElements() const { return batch * sources * heads * width; }
  int64_t valueElements() const { return batch * sources * heads * valueWidth; }
  int64_t outElements() const { return batch * targets * heads * valueWidth; }
  int64_t rows() const { return batch * heads * targets; }
  int64_t scores() const { return rows() * sources; }
  // The index where the row of a mask begins that tells which sources the target of a pair (sample
  // * heads + head) sees.
  int64_t maskRow(int64_t pair, int64_t target) const {
    int64_t row = mask & MPC_RT_ATTENTION_MASK_OF_SAMPLE ? pair / heads : 0;
    if (mask & MPC_RT_ATTENTION_MASK_OF_HEAD)
      row = row * heads + pair % heads;
    if (mask & MPC_RT_ATTENTION_MASK_OF_TARGET)
      row = row * targets + target;
    return row * sources;
  }
};

// Dropout of probabilities: which of [batch, heads, targets, sources] are kept, and by what those
// are multiplied before values are.
struct AttentionDropout {
  const uint8_t *kept = nullptr;
  double scale = 1;
  bool drops = false;
};

struct AttentionOperands {
  const void *query, *key, *value;
  void *out, *logSums;
  const uint8_t *mask = nullptr;
  AttentionDropout dropout = {};
};

struct AttentionGradientOperands {
  const void *cotangent, *out, *logSums, *query, *key, *value;
  void *queryGradient, *keyGradient, *valueGradient;
  const uint8_t *mask = nullptr;
  AttentionDropout dropout = {};
};

AttentionOperands operandsOf(const mpc_rt_attention_t &descriptor,
                             const mpc_rt_attend_call_t &call) noexcept;
AttentionGradientOperands gradientOperandsOf(const mpc_rt_attention_t &descriptor,
                                             const mpc_rt_attend_call_t &call) noexcept;

// An error status, naming the layer, for a call that no driver could do: unknown dtypes, extents
// that overflow, missing operands. `call` has all fields.
mpc_rt_status_t resolveAttention(const mpc_rt_attention_t &descriptor,
                                 const mpc_rt_attend_call_t &call, Attention &result) noexcept;

// Both compute the pairs [begin, end) of sample and head (sample * heads + head), on memory of the
// host. All arithmetic is in float64; nothing is rounded but results.
void attendDirectly(const Attention &shape, const AttentionOperands &operands, int64_t begin,
                    int64_t end);
void attendGradientDirectly(const Attention &shape, const AttentionGradientOperands &operands,
                            int64_t begin, int64_t end);

} // namespace mpc::rt

#endif
