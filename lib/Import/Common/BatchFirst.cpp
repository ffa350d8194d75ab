// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Common/BatchFirst.h"

#include "llvm/ADT/TypeSwitch.h"

namespace mpc {

using mlir::Operation;
using mlir::Value;
using Extents = llvm::SmallVector<int64_t>;
using Place = std::optional<BatchPlace>;

static bool isOpen(int64_t extent) { return mlir::ShapedType::isDynamic(extent); }

static int64_t product(llvm::ArrayRef<int64_t> extents) {
  int64_t count = 1;
  for (int64_t extent : extents)
    count *= isOpen(extent) ? 1 : extent;
  return count;
}

/// Where the open dimension is; none where there is no single one.
static std::optional<int64_t> findOpen(llvm::ArrayRef<int64_t> shape) {
  std::optional<int64_t> found;
  for (const auto &[d, extent] : llvm::enumerate(shape))
    if (isOpen(extent)) {
      if (found)
        return std::nullopt;
      found = int64_t(d);
    }
  return found;
}

// ---- Values -------------------------------------------------------------------------------------

std::optional<BatchFirst::Batched> BatchFirst::findBatched(Value tensor) const {
  if (auto known = places.find(tensor); known != places.end())
    return known->second;
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(tensor.getType());
  if (type && type.getRank() > 0 && type.isDynamicDim(0))
    return Batched{tensor, BatchPlace()};
  return std::nullopt;
}

std::pair<Value, BatchPlace> BatchFirst::find(Value tensor) const {
  if (auto known = places.find(tensor); known != places.end())
    return {known->second.value, known->second.place};
  auto other = replaced.find(tensor);
  return {other == replaced.end() ? tensor : other->second, BatchPlace()};
}

Value BatchFirst::makeReshape(Value value, llvm::ArrayRef<int64_t> shape) {
  auto type = mlir::RankedTensorType::get(shape, elementTypeOf(value));
  return value.getType() == type ? value
                                 : Value(ReshapeOp::create(builder, value.getLoc(), type, value));
}

Value BatchFirst::makeTranspose(Value value, llvm::ArrayRef<int64_t> order) {
  return llvm::is_sorted(order) ? value
                                : Value(TransposeOp::create(builder, value.getLoc(), value, order));
}

Operation *BatchFirst::repeat(Operation *op, mlir::ValueRange operands, const Place &place) {
  Operation *again = builder.clone(*op);
  again->setOperands(operands);
  for (mlir::OpResult result : again->getResults()) {
    auto type = tensorTypeOf(result);
    if (place && type.getNumDynamicDims() > 0)
      result.setType(type.clone(place->arrange(type.getShape())));
  }
  return again;
}

void BatchFirst::set(Value tensor, Value value, const Place &place) {
  if (place && !place->isFirst()) {
    places[tensor] = {value, *place};
    return;
  }
  tensor.replaceAllUsesWith(value);
  replaced[tensor] = value;
}

void BatchFirst::setAll(Operation *op, Operation *by, const Place &place) {
  for (const auto &[tensor, value] : llvm::zip_equal(op->getResults(), by->getResults()))
    set(tensor, value, place);
}

void BatchFirst::finish() {
  for (Operation *op : llvm::reverse(dead))
    op->erase();
  dead.clear();
}

// ---- Ops that move elements ---------------------------------------------------------------------

bool BatchFirst::transpose(TransposeOp op) {
  auto input = findBatched(op.getInput());
  BatchPlace place = input->place;
  Extents order{0};
  for (const auto &[d, from] : llvm::enumerate(op.getPermutation()))
    if (from == input->place.axis) {
      place.axis = int64_t(d);
      llvm::append_range(order, input->place.findParts());
    } else {
      order.push_back(input->place.find(from));
    }
  set(op, makeTranspose(input->value, order), place);
  return true;
}

/// The elements in front of a sample's own, and those of it, must stay what they are: the batch
/// then is where as many are in front of it, and its dimension has parts of others.
bool BatchFirst::reshape(ReshapeOp op) {
  auto input = findBatched(op.getInput());
  const llvm::ArrayRef<int64_t> from = tensorTypeOf(op.getInput()).getShape(),
                                to = tensorTypeOf(op.getResult()).getShape();
  const std::optional<int64_t> axis = findOpen(to);
  if (!axis)
    return false;
  const auto split = [](llvm::ArrayRef<int64_t> shape, int64_t at) {
    return std::pair(product(shape.take_front(size_t(at))),
                     product(shape.drop_front(size_t(at) + 1)));
  };
  auto [before, after] = split(from, input->place.axis);
  const auto [outer, inner] = split(to, *axis);
  before *= input->place.before;
  after *= input->place.after;
  if (outer == 0 || inner == 0 || before % outer != 0 || after % inner != 0)
    return false;
  const BatchPlace place{*axis, before / outer, after / inner};
  set(op, makeReshape(input->value, place.arrange(to)), place);
  return true;
}

/// Slices, pads and reversals along a dimension that is not the batch.
bool BatchFirst::moveAlong(Operation *op, llvm::StringRef attribute) {
  auto input = findBatched(op->getOperand(0));
  const int64_t axis = op->getAttrOfType<mlir::IntegerAttr>(attribute).getInt();
  if (axis == input->place.axis)
    return false;
  Operation *again = repeat(op, input->value, input->place);
  again->setAttr(attribute, builder.getI64IntegerAttr(input->place.find(axis)));
  setAll(op, again, input->place);
  return true;
}

bool BatchFirst::resample(ResampleOp op) {
  auto input = findBatched(op.getInput());
  if (llvm::is_contained(op.getAxes(), input->place.axis))
    return false;
  auto again = llvm::cast<ResampleOp>(repeat(op, input->value, input->place));
  Extents axes;
  for (int64_t axis : op.getAxes())
    axes.push_back(input->place.find(axis));
  again.setAxes(axes);
  set(op, again, input->place);
  return true;
}

bool BatchFirst::concatenate(ConcatenateOp op) {
  llvm::SmallVector<Value> parts;
  Place place;
  for (Value part : op.getInputs()) {
    auto input = findBatched(part);
    if (!input || (place && *place != input->place))
      return false;
    place = input->place;
    parts.push_back(input->value);
  }
  if (!place || int64_t(op.getAxis()) == place->axis)
    return false;
  auto again = llvm::cast<ConcatenateOp>(repeat(op, parts, place));
  again.setAxis(uint64_t(place->find(int64_t(op.getAxis()))));
  set(op, again, place);
  return true;
}

/// A constant table has rows along any axis, one with the batch along another than that.
bool BatchFirst::gather(GatherOp op) {
  auto table = findBatched(op.getTable()), indices = findBatched(op.getIndices());
  const int64_t axis = int64_t(op.getAxis()), rank = tensorTypeOf(op.getTable()).getRank();
  if (op.getBatchDims() != 0 || (table && indices))
    return false;
  if (table) {
    BatchPlace place = table->place;
    if (axis == place.axis)
      return false;
    const int64_t inner = place.find(axis);
    if (axis < place.axis)
      place.axis += tensorTypeOf(op.getIndices()).getRank() - 1;
    auto again = llvm::cast<GatherOp>(repeat(op, {table->value, op.getIndices()}, place));
    again.setAxis(uint64_t(inner));
    set(op, again, place);
    return true;
  }
  // Rows by indices, then the table's dimensions in front of the axis before the indices' own.
  Extents order{axis};
  for (int64_t d = 0; d < rank; ++d)
    if (d != axis)
      order.push_back(d);
  Value rows = GatherOp::create(builder, op.getLoc(), makeTranspose(op.getTable(), order),
                                indices->value, int64_t(0));
  const int64_t own = tensorTypeOf(indices->value).getRank();
  Extents back{0};
  for (int64_t d = 0; d < axis; ++d)
    back.push_back(own + d);
  for (int64_t d = 1; d < own; ++d)
    back.push_back(d);
  for (int64_t d = axis; d < rank - 1; ++d)
    back.push_back(own + d);
  BatchPlace place = indices->place;
  place.axis += axis;
  set(op, makeTranspose(rows, back), place);
  return true;
}

// ---- Elementwise --------------------------------------------------------------------------------

Value BatchFirst::align(Value operand, int64_t rank, const BatchPlace &place) {
  auto batched = findBatched(operand);
  const int64_t own = tensorTypeOf(operand).getRank(), missing = rank - own;
  Extents shape;
  if (batched) {
    BatchPlace moved = batched->place;
    moved.axis += missing;
    if (moved != place)
      return {};
    shape.assign(tensorTypeOf(batched->value).getShape().begin(),
                 tensorTypeOf(batched->value).getShape().end());
    shape.insert(shape.begin() + 1, size_t(missing), 1);
    return makeReshape(batched->value, shape);
  }
  const int64_t axis = place.axis - missing;
  if (axis < 0)
    return operand; // all of it is behind the batch
  const llvm::ArrayRef<int64_t> extents = tensorTypeOf(operand).getShape();
  if (extents[size_t(axis)] != 1)
    return {};
  shape.assign(extents.begin(), extents.begin() + axis);
  shape.append(size_t(place.getParts()), 1);
  shape.append(extents.begin() + axis + 1, extents.end());
  return makeReshape(operand, shape);
}

/// The result has the batch where the operands that have one do.
bool BatchFirst::broadcast(Operation *op) {
  const int64_t rank = tensorTypeOf(op->getResult(0)).getRank();
  Place place;
  llvm::SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    if (auto batched = findBatched(operand)) {
      place = batched->place;
      place->axis += rank - tensorTypeOf(operand).getRank();
    }
  for (Value operand : op->getOperands()) {
    operands.push_back(align(operand, rank, *place));
    if (!operands.back())
      return false;
  }
  setAll(op, repeat(op, operands, place), place);
  return true;
}

/// Ops whose result has the shape of their first operand; of tensors beside it the types matter.
bool BatchFirst::keepShape(Operation *op) {
  auto first = findBatched(op->getOperand(0));
  const Place place = first ? Place(first->place) : std::nullopt;
  llvm::SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    auto batched = findBatched(operand);
    if (batched && !llvm::isa<CastLikeOp>(op) && batched->place != place)
      return false;
    operands.push_back(batched ? batched->value : operand);
  }
  setAll(op, repeat(op, operands, place), place);
  return true;
}

