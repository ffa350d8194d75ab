// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranges of contractions, convolutions and attention. Where one operand is a weight, each sum of
// products is bounded with the weight's own elements.
#include "lib/Numerics/Ranges/RangeModels.h"

using namespace mlir;
using namespace mpc;

namespace {

/// The bounds of a sum of products, in real numbers.
struct Sums {
  double low = 0, high = 0;
  double magnitude = 0; ///< of the terms' magnitudes together
  double error = 0;     ///< that operands bring
  double terms = 0;     ///< most products of a sum
  /// No term has another sign than the bounds say, so that no rounding gives the sum one.
  bool keepsSign = false;
};

/// Sums of the products of `x` with the elements of a weight that have the same key.
Sums sumWithWeight(const Bound &x, const Bound &weight, double terms,
                   llvm::function_ref<size_t(int64_t)> keyOf, size_t keys) {
  // Longer than double, so that what rounds these sums is small beside what rounds the kernels'.
  std::vector<long double> positive(keys), negative(keys);
  const ReferenceTensor &elements = *weight.constant;
  for (int64_t i = 0, count = elements.size(); i < count; ++i) {
    const double element = elements.at(i);
    (element > 0 ? positive : negative)[keyOf(i)] += element;
  }
  Sums sums;
  sums.low = kUnbounded, sums.high = -kUnbounded, sums.terms = terms;
  long double most = 0;
  for (auto [p, n] : llvm::zip_equal(positive, negative)) {
    sums.high = std::max(sums.high, static_cast<double>(p * x.high + n * x.low));
    sums.low = std::min(sums.low, static_cast<double>(p * x.low + n * x.high));
    most = std::max(most, p - n);
  }
  sums.magnitude = static_cast<double>(most) * x.magnitude();
  sums.error =
      static_cast<double>(most) * x.error + terms * (x.magnitude() + x.error) * weight.error;
  return sums;
}

/// Sums of so many products of any elements.
Sums sumOfAny(const Bound &a, const Bound &b, double terms) {
  const double corners[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
  Sums sums;
  sums.terms = terms;
  sums.low = terms * *std::min_element(std::begin(corners), std::end(corners));
  sums.high = terms * *std::max_element(std::begin(corners), std::end(corners));
  sums.magnitude = terms * a.magnitude() * b.magnitude();
  sums.error = terms * (a.magnitude() * b.error + (b.magnitude() + b.error) * a.error);
  return sums;
}

/// The number of products of a sum over `axes` of `type`; infinite over the batch.
double countTerms(RankedTensorType type, ArrayRef<int64_t> axes) {
  double terms = 1;
  for (int64_t axis : axes)
    terms *= type.isDynamicDim(axis) ? kUnbounded : double(type.getDimSize(axis));
  return terms;
}

/// Bias and activation come behind the sum, rounded as separate ops would round.
void setSums(RangeArguments &arguments, const Sums &sums, const Bound *bias,
             Activation activation) {
  const Type type = arguments.typeOf(0);
  if (!isa<FloatType>(type)) {
    const Bound all = Bound::anyOf(type);
    const bool fits = sums.low >= all.low && sums.high <= all.high;
    return arguments.setExact(0, fits ? Bound::of(sums.low, sums.high, sums.error) : all);
  }
  const double slack = sumSlack(type, sums.terms) + (sums.terms + 4) * 0x1p-60;
  // Some kernels take subnormal factors for 0.
  const double off = sums.magnitude * slack + (sums.terms + sums.magnitude) * 0x1p-126;
  const double largest = type.isF64() ? std::numeric_limits<double>::max() : 0x1.fffffep127;
  // Beyond it a part of the sum may be infinite and another, too: inf - inf.
  if (!(sums.magnitude + off < largest))
    return arguments.setExact(0, Bound());
  Bound result = Bound::of(sums.low - off, sums.high + off, sums.error + off);
  result.widen();
  if (sums.keepsSign && sums.low >= 0)
    result.low = std::max(result.low, 0.0);
  if (sums.keepsSign && sums.high <= 0)
    result.high = std::min(result.high, 0.0);
  result = rounded(result, type);
  if (bias) {
    result = {result.low + bias->low, result.high + bias->high, bias->mayBeNan,
              result.error + bias->error, nullptr};
    result.widen();
    result = rounded(result, type);
  }
  if (activation == Activation::Relu)
    result.low = std::max(result.low, 0.0), result.high = std::max(result.high, 0.0);
  arguments.setExact(0, result);
}

/// Row-major index without `axes`: of which sum an element is a term.
struct SumIndex {
  SmallVector<int64_t> shape, strides; // strides of the remaining dimensions, 0 for `axes`
  size_t keys = 1;

  SumIndex(RankedTensorType type, ArrayRef<int64_t> axes)
      : shape(type.getShape()), strides(type.getRank(), 0) {
    for (int64_t d = type.getRank() - 1; d >= 0; --d)
      if (!llvm::is_contained(axes, d)) {
        strides[d] = int64_t(keys);
        keys *= size_t(shape[d]);
      }
  }
  size_t operator()(int64_t index) const {
    int64_t key = 0;
    for (int64_t d = int64_t(shape.size()) - 1; d >= 0; --d) {
      key += index % shape[d] * strides[d];
      index /= shape[d];
    }
    return size_t(key);
  }
};

} // namespace

static void deriveContract(ContractOp op, RangeArguments &arguments) {
  const Bound &lhs = arguments.in(0), &rhs = arguments.in(1);
  auto lhsType = tensorTypeOf(op.getLhs()), rhsType = tensorTypeOf(op.getRhs());
  const double terms = countTerms(lhsType, op.getLhsContracting());
  if (!lhs.isFinite() || !rhs.isFinite() || !std::isfinite(terms))
    return arguments.setExact(0, Bound::anyOf(arguments.typeOf(0)));
  Sums sums;
  if (rhs.constant) {
    const SumIndex index(rhsType, op.getRhsContracting());
    sums = sumWithWeight(lhs, rhs, terms, index, index.keys);
  } else if (lhs.constant) {
    const SumIndex index(lhsType, op.getLhsContracting());
    sums = sumWithWeight(rhs, lhs, terms, index, index.keys);
  } else {
    sums = sumOfAny(lhs, rhs, terms);
  }
  setSums(arguments, sums, op.getBias() ? &arguments.in(2) : nullptr, op.getActivation());
}

/// Zeros of the padding, and what a window leaves out.
static Bound withZero(const Bound &bound) {
  Bound result = hull(bound, Bound::of(0, 0));
  return result;
}

template <typename OpT> static bool pads(OpT op) {
  auto isAny = [](int64_t padding) { return padding != 0; };
  return llvm::any_of(op.getPaddingLow(), isAny) || llvm::any_of(op.getPaddingHigh(), isAny);
}

static void deriveConvolution(ConvolutionOp op, RangeArguments &arguments) {
  if (!isa<FloatType>(elementTypeOf(op.getInput()))) // whose border is another operand, in effect
    return arguments.setExact(0, Bound::anyOf(arguments.typeOf(0)));
  const Bound input = pads(op) ? withZero(arguments.in(0)) : arguments.in(0);
  const Bound &filter = arguments.in(1);
  auto type = tensorTypeOf(op.getFilter());
  if (!input.isFinite() || !filter.isFinite() || !type.hasStaticShape())
    return arguments.setExact(0, Bound::anyOf(arguments.typeOf(0)));
  SmallVector<int64_t> summed = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank() - 1));
  const double terms = countTerms(type, summed);
  const SumIndex index(type, summed);
  const Sums sums = filter.constant ? sumWithWeight(input, filter, terms, index, index.keys)
                                    : sumOfAny(input, filter, terms);
  setSums(arguments, sums, op.getBias() ? &arguments.in(2) : nullptr, op.getActivation());
}

