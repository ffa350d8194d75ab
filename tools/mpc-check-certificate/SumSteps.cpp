// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker's derivations of products, reductions and statistics.
#include "tools/mpc-check-certificate/Fact.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::check;

namespace {

Real extentOf(RankedTensorType type, int64_t axis) {
  return type.isDynamicDim(axis) ? kInfinite : Real(type.getDimSize(axis));
}
Real countOf(RankedTensorType type, ArrayRef<int64_t> axes) {
  Real count = 1;
  for (int64_t axis : axes)
    count *= extentOf(type, axis);
  return count;
}

/// A sum of products as a real number, and the largest sum of its terms' magnitudes.
struct Total {
  Real low = kInfinite, high = -kInfinite, size = 0, error = 0, terms = 0;
  bool isOneSided =
      false; ///< terms are not below 0 where `low` is not, nor above where `high` is not
};

/// Products of weights with what is known of the other factor, term by term. `sumOf` says which sum
/// an element of the weights belongs to, by its indices.
Total totalOf(const Fact &weights, const Fact &x, Real terms,
              llvm::function_ref<int64_t(ArrayRef<int64_t>)> sumOf) {
  struct Sum {
    Real low = 0, high = 0, weight = 0;
  };
  llvm::DenseMap<int64_t, Sum> sums;
  const ReferenceTensor &tensor = *weights.elements;
  SmallVector<int64_t> index(tensor.shape.size(), 0);
  for (int64_t i = 0, count = tensor.size(); i < count; ++i) {
    const Real w = tensor.at(i);
    Sum &sum = sums[sumOf(index)];
    sum.low += w * (w > 0 ? x.low : x.high);
    sum.high += w * (w > 0 ? x.high : x.low);
    sum.weight += std::fabs(w);
    for (int64_t d = int64_t(index.size()) - 1; d >= 0; --d) {
      if (++index[d] < tensor.shape[d])
        break;
      index[d] = 0;
    }
  }
  Total total;
  Real most = 0;
  for (const auto &[key, sum] : sums) {
    total.low = std::min(total.low, sum.low);
    total.high = std::max(total.high, sum.high);
    most = std::max(most, sum.weight);
  }
  total.size = most * x.size();
  total.error = most * x.error + terms * (x.size() + x.error) * weights.error;
  total.terms = terms;
  return total;
}

Total totalOfAny(const Fact &a, const Fact &b, Real terms) {
  const std::initializer_list<Real> corners = {a.low * b.low, a.low * b.high, a.high * b.low,
                                               a.high * b.high};
  return {terms * std::min(corners),
          terms * std::max(corners),
          terms * a.size() * b.size(),
          terms * (a.size() * b.error + (b.size() + b.error) * a.error),
          terms,
          false};
}

/// Any order of additions, then bias and activation, each rounded.
Fact finish(const Total &total, const Fact *bias, Activation activation, Type type) {
  if (!isa<FloatType>(type)) {
    const Fact all = anything(type);
    return total.low >= all.low && total.high <= all.high
               ? between(total.low, total.high, total.error)
               : all;
  }
  // Numbers of weights were summed in double by the analysis, which says so.
  const Real slack = slackOfSums(type, total.terms);
  const Real off = total.size * slack + (total.terms + total.size) * std::ldexp(Real(1), -126);
  if (!(total.size + off < largestSum(type)))
    return {};
  Real low = total.low - off, high = total.high + off;
  if (total.isOneSided && total.low >= 0)
    low = std::max(low, Real(0));
  if (total.isOneSided && total.high <= 0)
    high = std::min(high, Real(0));
  Fact fact = stored(between(low, high, total.error + off), type);
  if (bias)
    fact = stored({fact.low + bias->low, fact.high + bias->high, fact.nan || bias->nan,
                   fact.error + bias->error, nullptr},
                  type);
  if (activation == Activation::Relu) {
    fact.low = std::max(fact.low, Real(0));
    fact.high = std::max(fact.high, Real(0));
  }
  return fact;
}

int64_t keyWithout(ArrayRef<int64_t> index, ArrayRef<int64_t> shape, ArrayRef<int64_t> axes) {
  int64_t key = 0;
  for (size_t d = 0; d < index.size(); ++d)
    if (!llvm::is_contained(axes, int64_t(d)))
      key = key * shape[d] + index[d];
  return key;
}

Fact contract(ContractOp op, ArrayRef<Fact> in, Type type) {
  const Fact &lhs = in[0], &rhs = in[1];
  const Real terms = countOf(tensorTypeOf(op.getLhs()), op.getLhsContracting());
  if (!lhs.isBounded() || !rhs.isBounded() || std::isinf(terms))
    return anything(type);
  Total total;
  if (rhs.elements)
    total = totalOf(rhs, lhs, terms, [&](ArrayRef<int64_t> index) {
      return keyWithout(index, rhs.elements->shape, op.getRhsContracting());
    });
  else if (lhs.elements)
    total = totalOf(lhs, rhs, terms, [&](ArrayRef<int64_t> index) {
      return keyWithout(index, lhs.elements->shape, op.getLhsContracting());
    });
  else
    total = totalOfAny(lhs, rhs, terms);
  return finish(total, op.getBias() ? &in[2] : nullptr, op.getActivation(), type);
}

Fact convolve(ConvolutionOp op, ArrayRef<Fact> in, Type type) {
  auto isSome = [](int64_t padding) { return padding != 0; };
  const bool pads =
      llvm::any_of(op.getPaddingLow(), isSome) || llvm::any_of(op.getPaddingHigh(), isSome);
  const Fact input = pads ? either(in[0], between(0, 0)) : in[0];
  auto filter = tensorTypeOf(op.getFilter());
  if (!input.isBounded() || !in[1].isBounded() || !filter.hasStaticShape())
    return anything(type);
  const Real terms = Real(filter.getNumElements()) / Real(filter.getShape().back());
  const Total total = in[1].elements ? totalOf(in[1], input, terms,
                                               [](ArrayRef<int64_t> index) { return index.back(); })
                                     : totalOfAny(input, in[1], terms);
  return finish(total, op.getBias() ? &in[2] : nullptr, op.getActivation(), type);
}

Fact convolveBack(ConvolutionInputGradientOp op, ArrayRef<Fact> in, Type type) {
  const Fact cotangent = either(in[0], between(0, 0));
  auto filter = tensorTypeOf(op.getFilter());
  if (!cotangent.isBounded() || !in[1].isBounded() || !filter.hasStaticShape())
    return anything(type);
  const int64_t filters = filter.getShape().back(), groups = int64_t(op.getGroups());
  const int64_t channels = filter.getShape()[filter.getRank() - 2];
  const Real terms = Real(filter.getNumElements()) / Real(channels) / Real(groups);
  auto sumOf = [&](ArrayRef<int64_t> index) {
    return index[index.size() - 2] * groups + index.back() / (filters / groups);
  };
  const Total total = in[1].elements ? totalOf(in[1], cotangent, terms, sumOf)
                                     : totalOfAny(cotangent, in[1], terms);
  return finish(total, op.getBias() ? &in[2] : nullptr, op.getActivation(), type);
}

Fact differentiateFilter(ConvolutionFilterGradientOp op, ArrayRef<Fact> in, Type type) {
  const Fact input = either(in[0], between(0, 0));
  auto cotangent = tensorTypeOf(op.getCotangent());
  if (!input.isBounded() || !in[1].isBounded() || !cotangent.hasStaticShape())
    return anything(type);
  const Real terms = Real(cotangent.getNumElements()) / Real(cotangent.getShape().back());
  return finish(totalOfAny(input, in[1], terms), nullptr, Activation::None, type);
}

Fact spread(PoolGradientOp op, const Fact &given, Type type) {
  const Fact cotangent = either(given, between(0, 0));
  if (!cotangent.isBounded() || op.getWindow().empty())
    return anything(type);
  Real overlapping = 1, size = 1;
  bool pads = false;
  for (size_t d = 0; d < op.getWindow().size(); ++d) {
    const int64_t window = op.getWindow()[d], stride = op.getStrides()[d];
    overlapping *= Real(window / stride + (window % stride != 0));
    size *= Real(window);
    pads |= op.getPaddingLow()[d] != 0 || op.getPaddingHigh()[d] != 0;
  }
  const bool takesLargest = op.getKind() == ReduceKind::Max;
  const Real share = takesLargest || pads ? overlapping : overlapping / size;
  const Real error =
      takesLargest ? cotangent.high - cotangent.low + 2 * cotangent.error : cotangent.error;
  return finish({share * cotangent.low, share * cotangent.high, share * cotangent.size(),
                 share * error, overlapping + 2, /*isOneSided=*/true},
                nullptr, Activation::None, type);
}

void attend(AttentionOp op, ArrayRef<Fact> in, MutableArrayRef<Fact> results) {
  auto keys = tensorTypeOf(op.getKey());
  const Real sources = extentOf(keys, 1);
  const Real most = std::fabs(Real(op.getScale().convertToDouble())) * keys.getShape().back() *
                    in[0].size() * in[1].size() * (1 + std::ldexp(Real(1), -10));
  if (!in[0].isBounded() || !in[1].isBounded() || !in[2].isBounded() || std::isinf(sources) ||
      !(most < std::ldexp(Real(1), 126))) {
    results[0] = results[1] = Fact();
    return;
  }
  const bool drops = op.getRate().has_value();
  const Fact value = drops || op.getHiddenScore() ? either(in[2], between(0, 0)) : in[2];
  const Real grow = drops ? 1 / (1 - Real(op.getRate()->convertToDouble())) : Real(1);
  const Real off =
      value.size() * grow * (std::ldexp(Real(1), -7) + sources * std::ldexp(Real(1), -22));
  results[0] = stored(between(value.low * (value.low < 0 ? grow : 1) - off,
                              value.high * (value.high > 0 ? grow : 1) + off, kInfinite),
                      elementTypeOf(op.getResult()));
  const Real hidden =
      op.getHiddenScore() ? std::fabs(Real(op.getHiddenScore()->convertToDouble())) : Real(0);
  const Real small = std::ldexp(Real(1), -10);
  const Real bound = std::max(most, hidden) * (1 + small) + small;
  results[1] =
      stored(between(-bound, bound + std::log(std::max(sources, Real(1))) * (1 + small), kInfinite),
             elementTypeOf(op.getLogSums()));
}

/// The mean of so many elements, as a real number.
Fact meanOf(const Fact &input, Real count, Type type) {
  const Real slack = slackOfSums(type, count + 2);
  if (std::isinf(count) || !input.isBounded() ||
      !(input.size() * count * (1 + slack) < largestSum(type)))
    return {};
  const Real off = input.size() * slack + std::ldexp(Real(1), -126);
  return between(input.low - off, input.high + off, input.error + off);
}

Fact reduce(ReduceOp op, const Fact &input, Type type) {
  const Real count = countOf(tensorTypeOf(op.getInput()), op.getAxes());
  if (op.getKind() == ReduceKind::Mean)
    return stored(meanOf(input, count, type), type);
  if (op.getKind() != ReduceKind::Sum)
    return either(input, input);
  if (!isa<FloatType>(type)) {
    const Fact all = anything(type);
    const Fact sum = between(input.low * count, input.high * count, input.error * count);
    return std::isfinite(count) && sum.low >= all.low && sum.high <= all.high ? sum : all;
  }
  if (!meanOf(input, count, type).isBounded())
    return {};
  const Real off = input.size() * count * slackOfSums(type, count + 2) + std::ldexp(Real(1), -126);
  return stored(
      between(input.low * count - off, input.high * count + off, input.error * count + off), type);
}

void takeMoments(MomentsOp op, const Fact &input, MutableArrayRef<Fact> results) {
  const Type type = elementTypeOf(op.getMean());
  const Real count = countOf(tensorTypeOf(op.getInput()), op.getAxes());
  const Fact mean = meanOf(input, count, type);
  results[0] = stored(mean, type);
  const Real range = input.high - input.low, slack = slackOfSums(type, count + 4);
  const Real shift = input.size() * slack;
  const Real most = range * range / 4 * (1 + slack) + 2 * shift * shift + range * shift +
                    std::ldexp(Real(1), -126);
  if (!mean.isBounded() || !(most * count < std::ldexp(Real(1), 127))) {
    results[1] = Fact();
    return;
  }
  const Real moved = 2 * input.error + shift;
  results[1] = stored(between(0, most, 2 * (range + moved) * moved + most * slack), type);
  results[1].low = std::max(results[1].low, Real(0));
}

/// How much float32 makes a softmax off.
Real softmaxSlack(RankedTensorType type, int64_t axis, Real range) {
  const Real unit = slackOfFunctions(type.getElementType());
  return 2 * unit + (range + extentOf(type, axis)) * unit / 16;
}

Fact softmax(SoftmaxOp op, const Fact &input, Type type) {
  const Real slack =
      softmaxSlack(tensorTypeOf(op.getInput()), op.getAxis(), input.high - input.low);
  if (!input.isBounded() || !(slack < 0.5))
    return {0, 1 + std::ldexp(Real(1), -7), true, kInfinite, nullptr};
  const Real moved = input.error < 100 ? std::expm1(2 * input.error) : kInfinite;
  return stored(between(0, 1 + slack, std::min(moved, Real(1)) + slack), type);
}

Fact logSoftmax(LogSoftmaxOp op, const Fact &input, Type type) {
  auto tensor = tensorTypeOf(op.getInput());
  const Real range = input.high - input.low, slack = softmaxSlack(tensor, op.getAxis(), range);
  if (!input.isBounded() || !(slack < 0.5))
    return {};
  const Real depth = range + std::log(extentOf(tensor, op.getAxis()));
  return stored(between(-depth * (1 + slack) - slack, slack, 2 * input.error + slack * (1 + depth)),
                type);
}

Fact crossEntropy(SoftmaxCrossEntropyOp op, const Fact &logits, const Fact &target, Type type) {
  auto tensor = tensorTypeOf(op.getLogits());
  const Real range = logits.high - logits.low, classes = tensor.getShape().back();
  const Real slack = softmaxSlack(tensor, tensor.getRank() - 1, range);
  const Real depth = range + std::log(classes), deepest = depth * (1 + slack) + slack;
  // A one_hot has at most one number in a row that is not 0.
  const Real terms = isa_and_nonnull<OneHotOp>(op.getTarget().getDefiningOp()) ? Real(1) : classes;
  const Real size = terms * target.size() * deepest;
  const Real off = size * slackOfSums(type, classes + 2) + classes * std::ldexp(Real(1), -126);
  if (!logits.isBounded() || !target.isBounded() || !(slack < 0.5) ||
      !(size + off < largestSum(type)))
    return {};
  const std::initializer_list<Real> corners = {target.low * deepest, target.high * deepest,
                                               -target.low * slack, -target.high * slack};
  const Real moved = 2 * logits.error + slack * (1 + depth);
  return stored(between(terms * std::min(corners) - off, terms * std::max(corners) + off,
                        terms * (target.size() * moved + (deepest + moved) * target.error) + off),
                type);
}

Fact pool(PoolOp op, const Fact &input, Type type) {
  if (op.getKind() == ReduceKind::Max)
    return either(input, input);
  auto from = tensorTypeOf(op.getInput()), to = tensorTypeOf(op.getResult());
  Real count = 1;
  for (int64_t d = 1; d + 1 < from.getRank(); ++d) {
    Real most = 0;
    const int64_t extent = from.getDimSize(d), outputs = to.getDimSize(d);
    for (int64_t o = 0; o < outputs; ++o) {
      int64_t begin = o * extent / outputs, end = ((o + 1) * extent + outputs - 1) / outputs;
      if (!op.getWindow().empty()) {
        begin = o * op.getStrides()[d - 1] - op.getPaddingLow()[d - 1];
        end = std::min(begin + op.getWindow()[d - 1], extent);
        begin = std::max<int64_t>(begin, 0);
      }
      most = std::max(most, Real(end - begin));
    }
    count *= most;
  }
  return stored(meanOf(input, count, type), type);
}

} // namespace

