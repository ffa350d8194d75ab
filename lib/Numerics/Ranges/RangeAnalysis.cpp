// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bounds the values of a function op by op.
#include "lib/Numerics/Ranges/AffineForms.h"
#include "lib/Numerics/Ranges/Pieces.h"
#include "lib/Numerics/Ranges/RangeModels.h"
#include "lib/Numerics/Ranges/RowForms.h"
#include "mpc/Analysis/LayerPath.h"
#include "mpc/Support/WeightNumbers.h"

using namespace mlir;
using namespace mpc;

#include "lib/Numerics/Ranges/RangeOpInterface.cpp.inc"

void mpc::registerRangeModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, MpcDialect *) {
    attachArithmeticRanges(*context);
    attachFunctionRanges(*context);
    attachMovementRanges(*context);
    attachProductRanges(*context);
    attachReductionRanges(*context);
    attachStructureRanges(*context);
  });
}

/// The values of a variable, in the type that the function takes it in; null where they are not
/// known, or no floats of its shape.
static std::shared_ptr<const ReferenceTensor>
findElements(const WeightStore *weights, StringRef variable, RankedTensorType type) {
  if (!weights || !type.hasStaticShape() || !isa<FloatType>(type.getElementType()))
    return nullptr;
  auto found = weights->all().find(variable.str());
  if (found == weights->all().end())
    return nullptr;
  std::vector<double> numbers = numbersOf(found->second);
  if (int64_t(numbers.size()) != type.getNumElements())
    return nullptr;
  auto elements = std::make_shared<ReferenceTensor>();
  elements->elementType = type.getElementType();
  elements->shape = SmallVector<int64_t>(type.getShape());
  elements->floats.reserve(numbers.size());
  // The library stores them in the variable's type.
  for (double number : numbers)
    elements->floats.push_back(roundTo(type.getElementType(), number));
  return elements;
}

Bound RangeAnalysis::boundArgument(BlockArgument argument) {
  const unsigned index = argument.getArgNumber();
  const Type type = elementTypeOf(argument);
  if (auto variable =
          function.getArgAttrOfType<FlatSymbolRefAttr>(index, MpcDialect::kVariableAttr))
    if (auto elements = findElements(facts.weights, variable.getValue(), tensorTypeOf(argument))) {
      used.weights = facts.weights;
      return Bound::ofElements(elements);
    }
  if (auto limit = function.getArgAttrOfType<IntegerAttr>(index, MpcDialect::kIndexLimitAttr);
      limit && isa<IntegerType>(type))
    return Bound::of(0, double(limit.getInt() - 1));
  if (StringAttr name = findGivenName(function, index))
    if (auto found = facts.inputs.find(name.str()); found != facts.inputs.end()) {
      used.inputs.insert(*found);
      return Bound::of(found->second.first, found->second.second);
    }
  return Bound::finiteOf(type);
}

RangeAnalysis::RangeAnalysis(func::FuncOp function, const RangeFacts &facts)
    : function(function), facts(facts) {
  Block &block = function.getBody().front();
  run(block, llvm::map_to_vector(block.getArguments(),
                                 [&](BlockArgument argument) { return boundArgument(argument); }));
}

const Bound &RangeAnalysis::at(Value value) const {
  static const Bound unknown;
  auto found = bounds.find(value);
  return found == bounds.end() ? unknown : found->second;
}