// ---- Along axes ---------------------------------------------------------------------------------

bool BatchFirst::reduce(Operation *op, llvm::ArrayRef<int64_t> axes, bool keepDims) {
  auto input = findBatched(op->getOperand(0));
  const bool isOverBatch = llvm::is_contained(axes, input->place.axis);
  Place place;
  if (!isOverBatch) {
    place = input->place;
    if (!keepDims)
      place->axis -= llvm::count_if(axes, [&](int64_t axis) { return axis < input->place.axis; });
  }
  const Extents inner = input->place.findAll(axes);
  Operation *again = repeat(op, input->value, place);
  again->setAttr("axes", builder.getDenseI64ArrayAttr(inner));
  if (!isOverBatch) {
    setAll(op, again, place);
    return true;
  }
  const Extents shape = reducedShape(tensorTypeOf(input->value).getShape(), inner, keepDims);
  for (auto [tensor, value] : llvm::zip_equal(op->getResults(), again->getResults())) {
    value.setType(tensorTypeOf(tensor).clone(shape));
    set(tensor, makeReshape(value, tensorTypeOf(tensor).getShape()), std::nullopt);
  }
  return true;
}

bool BatchFirst::findLargest(ArgMaxOp op) {
  auto input = findBatched(op.getInput());
  const int64_t axis = int64_t(op.getAxis());
  BatchPlace place = input->place;
  if (axis == place.axis)
    return false;
  const int64_t inner = place.find(axis);
  if (axis < place.axis)
    --place.axis;
  auto again = llvm::cast<ArgMaxOp>(repeat(op, input->value, place));
  again.setAxis(uint64_t(inner));
  set(op, again, place);
  return true;
}

