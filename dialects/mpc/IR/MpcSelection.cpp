// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ops with as many results as values say: shapes, verifiers, reference values.
#include "dialects/mpc/IR/Mpc.h"

#include <cmath>

using namespace mlir;
using namespace mpc;

LogicalResult CompactOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                          ValueRange operands, DictionaryAttr attributes,
                                          OpaqueProperties properties, RegionRange regions,
                                          SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto mask = tensorTypeOf(adaptor.getMask());
  if (mask.getRank() != 1 || !mask.hasStaticShape())
    return emitOptionalError(location, "counts along the one dimension of a mask of known extent");
  const Type i64 = IntegerType::get(context, 64);
  types.push_back(mask.clone(i64));
  types.push_back(RankedTensorType::get({}, i64));
  return success();
}

LogicalResult CompactOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                  MutableArrayRef<ReferenceTensor> results) {
  const Type i64 = elementTypeOf(getPlaces());
  startReference(results[0], i64, operands[0].shape);
  startReference(results[1], i64, {});
  int64_t &count = results[1].integers[0];
  for (int64_t i = 0; i < operands[0].size(); ++i)
    if (operands[0].integers[i])
      results[0].integers[count++] = i;
  return success();
}

LogicalResult SelectBoxesOp::inferReturnTypes(MLIRContext *context,
                                              std::optional<Location> location, ValueRange operands,
                                              DictionaryAttr attributes,
                                              OpaqueProperties properties, RegionRange regions,
                                              SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  const ArrayRef<int64_t> boxes = tensorTypeOf(adaptor.getBoxes()).getShape(),
                          scores = tensorTypeOf(adaptor.getScores()).getShape();
  const int64_t limit = adaptor.getLimit();
  if (boxes.size() != 3 || scores.size() != 3 || boxes[2] != 4 || boxes[0] != scores[0] ||
      boxes[1] != scores[2] || ShapedType::isDynamicShape(boxes.drop_front()) ||
      ShapedType::isDynamicShape(scores.drop_front()))
    return emitOptionalError(location,
                             "takes boxes [batch, boxes, 4] and scores [batch, classes, boxes]");
  if (limit < 1 || limit > boxes[1])
    return emitOptionalError(location, "limit ", limit, " is outside of 1 to the ", boxes[1],
                             " boxes");
  types.push_back(
      RankedTensorType::get({scores[0], scores[1], limit}, IntegerType::get(context, 32)));
  return success();
}

PrecisionClass SelectBoxesOp::getPrecisionClass() { return PrecisionClass::Keep32; }

namespace {
/// The selection in the type that compiled code computes in: comparisons of what is rounded decide.
template <typename Number> class BoxReference {
public:
  BoxReference(const ReferenceTensor &boxes, const ReferenceTensor &scores, Number overlap,
               std::optional<Number> least, bool isCentered)
      : boxes(boxes), scores(scores), overlap(overlap), least(least), isCentered(isCentered) {}

  /// The numbers of the chosen boxes of one class, best first.
  SmallVector<int64_t> choose(int64_t sample, int64_t kind, int64_t limit) const {
    const int64_t count = scores.shape[2];
    const double *own = &scores.floats[(sample * scores.shape[1] + kind) * count];
    SmallVector<int64_t> left, chosen;
    for (int64_t i = 0; i < count; ++i)
      if (!least || Number(own[i]) > *least)
        left.push_back(i);
    llvm::sort(left, [&](int64_t a, int64_t b) {
      if (std::isnan(own[a]) || std::isnan(own[b]) || own[a] == own[b])
        return std::pair(std::isnan(own[a]), a) < std::pair(std::isnan(own[b]), b);
      return own[a] > own[b];
    });
    for (int64_t i : left)
      if (int64_t(chosen.size()) < limit && llvm::none_of(chosen, [&](int64_t better) {
            return sharesTooMuch(boxOf(sample, better), boxOf(sample, i));
          }))
        chosen.push_back(i);
    return chosen;
  }

private:
  struct Box {
    Number low[2], high[2], area;
  };
  Box boxOf(int64_t sample, int64_t i) const {
    const double *at = &boxes.floats[(sample * boxes.shape[1] + i) * 4];
    Box box;
    for (int d = 0; d < 2; ++d) {
      const Number a = Number(at[d]), b = Number(at[2 + d]), half = b * Number(0.5);
      box.low[d] = isCentered ? a - half : a >= b ? b : a;
      box.high[d] = isCentered ? a + half : a >= b ? a : b;
    }
    box.area = (box.high[0] - box.low[0]) * (box.high[1] - box.low[1]);
    return box;
  }
  bool sharesTooMuch(const Box &a, const Box &b) const {
    Number extents[2];
    for (int d = 0; d < 2; ++d) {
      const Number low = a.low[d] < b.low[d] ? b.low[d] : a.low[d],
                   high = b.high[d] < a.high[d] ? b.high[d] : a.high[d];
      if (!(high > low))
        return false;
      extents[d] = high - low;
    }
    const Number shared = extents[0] * extents[1];
    const Number sum = a.area + b.area, united = sum - shared;
    return shared > 0 && a.area > 0 && b.area > 0 && united > 0 && shared / united > overlap;
  }

  const ReferenceTensor &boxes, &scores;
  const Number overlap;
  const std::optional<Number> least;
  const bool isCentered;
};
} // namespace

template <typename Number>
static void chooseBoxes(SelectBoxesOp op, ArrayRef<ReferenceTensor> operands,
                        ReferenceTensor &picks) {
  std::optional<Number> least;
  if (op.getLeast())
    least = Number(operands[3].floats[0]);
  const BoxReference<Number> reference(operands[0], operands[1], Number(operands[2].floats[0]),
                                       least, op.getCentered());
  const int64_t limit = picks.shape[2];
  std::fill(picks.integers.begin(), picks.integers.end(), -1);
  for (int64_t sample = 0; sample < picks.shape[0]; ++sample)
    for (int64_t kind = 0; kind < picks.shape[1]; ++kind)
      llvm::copy(reference.choose(sample, kind, limit),
                 picks.integers.begin() + (sample * picks.shape[1] + kind) * limit);
}

LogicalResult SelectBoxesOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                      MutableArrayRef<ReferenceTensor> results) {
  startReference(results[0], elementTypeOf(getResult()),
                 {operands[1].shape[0], operands[1].shape[1], int64_t(getLimit())});
  if (llvm::any_of(operands, [](const ReferenceTensor &each) { return each.elementType.isF64(); }))
    chooseBoxes<double>(*this, operands, results[0]);
  else
    chooseBoxes<float>(*this, operands, results[0]);
  return success();
}