/// Each element of the result sums what some places of the filter, of one channel and the filters
/// of its group, contribute; the other places contribute 0.
static void deriveConvolutionInputGradient(ConvolutionInputGradientOp op,
                                           RangeArguments &arguments) {
  const Bound cotangent = withZero(arguments.in(0));
  const Bound &filter = arguments.in(1);
  auto type = tensorTypeOf(op.getFilter());
  if (!cotangent.isFinite() || !filter.isFinite() || !type.hasStaticShape())
    return arguments.setExact(0, Bound::anyOf(arguments.typeOf(0)));
  const int64_t filters = type.getShape().back(), channels = type.getShape().drop_back().back();
  const int64_t groups = int64_t(op.getGroups()), perGroup = filters / groups;
  const double terms = double(type.getNumElements()) / double(channels) / double(groups);
  auto keyOf = [&](int64_t index) {
    return size_t(index / filters % channels * groups + index % filters / perGroup);
  };
  const Sums sums = filter.constant
                        ? sumWithWeight(cotangent, filter, terms, keyOf, size_t(channels * groups))
                        : sumOfAny(cotangent, filter, terms);
  setSums(arguments, sums, op.getBias() ? &arguments.in(2) : nullptr, op.getActivation());
}

/// Each element of the result sums a product for each place of the cotangent, of all rows; beside
/// the image it is 0.
static void deriveConvolutionFilterGradient(ConvolutionFilterGradientOp op,
                                            RangeArguments &arguments) {
  const Bound input = withZero(arguments.in(0));
  const Bound &cotangent = arguments.in(1);
  auto type = tensorTypeOf(op.getCotangent());
  const double terms = countTerms(type, llvm::to_vector(llvm::seq<int64_t>(0, type.getRank() - 1)));
  if (!input.isFinite() || !cotangent.isFinite() || !std::isfinite(terms))
    return arguments.setExact(0, Bound::anyOf(arguments.typeOf(0)));
  setSums(arguments, sumOfAny(input, cotangent, terms), /*bias=*/nullptr, Activation::None);
}

