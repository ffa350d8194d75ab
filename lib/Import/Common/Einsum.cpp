// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operands are contracted from the left, two at a time: labels that nobody needs any more are
// summed, the others stay, and the last step puts them into the order of the result.
#include "lib/Import/Common/Einsum.h"

#include "dialects/mpc/IR/SumOfProducts.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errc.h"

namespace mpc {

using mlir::Value;

namespace {

/// Extents of diagonals: their squares are indices of 32 bits.
constexpr int64_t kMostDiagonal = 1 << 15;

llvm::Error einsumError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::errc::invalid_argument, message);
}

bool contains(const EinsumLabels &labels, char label) { return llvm::is_contained(labels, label); }

/// A value and the label of each of its dimensions.
struct Labeled {
  Value value;
  EinsumLabels labels;

  int64_t extentOf(char label) const {
    return tensorTypeOf(value).getDimSize(llvm::find(labels, label) - labels.begin());
  }
  llvm::SmallVector<int64_t> placesOf(llvm::ArrayRef<char> wanted) const {
    llvm::SmallVector<int64_t> places;
    for (char label : wanted)
      places.push_back(llvm::find(labels, label) - labels.begin());
    return places;
  }
};

struct Contraction {
  mlir::OpBuilder &builder;
  mlir::Location loc;

  /// Sums over the labels that are not in `needed`.
  void sumAway(Labeled &operand, const EinsumLabels &needed) {
    llvm::SmallVector<int64_t> axes;
    EinsumLabels kept;
    for (const auto &[axis, label] : llvm::enumerate(operand.labels))
      if (contains(needed, label))
        kept.push_back(label);
      else
        axes.push_back(int64_t(axis));
    if (axes.empty())
      return;
    operand.value = ReduceOp::create(builder, loc, ReduceKind::Sum, operand.value, axes,
                                     /*keep_dims=*/false);
    operand.labels = kept;
  }

  /// A label that stands for several dimensions: the elements whose indices there are equal. False
  /// where one of them is the open batch, or their extents differ.
  bool takeDiagonals(Labeled &operand) {
    for (size_t place = 0; place < operand.labels.size(); ++place) {
      const char label = operand.labels[place];
      const auto *again =
          std::find(operand.labels.begin() + place + 1, operand.labels.end(), label);
      if (again == operand.labels.end())
        continue;
      const int64_t first = int64_t(place), second = again - operand.labels.begin();
      llvm::SmallVector<int64_t> shape(tensorTypeOf(operand.value).getShape()), order;
      const int64_t extent = shape[place];
      if (extent != shape[size_t(second)] || mlir::ShapedType::isDynamic(extent) ||
          extent > kMostDiagonal)
        return false;
      for (int64_t axis = 0; axis < int64_t(shape.size()); ++axis)
        if (axis != first && axis != second)
          order.push_back(axis);
      const int64_t rest = int64_t(order.size());
      EinsumLabels labels;
      llvm::SmallVector<int64_t> flat;
      for (int64_t axis : order) {
        labels.push_back(operand.labels[size_t(axis)]);
        flat.push_back(shape[size_t(axis)]);
      }
      order.append({first, second});
      labels.push_back(label);
      flat.push_back(extent * extent);
      llvm::SmallVector<int32_t> places;
      for (int64_t i = 0; i < extent; ++i)
        places.push_back(int32_t(i * (extent + 1)));
      Value moved = TransposeOp::create(builder, loc, operand.value, order);
      auto type = mlir::RankedTensorType::get(flat, tensorTypeOf(moved).getElementType());
      auto indices =
          mlir::DenseElementsAttr::get(mlir::RankedTensorType::get({extent}, builder.getI32Type()),
                                       llvm::ArrayRef<int32_t>(places));
      operand.value = GatherOp::create(
          builder, loc, ReshapeOp::create(builder, loc, type, moved),
          ConstantOp::create(builder, loc, llvm::cast<mlir::ElementsAttr>(indices)), rest,
          int64_t(0));
      operand.labels = labels;
      --place; // another label stands there now
    }
    return true;
  }

