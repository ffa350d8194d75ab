// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/Legacy/SymbolicIntegers.h"

#include "dialects/mpc/IR/Mpc.h"

#include "llvm/Support/MathExtras.h"

namespace mpc::keras {

/// Longer constants are data, no shapes.
constexpr int64_t kMostElements = 1024;

std::optional<Extent> addExtents(Extent a, Extent b) {
  Extent sum;
  if (llvm::AddOverflow(a.batches, b.batches, sum.batches) ||
      llvm::AddOverflow(a.constant, b.constant, sum.constant))
    return std::nullopt;
  return sum;
}

std::optional<Extent> subtractExtents(Extent a, Extent b) {
  std::optional<Extent> negative = multiplyExtents(b, {0, -1});
  return negative ? addExtents(a, *negative) : std::nullopt;
}

std::optional<Extent> multiplyExtents(Extent a, Extent b) {
  if (!a.isConstant() && !b.isConstant())
    return std::nullopt;
  if (a.isConstant())
    std::swap(a, b);
  Extent product;
  if (llvm::MulOverflow(a.batches, b.constant, product.batches) ||
      llvm::MulOverflow(a.constant, b.constant, product.constant))
    return std::nullopt;
  return product;
}

std::optional<Extent> divideExtents(Extent a, Extent b) {
  if (!b.isConstant() || b.constant == 0) {
    // The quotient of multiples of the batch does not depend on it.
    if (b.batches != 0 && b.constant == 0 && a.constant == 0 && a.batches % b.batches == 0)
      return Extent{0, a.batches / b.batches};
    return std::nullopt;
  }
  // The remainder of the batch's multiple is unknown unless it is zero.
  if (a.batches % b.constant != 0 || b.constant == -1)
    return b.constant == -1 ? multiplyExtents(a, b) : std::nullopt;
  int64_t quotient = a.constant / b.constant;
  if (a.constant % b.constant != 0 && (a.constant < 0) != (b.constant < 0))
    --quotient;
  return Extent{a.batches / b.constant, quotient};
}

std::optional<Extent> remainderOfExtents(Extent a, Extent b) {
  std::optional<Extent> quotient = divideExtents(a, b);
  std::optional<Extent> whole = quotient ? multiplyExtents(*quotient, b) : std::nullopt;
  return whole ? subtractExtents(a, *whole) : std::nullopt;
}

std::optional<Extent> largerExtent(Extent a, Extent b) {
  if (a.batches != b.batches)
    return std::nullopt;
  return a.constant > b.constant ? a : b;
}

std::optional<Extent> smallerExtent(Extent a, Extent b) {
  if (a.batches != b.batches)
    return std::nullopt;
  return a.constant < b.constant ? a : b;
}

bool SymbolicIntegers::isConstant() const {
  return llvm::all_of(elements, [](const Extent &extent) { return extent.isConstant(); });
}

std::optional<llvm::SmallVector<int64_t>> SymbolicIntegers::getConstants() const {
  if (!isConstant())
    return std::nullopt;
  llvm::SmallVector<int64_t> constants;
  for (const Extent &extent : elements)
    constants.push_back(extent.constant);
  return constants;
}

std::optional<SymbolicIntegers> combine(const SymbolicIntegers &a, const SymbolicIntegers &b,
                                        ExtentFn function) {
  if (!a.isScalar && !b.isScalar && a.elements.size() != b.elements.size())
    return std::nullopt;
  SymbolicIntegers result;
  result.isScalar = a.isScalar && b.isScalar;
  const size_t count = a.isScalar ? b.elements.size() : a.elements.size();
  for (size_t i = 0; i < count; ++i) {
    std::optional<Extent> element =
        function(a.elements[a.isScalar ? 0 : i], b.elements[b.isScalar ? 0 : i]);
    if (!element)
      return std::nullopt;
    result.elements.push_back(*element);
  }
  result.sample = a.sample ? a.sample : b.sample;
  return result;
}

std::optional<SymbolicIntegers> SymbolicIntegerTable::lookup(mlir::Value value) const {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  auto constant = value.getDefiningOp<ConstantOp>();
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  if (!constant || !type || type.getRank() > 1 || type.getNumElements() > kMostElements)
    return std::nullopt;
  const mlir::Type element = type.getElementType();
  auto numbers = llvm::dyn_cast<mlir::DenseIntElementsAttr>(constant.getValue());
  if (!numbers || element.isInteger(1))
    return std::nullopt;
  SymbolicIntegers result;
  result.isScalar = type.getRank() == 0;
  for (const llvm::APInt &number : numbers.getValues<llvm::APInt>())
    result.elements.push_back(
        {0, element.isUnsignedInteger() ? int64_t(number.getZExtValue()) : number.getSExtValue()});
  return result;
}

} // namespace mpc::keras
