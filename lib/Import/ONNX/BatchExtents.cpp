// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/BatchExtents.h"

#include "lib/Import/ONNX/NodeAttributes.h"

namespace mpc::onnx {

namespace {

/// A number, or that many batches. A batch has at least one sample.
struct Count {
  int64_t value;
  bool isOfBatches;

  static Count read(int64_t number) {
    const std::optional<int64_t> batches = Literal::findBatches(number);
    return {batches.value_or(number), batches.has_value()};
  }
  /// The element of a literal; nothing where there is none.
  std::optional<int64_t> write() const {
    if (!isOfBatches)
      return value;
    return value > 0 && value <= Literal::kMostBatches
               ? std::optional(Literal::numberOfBatches(value))
               : std::nullopt;
  }
};

using Result = std::optional<Count>;

Count number(int64_t value) { return {value, false}; }

Result add(Count lhs, Count rhs) {
  if (lhs.isOfBatches != rhs.isOfBatches) {
    const Count &other = lhs.isOfBatches ? rhs : lhs;
    return other.value == 0 ? Result(lhs.isOfBatches ? lhs : rhs) : std::nullopt;
  }
  int64_t sum;
  if (__builtin_add_overflow(lhs.value, rhs.value, &sum))
    return std::nullopt;
  return sum == 0 ? number(0) : Count{sum, lhs.isOfBatches};
}

Result subtract(Count lhs, Count rhs) {
  return rhs.value == INT64_MIN ? std::nullopt : add(lhs, {-rhs.value, rhs.isOfBatches});
}

Result multiply(Count lhs, Count rhs) {
  int64_t product;
  if ((lhs.isOfBatches && rhs.isOfBatches) ||
      __builtin_mul_overflow(lhs.value, rhs.value, &product))
    return std::nullopt;
  return product == 0 ? number(0) : Count{product, lhs.isOfBatches || rhs.isOfBatches};
}

/// Whether a quotient of extents is meant, which is rounded down, and the batch divides no number.
bool hasQuotient(Count lhs, Count rhs) {
  return lhs.value >= 0 && rhs.value > 0 && (lhs.isOfBatches || !rhs.isOfBatches);
}

Result divide(Count lhs, Count rhs) {
  // A multiple of another one, whatever the batch is.
  if (!hasQuotient(lhs, rhs) || (lhs.isOfBatches && lhs.value % rhs.value != 0))
    return std::nullopt;
  return Count{lhs.value / rhs.value, lhs.isOfBatches && !rhs.isOfBatches};
}

Result findRemainder(Count lhs, Count rhs) {
  if (!hasQuotient(lhs, rhs))
    return std::nullopt;
  const int64_t rest = lhs.value % rhs.value;
  return lhs.isOfBatches && rest != 0 ? std::nullopt : Result(number(rest));
}

/// Which is larger, by the sign of their difference, or at least as large; nothing where the batch
/// decides.
std::optional<int> compare(Count lhs, Count rhs) {
  auto signOf = [](int64_t left, int64_t right) { return int(left > right) - int(left < right); };
  if (lhs.isOfBatches == rhs.isOfBatches)
    return signOf(lhs.value, rhs.value);
  const Count &many = lhs.isOfBatches ? lhs : rhs, &other = lhs.isOfBatches ? rhs : lhs;
  if (other.value > many.value)
    return std::nullopt;
  return lhs.isOfBatches ? 1 : -1;
}

Result findLargest(Count lhs, Count rhs) {
  const std::optional<int> sign = compare(lhs, rhs);
  return sign ? Result(*sign < 0 ? rhs : lhs) : std::nullopt;
}

Result findSmallest(Count lhs, Count rhs) {
  const std::optional<int> sign = compare(lhs, rhs);
  return sign ? Result(*sign < 0 ? lhs : rhs) : std::nullopt;
}

Result isEqual(Count lhs, Count rhs) {
  if (lhs.isOfBatches == rhs.isOfBatches)
    return number(lhs.value == rhs.value);
  const Count &many = lhs.isOfBatches ? lhs : rhs, &other = lhs.isOfBatches ? rhs : lhs;
  return other.value < many.value || other.value % many.value != 0 ? Result(number(0))
                                                                   : std::nullopt;
}

/// Nothing where they may be equal, too.
Result isLess(Count lhs, Count rhs) {
  const std::optional<int> sign = compare(lhs, rhs);
  return sign && isEqual(lhs, rhs) ? Result(number(*sign < 0)) : std::nullopt;
}

Result isGreater(Count lhs, Count rhs) { return isLess(rhs, lhs); }

struct Operation {
  llvm::StringLiteral name;
  llvm::StringLiteral reduction; ///< the operation on all elements of a list; "": there is none
  Result (*compute)(Count, Count);
  bool isComparison = false;
};

constexpr Operation kOperations[] = {
    {"Add", "ReduceSum", add},          {"Sub", "", subtract},
    {"Mul", "ReduceProd", multiply},    {"Div", "", divide},
    {"Mod", "", findRemainder},         {"Max", "ReduceMax", findLargest},
    {"Min", "ReduceMin", findSmallest}, {"Equal", "", isEqual, true},
    {"Less", "", isLess, true},         {"Greater", "", isGreater, true},
};

const Operation *findOperation(llvm::StringRef name, llvm::StringLiteral Operation::*column) {
  const Operation *found =
      llvm::find_if(kOperations, [&](const Operation &each) { return each.*column == name; });
  return found == std::end(kOperations) ? nullptr : found;
}

/// Sets the elements; false where one is not known before the call.
bool writeCounts(Literal &literal, llvm::ArrayRef<Result> counts) {
  literal.hasBatch = false;
  literal.tensor.integers.clear();
  for (const Result &count : counts) {
    const std::optional<int64_t> element = count ? count->write() : std::nullopt;
    if (!element)
      return false;
    literal.tensor.integers.push_back(*element);
    literal.hasBatch |= count->isOfBatches;
  }
  return true;
}

/// Computes with lists and numbers; one element goes with all. Mod's `fmod` is for negative
/// numbers.
std::optional<Literal> computePairs(const Operation &operation, const Literal &lhs,
                                    const Literal &rhs) {
  const int64_t left = lhs.tensor.size(), right = rhs.tensor.size();
  if (lhs.tensor.shape.size() > 1 || rhs.tensor.shape.size() > 1 ||
      (left != right && left != 1 && right != 1))
    return std::nullopt;
  llvm::SmallVector<Result> counts;
  for (int64_t i = 0, size = left == 1 ? right : left; i < size; ++i)
    counts.push_back(operation.compute(Count::read(lhs.tensor.integers[left == 1 ? 0 : i]),
                                       Count::read(rhs.tensor.integers[right == 1 ? 0 : i])));
  Literal result = lhs.tensor.shape.size() >= rhs.tensor.shape.size() && left >= right ? lhs : rhs;
  result.type = operation.isComparison ? DataType::Bool : lhs.type;
  result.tensor.elementType = lhs.tensor.elementType;
  if (operation.isComparison)
    result.tensor.elementType = mlir::IntegerType::get(lhs.tensor.elementType.getContext(), 1);
  return writeCounts(result, counts) ? std::optional(std::move(result)) : std::nullopt;
}

/// Reduces a list along its only dimension; nothing where the axes are others.
std::optional<Literal> reduceList(const Operation &operation, const Node &node, const Literal &list,
                                  const Literal *axes) {
  const NodeAttributes attributes(node);
  const auto isOnly = [](int64_t axis) { return axis == 0 || axis == -1; };
  if (list.tensor.shape.size() != 1 || list.tensor.size() == 0 ||
      attributes.getFlag("noop_with_empty_axes") ||
      !llvm::all_of(attributes.getIntegers("axes"), isOnly) ||
      (axes && !llvm::all_of(axes->tensor.integers, isOnly)))
    return std::nullopt;
  Result count = Count::read(list.tensor.integers[0]);
  for (int64_t number : llvm::ArrayRef(list.tensor.integers).drop_front())
    count = count ? operation.compute(*count, Count::read(number)) : count;
  Literal result = list;
  result.tensor.shape.assign(attributes.getFlag("keepdims", true) ? 1 : 0, 1);
  return writeCounts(result, count) ? std::optional(std::move(result)) : std::nullopt;
}

} // namespace

std::optional<Literal> computeExtents(const Node &node, llvm::ArrayRef<const NodeValue *> inputs) {
  if (!node.domain.empty() || inputs.empty())
    return std::nullopt;
  bool hasBatch = false;
  for (const NodeValue *input : inputs) {
    if (!input || !input->literal || !input->literal->isInteger())
      return std::nullopt;
    hasBatch |= input->literal->hasBatch;
  }
  if (!hasBatch)
    return std::nullopt;
  const Literal &first = *inputs[0]->literal;
  if (const Operation *operation = findOperation(node.op, &Operation::name))
    return inputs.size() == 2 ? computePairs(*operation, first, *inputs[1]->literal) : std::nullopt;
  const Operation *operation = findOperation(node.op, &Operation::reduction);
  const Literal *axes = inputs.size() > 1 ? &*inputs[1]->literal : nullptr;
  return operation ? reduceList(*operation, node, first, axes) : std::nullopt;
}

} // namespace mpc::onnx