  void order(Labeled &operand, const EinsumLabels &result) {
    if (operand.labels == result)
      return;
    operand.value = TransposeOp::create(builder, loc, operand.value, operand.placesOf(result));
    operand.labels = result;
  }

  /// The product with every label of `needed`; `wanted` is an order to prefer, which the caller
  /// completes where the contraction cannot give it.
  Labeled multiply(const Labeled &lhs, const Labeled &rhs, const EinsumLabels &needed) {
    EinsumLabels batch, contracting;
    for (char label : needed) // in the result's order
      if (contains(lhs.labels, label) && contains(rhs.labels, label))
        batch.push_back(label);
    for (char label : lhs.labels)
      if (contains(rhs.labels, label) && !contains(needed, label))
        contracting.push_back(label);
    auto freeOf = [&](const Labeled &operand) {
      EinsumLabels free;
      for (char label : operand.labels)
        if (!contains(batch, label) && !contains(contracting, label))
          free.push_back(label);
      return free;
    };
    auto joined = [&](const Labeled &first, const Labeled &second) {
      EinsumLabels labels(batch);
      llvm::append_range(labels, freeOf(first));
      llvm::append_range(labels, freeOf(second));
      return labels;
    };
    // Where the batch can come first in neither order, a contraction has no place for it.
    auto isPossible = [&](const EinsumLabels &labels) {
      for (const Labeled *operand : {&lhs, &rhs})
        if (!operand->labels.empty() && tensorTypeOf(operand->value).isDynamicDim(0) &&
            contains(labels, operand->labels.front()) && labels.front() != operand->labels.front())
          return false;
      return true;
    };
    if (!isPossible(joined(lhs, rhs)) && !isPossible(joined(rhs, lhs)) && isPossible(needed)) {
      // Sums of integers are int32, as those of a contraction.
      const bool isInteger = mlir::isa<mlir::IntegerType>(elementTypeOf(lhs.value));
      auto wide = [&](const Labeled &operand) -> Value {
        if (isInteger)
          return CastOp::create(
              builder, loc, tensorTypeOf(operand.value).clone(builder.getI32Type()), operand.value);
        return CastLikeOp::create(builder, loc, operand.value.getType(), operand.value,
                                  operand.value, /*wide=*/true, mlir::TypeAttr());
      };
      auto list = [](const EinsumLabels &labels) {
        return DimensionLabels(labels.begin(), labels.end());
      };
      Value sum = sumProducts(builder, loc, wide(lhs), list(lhs.labels), wide(rhs),
                              list(rhs.labels), list(needed));
      if (isInteger)
        return {sum, needed};
      return {CastLikeOp::create(builder, loc, sum.getType(), sum,
                                 mlir::ValueRange{lhs.value, rhs.value}, /*wide=*/false,
                                 mlir::TypeAttr()),
              needed};
    }
    const bool swap = isPossible(joined(rhs, lhs)) &&
                      (!isPossible(joined(lhs, rhs)) ||
                       (joined(lhs, rhs) != needed && joined(rhs, lhs) == needed));
    const Labeled &first = swap ? rhs : lhs, &second = swap ? lhs : rhs;
    Value product = ContractOp::create(builder, loc, first.value, second.value,
                                       first.placesOf(batch), second.placesOf(batch),
                                       first.placesOf(contracting), second.placesOf(contracting));
    return {product, joined(first, second)};
  }
};

} // namespace