/// The batch is a dimension that both have and that stays, one over which both are summed, or one
/// of either operand alone where no others stay in both.
bool BatchFirst::contract(ContractOp op) {
  auto lhs = findBatched(op.getLhs()), rhs = findBatched(op.getRhs());
  const auto create = [&](Value left, Value right, llvm::ArrayRef<int64_t> leftBatch,
                          llvm::ArrayRef<int64_t> rightBatch, llvm::ArrayRef<int64_t> leftSum,
                          llvm::ArrayRef<int64_t> rightSum) -> Value {
    auto again = ContractOp::create(builder, op.getLoc(), left, right, leftBatch, rightBatch,
                                    leftSum, rightSum);
    again.getResult().setType(again.getType().clone(op.getType().getElementType()));
    again.setAccumulateAttr(op.getAccumulateAttr());
    return again;
  };
  if (op.getBias() || op.getActivation() != Activation::None)
    return false;
  const int64_t kept = int64_t(op.getLhsBatch().size());
  if (lhs && rhs) {
    if (lhs->place.before != rhs->place.before || lhs->place.after != rhs->place.after)
      return false;
    const auto *shared = llvm::find(op.getLhsBatch(), lhs->place.axis);
    const bool isKept = shared != op.getLhsBatch().end();
    // Pairs of dimensions, the batch in front of the others.
    const auto pairUp = [&](llvm::ArrayRef<int64_t> left, llvm::ArrayRef<int64_t> right,
                            Extents &leftInner, Extents &rightInner) {
      for (auto [l, r] : llvm::zip_equal(left, right)) {
        if ((l == lhs->place.axis) != (r == rhs->place.axis))
          return false;
        if (l != lhs->place.axis) {
          leftInner.push_back(lhs->place.find(l));
          rightInner.push_back(rhs->place.find(r));
          continue;
        }
        llvm::append_range(leftInner, lhs->place.findParts());
        llvm::append_range(rightInner, rhs->place.findParts());
        leftInner.insert(leftInner.begin(), 0);
        rightInner.insert(rightInner.begin(), 0);
      }
      return true;
    };
    Extents leftBatch, rightBatch, leftSum, rightSum;
    if (!pairUp(op.getLhsBatch(), op.getRhsBatch(), leftBatch, rightBatch) ||
        !pairUp(op.getLhsContracting(), op.getRhsContracting(), leftSum, rightSum))
      return false;
    if (!isKept && !llvm::is_contained(op.getLhsContracting(), lhs->place.axis))
      return false; // the batch twice in the result
    Place place;
    if (isKept) {
      place = lhs->place;
      place->axis = shared - op.getLhsBatch().begin();
    }
    set(op, create(lhs->value, rhs->value, leftBatch, rightBatch, leftSum, rightSum), place);
    return true;
  }
  const Batched &own = lhs ? *lhs : *rhs;
  const llvm::ArrayRef<int64_t> ownSum = lhs ? op.getLhsContracting() : op.getRhsContracting(),
                                otherSum = lhs ? op.getRhsContracting() : op.getLhsContracting();
  if (kept > 0 || llvm::is_contained(ownSum, own.place.axis))
    return false;
  Extents inner;
  for (int64_t d : ownSum)
    inner.push_back(own.place.find(d));
  // The operand with the batch is on the left, whose dimensions come first.
  Value result = create(own.value, lhs ? op.getRhs() : op.getLhs(), {}, {}, inner, otherSum);
  const Extents free = lhs ? op.getLhsFree() : op.getRhsFree();
  BatchPlace place = own.place;
  place.axis = llvm::find(free, own.place.axis) - free.begin();
  if (lhs) {
    set(op, result, place);
    return true;
  }
  const int64_t others = int64_t(op.getLhsFree().size()), rank = tensorTypeOf(result).getRank();
  Extents order{0};
  for (int64_t d = rank - others; d < rank; ++d)
    order.push_back(d);
  for (int64_t d = 1; d < rank - others; ++d)
    order.push_back(d);
  place.axis += others;
  set(op, makeTranspose(result, order), place);
  return true;
}