bool check::deriveSums(Operation *op, ArrayRef<Fact> in, MutableArrayRef<Fact> results) {
  const Type type = elementTypeOf(op->getResult(0));
  bool isKnown = true;
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](ContractOp each) { results[0] = contract(each, in, type); })
      .Case([&](ConvolutionOp each) { results[0] = convolve(each, in, type); })
      .Case([&](ConvolutionInputGradientOp each) { results[0] = convolveBack(each, in, type); })
      .Case([&](ConvolutionFilterGradientOp each) {
        results[0] = differentiateFilter(each, in, type);
      })
      .Case([&](PoolGradientOp each) { results[0] = spread(each, in[0], type); })
      .Case([&](AttentionOp each) { attend(each, in, results); })
      .Case([&](ReduceOp each) { results[0] = reduce(each, in[0], type); })
      .Case([&](MomentsOp each) { takeMoments(each, in[0], results); })
      .Case([&](SoftmaxOp each) { results[0] = softmax(each, in[0], type); })
      .Case([&](LogSoftmaxOp each) { results[0] = logSoftmax(each, in[0], type); })
      .Case(
          [&](SoftmaxCrossEntropyOp each) { results[0] = crossEntropy(each, in[0], in[1], type); })
      .Case([&](PoolOp each) { results[0] = pool(each, in[0], type); })
      .Default([&](Operation *) { isKnown = false; });
  return isKnown;
}