llvm::Expected<Einsum> Einsum::parse(llvm::StringRef equation, llvm::ArrayRef<int64_t> ranks) {
  std::string text;
  for (char c : equation)
    if (c != ' ')
      text += c;
  llvm::StringRef rest(text);
  auto [inputs, output] = rest.split("->");
  const bool hasOutput = rest.contains("->");
  llvm::SmallVector<llvm::StringRef> terms;
  inputs.split(terms, ',');
  if (terms.size() != ranks.size())
    return einsumError("the equation '" + equation + "' has " + llvm::Twine(terms.size()) +
                       " terms for " + llvm::Twine(ranks.size()) + " operands");
  // Dimensions of an ellipsis align at its end; their labels count down from 31.
  int64_t elided = 0;
  auto expand = [&](llvm::StringRef term, std::optional<int64_t> rank,
                    EinsumLabels &labels) -> bool {
    auto [before, after] = term.split("...");
    const bool hasEllipsis = term.contains("...");
    if (!llvm::all_of(before, llvm::isAlpha) || !llvm::all_of(after, llvm::isAlpha))
      return false;
    const int64_t named = int64_t(before.size() + after.size());
    const int64_t count = rank ? *rank - named : elided;
    if (count < 0 || count > 30 || (!hasEllipsis && rank && count != 0))
      return false;
    labels.append(before.begin(), before.end());
    if (hasEllipsis)
      for (int64_t i = count; i > 0; --i)
        labels.push_back(char(32 - i));
    labels.append(after.begin(), after.end());
    if (rank && hasEllipsis)
      elided = std::max(elided, count);
    return true;
  };
  Einsum result;
  for (auto [term, rank] : llvm::zip_equal(terms, ranks))
    if (!expand(term, rank, result.operands.emplace_back()))
      return einsumError("the term '" + term + "' of the equation '" + equation +
                         "' does not fit an operand of " + llvm::Twine(rank) + " dimensions");
  if (hasOutput) {
    if (!expand(output, std::nullopt, result.result))
      return einsumError("the equation '" + equation + "' is not readable");
  } else {
    EinsumLabels all;
    for (const EinsumLabels &labels : result.operands)
      all.append(labels.begin(), labels.end());
    for (char label : all)
      if (llvm::count(all, label) == 1 || label < 32)
        if (!contains(result.result, label))
          result.result.push_back(label);
    llvm::sort(result.result);
  }
  for (char label : result.result)
    if (llvm::count(result.result, label) != 1 ||
        llvm::none_of(result.operands,
                      [&](const EinsumLabels &labels) { return contains(labels, label); }))
      return einsumError("the result of the equation '" + equation +
                         "' has a label that no operand has, or has it twice");
  return result;
}

llvm::Expected<Value> Einsum::build(mlir::OpBuilder &builder, mlir::Location loc,
                                    llvm::ArrayRef<Value> values) const {
  Contraction contraction{builder, loc};
  llvm::SmallVector<Labeled> terms;
  for (auto [value, labels] : llvm::zip_equal(values, operands)) {
    terms.push_back({value, labels});
    if (!contraction.takeDiagonals(terms.back()))
      return einsumError("an operand of einsum has a label twice (a diagonal) whose extents "
                         "differ, or are open");
    for (char label : terms.back().labels) {
      for (const Labeled &other : terms)
        if (contains(other.labels, label) && other.extentOf(label) != terms.back().extentOf(label))
          return einsumError("operands of einsum have different extents for one label");
    }
  }
  auto neededAfter = [&](size_t next, const EinsumLabels &present) {
    EinsumLabels needed;
    for (char label : result) // the order of the result, as far as possible
      if (contains(present, label))
        needed.push_back(label);
    for (char label : present)
      if (!contains(needed, label) &&
          llvm::any_of(llvm::drop_begin(terms, next),
                       [&](const Labeled &term) { return contains(term.labels, label); }))
        needed.push_back(label);
    return needed;
  };
  Labeled total = terms.front();
  contraction.sumAway(total, neededAfter(1, total.labels));
  for (size_t next = 1; next < terms.size(); ++next) {
    Labeled &term = terms[next];
    EinsumLabels present(total.labels);
    llvm::append_range(present, term.labels);
    EinsumLabels elsewhere(total.labels);
    llvm::append_range(elsewhere, neededAfter(next + 1, term.labels));
    contraction.sumAway(term, elsewhere);
    // Labels that only the total has, and that nobody needs, were summed when the total was made,
    // unless it waited for this term.
    EinsumLabels unique;
    for (char label : present)
      if (!contains(unique, label))
        unique.push_back(label);
    total = contraction.multiply(total, term, neededAfter(next + 1, unique));
  }
  contraction.order(total, result);
  return total.value;
}

} // namespace mpc
