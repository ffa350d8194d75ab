// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cts/attention_case.h"
#include "runtime/base/dtype.h"
#include "runtime/base/philox.h"
#include "runtime/cts/elements.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mpc::rt::cts {
namespace {

// Roundings of operands and results, of scores before their softmax and of the softmax.
double unitOf(mpc_rt_dtype_t dtype) {
  return dtype == MPC_RT_FLOAT16    ? 0x1p-11
         : dtype == MPC_RT_BFLOAT16 ? 0x1p-8
         : dtype == MPC_RT_FLOAT32  ? 0x1p-20
                                    : 0x1p-45;
}
constexpr double roundings = 6;

// Draws a mask that tells all extents apart: some rows have some sources, some have none, some have
// the first ones alone.
bool drawMask(int64_t row, int64_t source, int64_t sources) {
  const auto word = [](int64_t i, uint32_t stream) {
    return philox({{static_cast<uint32_t>(i), stream, 0, 0}}, 23, 0).word[0];
  };
  const uint32_t kind = word(row, 0) % 4;
  return kind == 0   ? false
         : kind == 1 ? source < static_cast<int64_t>(word(row, 1)) % sources
                     : word(row * sources + source, 2) % 3 != 0;
}

// A result and, of each number, the sum of its terms without their signs.
struct Expected {
  Numbers values, terms;
  explicit Expected(size_t count) : values(count, 0.0), terms(count, 0.0) {}
  void add(size_t i, double value, double term) {
    values[i] += value;
    terms[i] += term;
  }
  std::string differenceOf(const char *what, mpc_rt_dtype_t dtype, double unit,
                           const std::vector<uint8_t> &data) const {
    const Numbers got = widened(dtype, data);
    for (size_t i = 0; i < values.size(); ++i)
      if (!(std::abs(got[i] - values[i]) <= unit * roundings * terms[i]))
        return std::string(what) + ": element " + std::to_string(i) + " is " +
               std::to_string(got[i]) + ", expected " + std::to_string(values[i]) + " within " +
               std::to_string(unit * roundings * terms[i]);
    return "";
  }
};

} // namespace

std::string AttentionCase::text() const {
  return std::string(dtypeName(dtype)) + " " + std::to_string(batch) + "x" + std::to_string(heads) +
         "x" + std::to_string(targets) + "x" + std::to_string(sources) + "x" +
         std::to_string(width) + "x" + std::to_string(valueWidth) + (causal ? " causal" : "") +
         (mask ? " mask " + std::to_string(mask) : "") + (drops ? " dropout" : "") +
         (hiddenScore ? " hidden score " + std::to_string(*hiddenScore) : "");
}

AttentionCase drawAttention(uint32_t index) {
  uint32_t count = 0;
  auto next = [&](uint32_t bound) {
    return static_cast<int64_t>(philox({{index, count++, 0, 0}}, 17, 0).word[0] % bound);
  };
  constexpr mpc_rt_dtype_t dtypes[] = {MPC_RT_FLOAT16, MPC_RT_BFLOAT16, MPC_RT_FLOAT16,
                                       MPC_RT_FLOAT32, MPC_RT_FLOAT64};
  AttentionCase c;
  c.dtype = dtypes[next(5)];
  c.batch = 1 + next(3), c.heads = 1 + next(3);
  c.targets = 1 + next(40), c.sources = next(2) ? c.targets : 1 + next(40);
  // Half of the widths as libraries like them.
  c.width = next(2) ? 8 * (1 + next(4)) : 1 + next(20);
  c.valueWidth = next(2) ? c.width : next(2) ? 8 * (1 + next(4)) : 1 + next(20);
  c.causal = next(2);
  if (!c.causal && next(2))
    c.mask = MPC_RT_ATTENTION_MASK | static_cast<uint32_t>(4 * next(8));
  c.drops = next(2);
  // Far below the others, or among them.
  if ((c.causal || c.mask) && next(2))
    c.hiddenScore = next(2) ? -3e4 : -0.5;
  return c;
}

AttentionData::AttentionData(const AttentionCase &c) : c(c) {
  auto make = [&](std::vector<uint8_t> &data, int64_t count, uint32_t stream) {
    fill(data, c.dtype, count, /*seed=*/5, stream, /*most=*/16, 1.0 / 8);
  };
  make(query, c.batch * c.targets * c.heads * c.width, 0);
  make(key, c.batch * c.sources * c.heads * c.width, 1);
  make(value, c.batch * c.sources * c.heads * c.valueWidth, 2);
  make(cotangent, c.batch * c.targets * c.heads * c.valueWidth, 3);
  const int64_t rows = (c.mask & MPC_RT_ATTENTION_MASK_OF_SAMPLE ? c.batch : 1) *
                       (c.mask & MPC_RT_ATTENTION_MASK_OF_HEAD ? c.heads : 1) *
                       (c.mask & MPC_RT_ATTENTION_MASK_OF_TARGET ? c.targets : 1);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t u = 0; u < c.sources; ++u)
      mask.push_back(drawMask(row, u, c.sources));
  for (int64_t i = 0; c.drops && i < c.batch * c.heads * c.targets * c.sources; ++i)
    kept.push_back(philox({{static_cast<uint32_t>(i), 0, 0, 0}}, 29, 0).word[0] % 4 != 0);
  out.resize(cotangent.size(), 0xFF);
  logSums.resize(static_cast<size_t>(c.batch * c.heads * c.targets) * dtypeSize(wide()), 0xFF);
  queryGradient.resize(query.size(), 0xFF);
  keyGradient.resize(key.size(), 0xFF);
  valueGradient.resize(value.size(), 0xFF);
}