SmallVector<Bound> RangeAnalysis::run(Block &block, ArrayRef<Bound> arguments) {
  // This run has facts of its own; the map has the hull of all runs.
  llvm::DenseMap<Value, Bound> now;
  auto record = [&](Value value, Bound bound) {
    auto [place, isNew] = bounds.try_emplace(value, bound);
    if (!isNew)
      place->second = hull(place->second, bound);
    now[value] = std::move(bound);
  };
  AffineForms forms(facts.training);
  // Steps of loops are too many to look at each element.
  std::optional<RowForms> rows;
  if (block.getParentOp() == function)
    rows.emplace(*this);
  for (auto [argument, bound] : llvm::zip_equal(block.getArguments(), arguments)) {
    record(argument, bound);
    if (rows)
      rows->define(argument, bound);
    forms.define(argument, bound);
  }
  for (Operation &op : block.without_terminator()) {
    SmallVector<Bound> operands =
        llvm::map_to_vector(op.getOperands(), [&](Value value) { return now.lookup(value); });
    SmallVector<Bound> results = llvm::map_to_vector(
        op.getResults(), [](Value value) { return Bound::anyOf(elementTypeOf(value)); });
    if (auto ranged = dyn_cast<RangeOpInterface>(op)) {
      RangeArguments derived(&op, *this, operands, results);
      ranged.deriveRanges(derived);
    }
    auto boundOf = [&](Value value) -> const Bound & { return now.find(value)->second; };
    if (results.size() == 1) {
      narrowByPieces(op, *this, boundOf, results[0]);
      if (rows)
        rows->narrow(op, boundOf, results[0]);
    }
    forms.define(op, results);
    for (auto [result, bound] : llvm::zip_equal(op.getResults(), results)) {
      if (rows)
        rows->define(result, bound);
      record(result, std::move(bound));
    }
  }
  return llvm::map_to_vector(block.getTerminator()->getOperands(),
                             [&](Value value) { return now.lookup(value); });
}

StringAttr mpc::findGivenName(func::FuncOp function, unsigned argument) {
  auto input = function.getArgAttrOfType<StringAttr>(argument, MpcDialect::kInputAttr);
  return input ? input : function.getArgAttrOfType<StringAttr>(argument, MpcDialect::kTargetAttr);
}

InputRanges mpc::selectInputs(func::FuncOp function, const InputRanges &ranges) {
  InputRanges selected;
  unsigned place = 0;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    StringAttr name = findGivenName(function, i);
    if (!name)
      continue;
    auto range = ranges.find(name.str());
    const bool isInput = function.getArgAttr(i, MpcDialect::kInputAttr) != nullptr;
    if (range == ranges.end() && isInput)
      range = ranges.find("x" + std::to_string(place));
    place += isInput;
    if (range != ranges.end())
      selected[name.str()] = range->second;
  }
  return selected;
}

bool mpc::fitsFloat16(const Bound &bound) {
  // From here on rounding to nearest gives infinity.
  return !bound.mayBeNan && bound.low > -65520 && bound.high < 65520;
}

/// Visits the arguments of a block, then its ops.
static void visitBlock(Block &block, llvm::function_ref<void(Value)> visit) {
  for (BlockArgument argument : block.getArguments())
    visit(argument);
  for (Operation &op : block) {
    for (Value result : op.getResults())
      visit(result);
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        visitBlock(inner, visit);
  }
}

void mpc::forEachValue(func::FuncOp function, llvm::function_ref<void(Value)> visit) {
  visitBlock(function.getBody().front(), visit);
}

std::vector<LayerProof> mpc::proveLayers(const RangeAnalysis &analysis) {
  std::vector<LayerProof> proofs;
  llvm::StringMap<size_t> places;
  forEachValue(analysis.getFunction(), [&](Value value) {
    const StringRef layer = layerPathOf(value.getLoc());
    if (layer.empty() || !isa<FloatType>(elementTypeOf(value)))
      return;
    auto [place, isNew] = places.try_emplace(layer, proofs.size());
    if (isNew)
      proofs.push_back({layer.str()});
    LayerProof &proof = proofs[place->second];
    const Bound &bound = analysis.at(value);
    proof.largest = std::max(proof.largest, bound.mayBeNan ? kUnbounded : bound.magnitude());
    proof.error = std::max(proof.error, bound.error);
    proof.fitsFloat16 &= fitsFloat16(bound);
  });
  return proofs;
}
