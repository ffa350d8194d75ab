// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/attend/attention_sight.h"

#include <algorithm>
#include <cmath>

namespace mpc::rt {

Sight AttentionSight::of(int64_t pair, int64_t target) const {
  if (!mask)
    return {shape.causal ? std::min(target + 1, shape.sources) : shape.sources, nullptr, false};
  const uint8_t *row = mask + shape.maskRow(pair, target);
  int64_t seen = shape.sources;
  while (seen > 0 && !row[seen - 1])
    --seen;
  if (seen == 0)
    return {shape.hiddenScore ? 0 : shape.sources, nullptr, true};
  return {seen, row, false};
}

int64_t AttentionSight::hiddenFrom(const Sight &sight) const {
  const int64_t behind = shape.sources - sight.seen;
  return sight.mask ? behind + std::count(sight.mask, sight.mask + sight.seen, 0) : behind;
}

void AttentionSight::shareWithHidden(const Sight &sight, float *row, float *largest,
                                     float *sum) const {
  constexpr float negligible = 104; // e^-104 is 0
  const auto score = static_cast<float>(*shape.hiddenScore);
  // A largest score that is NaN ends here, too.
  if (!(*largest < score + negligible))
    return;
  const int64_t hidden = hiddenFrom(sight);
  if (hidden == 0)
    return;
  const float top = std::max(*largest, score), own = *sum * std::exp(*largest - top),
              total = own + static_cast<float>(hidden) * std::exp(score - top);
  // If all scores are -inf, or there is none, the sum and the probabilities are not numbers.
  const bool counts = own > 0;
  for (int64_t i = 0; i < sight.seen; ++i)
    row[i] = counts ? row[i] * (own / total) : 0;
  *largest = top;
  *sum = counts ? total : static_cast<float>(hidden) * std::exp(score - top);
}

int64_t AttentionSight::seenFrom(int64_t pair, int64_t first, int64_t count) const {
  int64_t most = 1; // products have a column at least
  for (int64_t target = first; target < first + count; ++target)
    most = std::max(most, of(pair, target).seen);
  return most;
}

} // namespace mpc::rt