mpc_rt_attention_t AttentionData::descriptor(uint32_t id) const {
  mpc_rt_attention_t d{};
  d.struct_size = sizeof d;
  d.id = id;
  d.dtype = c.dtype;
  d.flags = (c.causal ? MPC_RT_ATTENTION_CAUSAL : 0) |
            (c.hiddenScore ? MPC_RT_ATTENTION_HIDDEN_SCORE : 0) | c.mask;
  d.batch = {0, 1};
  d.targets = c.targets, d.sources = c.sources, d.heads = c.heads;
  d.width = c.width, d.value_width = c.valueWidth;
  d.scale = scale();
  d.layer = "tested";
  d.hidden_score = c.hiddenScore.value_or(0);
  return d;
}

std::string AttentionData::difference(bool ofGradient) const {
  const Numbers q = widened(c.dtype, query), k = widened(c.dtype, key), v = widened(c.dtype, value),
                dy = widened(c.dtype, cotangent), y = widened(c.dtype, out),
                l = widened(wide(), logSums);
  Expected result(dy.size()), sums(l.size()), dq(q.size()), dk(k.size()), dv(v.size());
  auto at = [&](int64_t b, int64_t position, int64_t length, int64_t h, int64_t width, int64_t w) {
    return static_cast<size_t>(((b * length + position) * c.heads + h) * width + w);
  };
  Numbers scores(static_cast<size_t>(c.sources));
  const auto count = static_cast<size_t>(c.sources);
  const double scaling = scale();
  for (int64_t b = 0; b < c.batch; ++b)
    for (int64_t h = 0; h < c.heads; ++h)
      for (int64_t t = 0; t < c.targets; ++t) {
        const auto row = static_cast<size_t>((b * c.heads + h) * c.targets + t);
        double total = 0, largest = 0;
        const bool isHidden = hides(b, h, t);
        // Scores of -3e4 beside none of their kind are e^-3e4 of a sum: 0 of those of float64.
        const double base = isHidden && c.hiddenScore ? *c.hiddenScore : 0;
        for (size_t u = 0; u < count; ++u) {
          scores[u] = 0;
          if (isHidden && !c.hiddenScore) {
            total += 1;
            continue;
          }
          if (!sees(b, h, t, static_cast<int64_t>(u))) {
            scores[u] = -std::numeric_limits<double>::infinity();
            total += c.hiddenScore ? std::exp(*c.hiddenScore - base) : 0;
            continue;
          }
          for (int64_t w = 0; w < c.width; ++w)
            scores[u] += q[at(b, t, c.targets, h, c.width, w)] *
                         k[at(b, static_cast<int64_t>(u), c.sources, h, c.width, w)] * scaling;
          largest = std::max(largest, std::abs(scores[u]));
          total += std::exp(scores[u]);
        }
        // A rounding of the scores changes the weights by this much, relatively.
        const double sensitivity = 1 + largest;
        const double logSum = base + std::log(total);
        sums.add(row, logSum, sensitivity + std::abs(base));
        for (size_t u = 0; u < count; ++u) {
          const auto source = static_cast<int64_t>(u);
          const double weight = std::exp(scores[u] - (ofGradient ? l[row] : logSum));
          const double factor = factorOf(row, u);
          double derivative = 0, terms = 0;
          for (int64_t w = 0; w < c.valueWidth; ++w) {
            const size_t to = at(b, t, c.targets, h, c.valueWidth, w),
                         from = at(b, source, c.sources, h, c.valueWidth, w);
            result.add(to, factor * weight * v[from],
                       factor * weight * std::abs(v[from]) * sensitivity);
            if (!ofGradient)
              continue;
            dv.add(from, factor * weight * dy[to],
                   factor * weight * std::abs(dy[to]) * sensitivity);
            derivative += dy[to] * (factor * v[from] - y[to]);
            terms += std::abs(dy[to]) * (factor * std::abs(v[from]) + std::abs(y[to]));
          }
          if (isHidden)
            continue;
          derivative *= scaling * weight;
          terms *= scaling * weight * sensitivity;
          for (int64_t w = 0; ofGradient && w < c.width; ++w) {
            const size_t target = at(b, t, c.targets, h, c.width, w),
                         from = at(b, source, c.sources, h, c.width, w);
            dq.add(target, derivative * k[from], terms * std::abs(k[from]));
            dk.add(from, derivative * q[target], terms * std::abs(q[target]));
          }
        }
      }
  const double unit = unitOf(c.dtype);
  std::string text;
  if (!ofGradient) {
    text = result.differenceOf("out", c.dtype, unit, out);
    return text.empty() ? sums.differenceOf("log_sums", wide(), unit, logSums) : text;
  }
  text = dq.differenceOf("query", c.dtype, unit, queryGradient);
  text += dk.differenceOf("key", c.dtype, unit, keyGradient);
  return text + dv.differenceOf("value", c.dtype, unit, valueGradient);
}

bool AttentionData::sees(int64_t b, int64_t h, int64_t t, int64_t u) const {
  if (!c.mask)
    return !c.causal || u <= t;
  int64_t row = c.mask & MPC_RT_ATTENTION_MASK_OF_SAMPLE ? b : 0;
  row = c.mask & MPC_RT_ATTENTION_MASK_OF_HEAD ? row * c.heads + h : row;
  row = c.mask & MPC_RT_ATTENTION_MASK_OF_TARGET ? row * c.targets + t : row;
  return mask[static_cast<size_t>(row * c.sources + u)] != 0;
}

bool AttentionData::hides(int64_t b, int64_t h, int64_t t) const {
  for (int64_t u = 0; c.mask && u < c.sources; ++u)
    if (sees(b, h, t, u))
      return false;
  return c.mask != 0;
}

} // namespace mpc::rt::cts
