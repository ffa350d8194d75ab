// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention by loops, for devices that no library computes it on: models that were compiled for a
// GPU and run on the CPU. A row of scores at a time.
#include "runtime/base/element.h"
#include "runtime/drivers/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace mpc::rt {
namespace {

using Matrix = std::vector<double>; // [length, width]

// Positions and widths of one head in [batch, length, heads, width].
class Head {
public:
  Head(const Attention &shape, int64_t pair) : shape(shape), pair(pair) {}

  Matrix load(const void *from, int64_t length, int64_t width) const {
    Matrix matrix(static_cast<size_t>(length * width));
    for (int64_t position = 0; position < length; ++position)
      for (int64_t w = 0; w < width; ++w)
        matrix[static_cast<size_t>(position * width + w)] =
            loadElement(shape.dtype, from, elementOf(position, length, w, width));
    return matrix;
  }
  void store(const Matrix &matrix, void *to, int64_t length, int64_t width) const {
    for (int64_t position = 0; position < length; ++position)
      for (int64_t w = 0; w < width; ++w)
        storeElement(shape.dtype, to, elementOf(position, length, w, width),
                     matrix[static_cast<size_t>(position * width + w)]);
  }
  // The scores of a target with the sources that may count, -inf where the mask says that they do
  // not. False if they depend on nothing: the mask hides them all, and these have no score.
  bool score(const Matrix &query, const Matrix &key, const uint8_t *mask, int64_t target,
             std::vector<double> &row) const {
    row.resize(
        static_cast<size_t>(shape.causal ? std::min(target + 1, shape.sources) : shape.sources));
    if (mask)
      mask += shape.maskRow(pair, target);
    if (mask && !shape.hiddenScore && std::count(mask, mask + shape.sources, 0) == shape.sources) {
      std::fill(row.begin(), row.end(), 0.0);
      return false;
    }
    const double *q = &query[static_cast<size_t>(target * shape.width)], *k = key.data();
    for (double &score : row) {
      score = 0;
      for (int64_t w = 0; w < shape.width; ++w)
        score += q[w] * *k++;
      score *= shape.scale;
      if (mask && !*mask++)
        score = -std::numeric_limits<double>::infinity();
    }
    return true;
  }
  // The sources that do not count for a target.
  int64_t hiddenFrom(const uint8_t *mask, int64_t target) const {
    if (mask) {
      mask += shape.maskRow(pair, target);
      return std::count(mask, mask + shape.sources, 0);
    }
    return shape.causal ? std::max(shape.sources - target - 1, int64_t{0}) : 0;
  }
  int64_t rowOf(int64_t target) const { return pair * shape.targets + target; }
  // Dropout multiplies the probability by this; 0: the probability counts as 0, whatever it is.
  double factorOf(const AttentionDropout &dropout, int64_t target, size_t source) const {
    return !dropout.drops ? 1
           : dropout.kept[rowOf(target) * shape.sources + static_cast<int64_t>(source)]
               ? dropout.scale
               : 0;
  }

private:
  int64_t elementOf(int64_t position, int64_t length, int64_t w, int64_t width) const {
    const int64_t sample = pair / shape.heads, head = pair % shape.heads;
    return ((sample * length + position) * shape.heads + head) * width + w;
  }

  const Attention &shape;
  int64_t pair;
};

} // namespace

void attendDirectly(const Attention &shape, const AttentionOperands &operands, int64_t begin,
                    int64_t end) {
  std::vector<double> row;
  for (int64_t pair = begin; pair < end; ++pair) {
    Head head(shape, pair);
    const Matrix query = head.load(operands.query, shape.targets, shape.width),
                 key = head.load(operands.key, shape.sources, shape.width),
                 value = head.load(operands.value, shape.sources, shape.valueWidth);
    Matrix out(static_cast<size_t>(shape.targets * shape.valueWidth), 0.0);
    for (int64_t target = 0; target < shape.targets; ++target) {
      head.score(query, key, operands.mask, target, row);
      // NaN is the largest: it must come out.
      double top = -std::numeric_limits<double>::infinity(), sum = 0;
      for (double score : row)
        top = std::isnan(score) ? score : std::max(top, score);
      const int64_t hidden = head.hiddenFrom(operands.mask, target);
      if (shape.hiddenScore && hidden > 0) {
        top = top < *shape.hiddenScore ? *shape.hiddenScore : top;
        sum = static_cast<double>(hidden) * std::exp(*shape.hiddenScore - top);
      }
      for (double &score : row)
        sum += score = std::exp(score - top);
      double *to = &out[static_cast<size_t>(target * shape.valueWidth)];
      const double *v = value.data();
      for (size_t source = 0; source < row.size(); ++source) {
        const double factor = head.factorOf(operands.dropout, target, source),
                     weight = factor == 0 ? 0 : row[source] / sum * factor;
        for (int64_t w = 0; w < shape.valueWidth; ++w)
          to[w] += weight * *v++;
      }
      storeElement(shape.wide(), operands.logSums, head.rowOf(target), top + std::log(sum));
    }
    head.store(out, operands.out, shape.targets, shape.valueWidth);
  }
}

void attendGradientDirectly(const Attention &shape, const AttentionGradientOperands &operands,
                            int64_t begin, int64_t end) {
  std::vector<double> row;
  for (int64_t pair = begin; pair < end; ++pair) {
    Head head(shape, pair);
    const int64_t width = shape.width, extent = shape.valueWidth;
    const Matrix cotangent = head.load(operands.cotangent, shape.targets, extent),
                 out = head.load(operands.out, shape.targets, extent),
                 query = head.load(operands.query, shape.targets, width),
                 key = head.load(operands.key, shape.sources, width),
                 value = head.load(operands.value, shape.sources, extent);
    Matrix toQuery(query.size(), 0.0), toKey(key.size(), 0.0), toValue(value.size(), 0.0);
    for (int64_t target = 0; target < shape.targets; ++target) {
      const bool depends = head.score(query, key, operands.mask, target, row);
      const double logSum = loadElement(shape.wide(), operands.logSums, head.rowOf(target));
      const double *dy = &cotangent[static_cast<size_t>(target * extent)],
                   *y = &out[static_cast<size_t>(target * extent)],
                   *q = &query[static_cast<size_t>(target * width)];
      double *dq = &toQuery[static_cast<size_t>(target * width)];
      for (size_t source = 0; source < row.size(); ++source) {
        if (std::isinf(row[source]) && row[source] < 0)
          continue;
        const double weight = std::exp(row[source] - logSum),
                     factor = head.factorOf(operands.dropout, target, source),
                     dropped = factor == 0 ? 0 : weight * factor;
        const double *v = &value[source * static_cast<size_t>(extent)],
                     *k = &key[source * static_cast<size_t>(width)];
        double *dv = &toValue[source * static_cast<size_t>(extent)],
               *dk = &toKey[source * static_cast<size_t>(width)];
        double derivative = 0;
        for (int64_t w = 0; w < extent; ++w) {
          derivative += dy[w] * ((factor == 0 ? 0 : factor * v[w]) - y[w]);
          dv[w] += dropped * dy[w];
        }
        if (!depends)
          continue;
        derivative *= shape.scale * weight;
        for (int64_t w = 0; w < width; ++w) {
          dq[w] += derivative * k[w];
          dk[w] += derivative * q[w];
        }
      }
    }
    head.store(toQuery, operands.queryGradient, shape.targets, width);
    head.store(toKey, operands.keyGradient, shape.sources, width);
    head.store(toValue, operands.valueGradient, shape.sources, extent);
  }
}

} // namespace mpc::rt