// ---- All ----------------------------------------------------------------------------------------

bool BatchFirst::isConcerned(Operation *op) const {
  if (llvm::any_of(op->getOperands(), [&](Value operand) { return places.contains(operand); }))
    return true;
  if (auto reshaped = llvm::dyn_cast<ReshapeOp>(op))
    if (product(tensorTypeOf(reshaped.getInput()).getShape()) !=
        product(tensorTypeOf(reshaped.getResult()).getShape()))
      return true;
  return llvm::any_of(op->getResultTypes(), [](mlir::Type type) {
    auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
    return tensor && tensor.getNumDynamicDims() > 0 &&
           (!tensor.isDynamicDim(0) || tensor.getNumDynamicDims() > 1);
  });
}

bool BatchFirst::rewrite(Operation *op) {
  if (llvm::none_of(op->getOperands(), [&](Value each) { return findBatched(each); }))
    return false;
  const auto isFirstBatched = [&] { return findBatched(op->getOperand(0)).has_value(); };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](TransposeOp each) { return transpose(each); })
      .Case([&](ReshapeOp each) { return reshape(each); })
      .Case<SliceOp, PadOp, ReverseOp, SoftmaxOp, LogSoftmaxOp>(
          [&](auto each) { return moveAlong(each, "axis"); })
      .Case([&](ResampleOp each) { return resample(each); })
      .Case([&](ConcatenateOp each) { return concatenate(each); })
      .Case([&](GatherOp each) { return gather(each); })
      .Case<ReduceOp, MomentsOp>(
          [&](auto each) { return reduce(each, each.getAxes(), each.getKeepDims()); })
      .Case([&](ArgMaxOp each) { return findLargest(each); })
      .Case([&](ContractOp each) { return contract(each); })
      .Case<CastLikeOp>([&](auto each) { return keepShape(each); })
      .Case<CastOp, InTrainingOp, StopGradientOp, StraightThroughOp, DropoutOp, NormalNoiseOp,
            UniformNoiseOp, OneHotOp>(
          [&](auto each) { return isFirstBatched() && keepShape(each); })
      .Case<BroadcastLikeOp, ElementwiseOpInterface>([&](auto each) { return broadcast(each); })
      .Default([](Operation *) { return false; });
}

Operation *BatchFirst::run() {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (llvm::isa<mlir::UnrealizedConversionCastOp>(op)) {
      dead.push_back(&op);
      continue;
    }
    if (!isConcerned(&op))
      continue;
    builder.setInsertionPoint(&op);
    if (!rewrite(&op))
      return &op;
    dead.push_back(&op);
  }
  return nullptr;
}

} // namespace mpc