/// Each element of the result sums what the windows give it that have it. A largest element may be
/// another one in exact arithmetic.
static void derivePoolGradient(PoolGradientOp op, RangeArguments &arguments) {
  const Bound cotangent = withZero(arguments.in(0));
  if (!cotangent.isFinite() || op.getWindow().empty())
    return arguments.setExact(0, Bound::anyOf(arguments.typeOf(0)));
  double windows = 1, elements = 1;
  for (auto [window, stride] : llvm::zip_equal(op.getWindow(), op.getStrides())) {
    windows *= double(llvm::divideCeil(uint64_t(window), uint64_t(stride)));
    elements *= double(window);
  }
  const bool isMax = op.getKind() == ReduceKind::Max;
  const double most = isMax || pads(op) ? windows : windows / elements;
  Sums sums;
  sums.terms = windows + 2; // a mean is two roundings of each
  sums.keepsSign = true;
  sums.low = most * cotangent.low;
  sums.high = most * cotangent.high;
  sums.magnitude = most * cotangent.magnitude();
  sums.error =
      most * (isMax ? cotangent.high - cotangent.low + 2 * cotangent.error : cotangent.error);
  setSums(arguments, sums, /*bias=*/nullptr, Activation::None);
}

/// Weights of a softmax are positive and sum to 1, but for what rounds them.
static void deriveAttention(AttentionOp op, RangeArguments &arguments) {
  const Bound &query = arguments.in(0), &key = arguments.in(1), &value = arguments.in(2);
  auto keys = tensorTypeOf(op.getKey());
  const double width = double(keys.getShape().back()), sources = double(keys.getDimSize(1));
  const double most = std::abs(op.getScale().convertToDouble()) * width * query.magnitude() *
                      key.magnitude() * (1 + 0x1p-10);
  const bool isSafe = query.isFinite() && key.isFinite() && value.isFinite() && most < 0x1p126 &&
                      !keys.isDynamicDim(1);
  if (!isSafe) {
    arguments.setExact(0, Bound());
    return arguments.setExact(1, Bound());
  }
  // An implementation may round the weights to the operands' dtype.
  const double slack = 0x1p-7 + sources * 0x1p-22;
  const double grow = op.getRate() ? 1 / (1 - op.getRate()->convertToDouble()) : 1;
  Bound result = op.getRate() || op.getHiddenScore() ? withZero(value) : value;
  result = {result.low * (result.low < 0 ? grow : 1) - value.magnitude() * slack * grow,
            result.high * (result.high > 0 ? grow : 1) + value.magnitude() * slack * grow,
            /*mayBeNan=*/false, kUnbounded, nullptr};
  result.widen();
  arguments.setRounded(0, result);
  // A hidden score may be below all others, and a row that is all hidden has scores of 0.
  const double hidden = op.getHiddenScore() ? std::abs(op.getHiddenScore()->convertToDouble()) : 0;
  const double bound = std::max(most, hidden) * (1 + 0x1p-10) + 0x1p-10;
  Bound sums = {-bound, bound + std::log(std::max(sources, 1.0)) * (1 + 0x1p-10),
                /*mayBeNan=*/false, kUnbounded, nullptr};
  arguments.setRounded(1, sums);
}

void mpc::attachProductRanges(MLIRContext &context) {
  attachRange<ContractOp, deriveContract>(context);
  attachRange<ConvolutionOp, deriveConvolution>(context);
  attachRange<ConvolutionInputGradientOp, deriveConvolutionInputGradient>(context);
  attachRange<ConvolutionFilterGradientOp, deriveConvolutionFilterGradient>(context);
  attachRange<PoolGradientOp, derivePoolGradient>(context);
  attachRange<AttentionOp, deriveAttention>(context);
}
