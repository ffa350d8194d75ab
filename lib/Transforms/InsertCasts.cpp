// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mpc-insert-casts: Keras's autocast as explicit casts, and the end of layers. Functions are
// rebuilt op by op in their order: operands are already final, so the types follow from them.
#include "lib/Transforms/LossBoundary.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mpc/Analysis/LintName.h"
#include "mpc/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace mpc;

namespace mpc {
#define GEN_PASS_DEF_INSERTCASTS
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

static bool isFloatValue(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType());
}

namespace {
/// Rebuilds the ops of one block at the builder's insertion point, with final types.
class Caster {
public:
  Caster(OpBuilder &builder, IRMapping &values) : builder(builder), values(values) {}

  /// `weak` is the type of floating values that take none from their operands: the layer's compute
  /// dtype; outside layers they keep the type they have.
  LogicalResult rebuild(Operation &op, Type weak, StringAttr path);
  LogicalResult rebuildLayer(LayerOp layer);
  /// A scan computes in one floating type: its operands are cast in front of it, once for all
  /// steps, and what it carries keeps its type from step to step.
  LogicalResult rebuildScan(ScanOp scan, Type weak, StringAttr path);
  void rebuildCastLike(CastLikeOp op, Type weak, Location loc, StringAttr path);

  Value castTo(Value value, Type element, Location loc) {
    auto type = tensorTypeOf(value).clone(element);
    return value.getType() == type ? value : CastOp::create(builder, loc, type, value).getResult();
  }

private:
  Location locate(Location loc, StringAttr path) {
    if (!path)
      return loc;
    if (auto name = dyn_cast<NameLoc>(loc); name && name.getName() == path)
      return loc;
    return isa<UnknownLoc>(loc) ? NameLoc::get(path) : NameLoc::get(path, loc);
  }
  /// The floating type in which the op computes; null when no operand decides.
  Type decideElement(Operation &op);
  Value constantIn(ConstantOp constant, Type element, Location loc, StringAttr path);
  bool warnOfLostConstant(double number, const APFloat &rounded, Type element, StringAttr path);
  void remarkRoundedInputs(LayerOp layer, Type compute);

  OpBuilder &builder;
  IRMapping &values;
  llvm::DenseSet<Value> wide; ///< arguments of layers' bodies: variables that are not cast at use
  llvm::StringSet<> lost;     ///< warnings of constants that were given
};
} // namespace

Type Caster::decideElement(Operation &op) {
  auto precise = dyn_cast<PrecisionOpInterface>(op);
  Type element;
  for (OpOperand &operand : op.getOpOperands()) {
    if (!isFloatValue(operand.get()) || (precise && precise.staysWide(operand.getOperandNumber())))
      continue;
    // Floating constants are weak, as Python numbers: the other operands decide.
    if (operand.get().getDefiningOp<ConstantOp>())
      continue;
    element = promoteFloats(element, elementTypeOf(values.lookup(operand.get())));
  }
  return element;
}

/// A mask of -1e9 or an epsilon of 1e-8 is another number in float16, and 0 / 0 or inf - inf
/// follow. Returns whether nothing is left of the number.
bool Caster::warnOfLostConstant(double number, const APFloat &rounded, Type element,
                                StringAttr path) {
  const bool isInfinite = rounded.isInfinity() && std::isfinite(number);
  std::string warning;
  if (!isInfinite && !(rounded.isZero() && number != 0))
    return false;
  llvm::raw_string_ostream(warning) << "its constant " << llvm::format("%g", number) << " becomes "
                                    << (isInfinite ? "infinite" : "0") << " in " << element;
  if (path && lost.insert((path.getValue() + ": " + warning).str()).second)
    emitLint(NameLoc::get(path), isInfinite ? kInfiniteConstantLint : kZeroConstantLint)
        << warning << "; give the layer a policy that computes in float32 or bfloat16, or the "
        << "model another constant";
  return true;
}

Value Caster::constantIn(ConstantOp constant, Type element, Location loc, StringAttr path) {
  auto type = cast<RankedTensorType>(constant.getType());
  auto from = cast<FloatType>(type.getElementType());
  if (from == element)
    return values.lookup(constant.getResult());
  auto to = cast<FloatType>(element);
  auto value = cast<DenseFPElementsAttr>(constant.getValue());
  FloatAttr lostNumber; // which the twin in float32 is to have (mpc-trace-numerics)
  // Rounded once, from the value as imported.
  DenseElementsAttr rounded = value.mapValues(to, [&](const APFloat &number) {
    const FloatAttr given = constant.getExactAttr();
    const double exact = (given ? given : FloatAttr::get(from, number)).getValueAsDouble();
    APFloat result = FloatAttr::get(to, exact).getValue();
    if (constant.getFinite() && result.isInfinity() && number.isLargest())
      result = APFloat::getLargest(to.getFloatSemantics(), result.isNegative());
    if (warnOfLostConstant(exact, result, to, path) && value.isSplat())
      lostNumber = FloatAttr::get(builder.getF64Type(), exact);
    return result.bitcastToAPInt();
  });
  auto made = ConstantOp::create(builder, loc, cast<ElementsAttr>(rounded));
  if (lostNumber)
    made.setExactAttr(lostNumber);
  return made;
}

LogicalResult Caster::rebuild(Operation &op, Type weak, StringAttr path) {
  if (auto layer = dyn_cast<LayerOp>(op))
    return rebuildLayer(layer);
  if (auto scan = dyn_cast<ScanOp>(op))
    return rebuildScan(scan, weak, path);
  Location loc = locate(op.getLoc(), path);
  if (auto like = dyn_cast<CastLikeOp>(op)) {
    rebuildCastLike(like, weak, loc, path);
    return success();
  }
  auto precise = dyn_cast<PrecisionOpInterface>(op);
  bool isCast = isa<CastOp>(op);
  Type element = isCast ? Type() : decideElement(op);
  if (!element)
    element = weak;

  // An infinite upper bound bounds nothing, which is all that 1/epsilon of a norm is there for.
  const StringAttr told = isa<MinimumOp>(op) ? StringAttr() : path;
  // Operands first: constants and casts stand before the op that needs them.
  SmallVector<Value> operands;
  for (OpOperand &operand : op.getOpOperands()) {
    Value value = values.lookup(operand.get());
    bool follows = element && !isCast && isFloatValue(operand.get()) &&
                   !(precise && precise.staysWide(operand.getOperandNumber()));
    if (follows) {
      auto constant = operand.get().getDefiningOp<ConstantOp>();
      value = constant && isa<DenseFPElementsAttr>(constant.getValue())
                  ? constantIn(constant, element, loc, told)
                  : castTo(value, element, loc);
    }
    operands.push_back(value);
  }
  bool fromInteger = isCast && !isFloatValue(op.getOperand(0));
  if (fromInteger && element && isFloatValue(operands[0]) && isFloatValue(op.getResult(0))) {
    // The layer's border has made the integers floating already (`casts_integers`).
    values.map(op.getResult(0), castTo(operands[0], element, loc));
    return success();
  }
  Operation *copy = builder.clone(op, values);
  copy->setOperands(operands);
  copy->setLoc(loc);
  // A constant keeps its type until an op needs it in another one. A cast to a floating type takes
  // the compute dtype when it leaves the integers; an explicit one between floats stays.
  if (element && !isa<ConstantOp>(op) && (!isCast || fromInteger))
    for (Value result : copy->getResults())
      if (isFloatValue(result))
        result.setType(tensorTypeOf(result).clone(element));
  return success();
}

LogicalResult Caster::rebuildScan(ScanOp scan, Type weak, StringAttr path) {
  Location loc = locate(scan.getLoc(), path);
  Type element = weak ? weak : decideElement(*scan);
  const size_t carried = scan.getInits().size(), scanned = scan.getScanned().size();
  auto body = std::make_unique<Block>();
  SmallVector<Value> operands;
  for (auto [operand, argument] :
       llvm::zip_equal(scan->getOperands(), scan.getBody().front().getArguments())) {
    Value value = values.lookup(operand);
    // Captured values, and variables of a dtype of their own, have the type that they need.
    const bool keeps = argument.getArgNumber() >= carried + scanned || wide.contains(operand);
    if (element && isFloatValue(value) && !keeps) {
      auto constant = operand.getDefiningOp<ConstantOp>();
      value = constant ? constantIn(constant, element, loc, path) : castTo(value, element, loc);
    }
    operands.push_back(value);
    auto type = tensorTypeOf(argument).clone(elementTypeOf(value));
    values.map(argument, body->addArgument(type, loc));
  }
  SmallVector<Type> types;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(body.get());
    for (Operation &op : scan.getBody().front().without_terminator())
      if (failed(rebuild(op, weak, path)))
        return failure();
    SmallVector<Value> yielded;
    for (auto [i, value] : llvm::enumerate(scan.getYield().getValues())) {
      Value next = values.lookup(value);
      if (i < carried && isFloatValue(next))
        next = castTo(next, elementTypeOf(operands[i]), loc);
      yielded.push_back(next);
      auto type = tensorTypeOf(next);
      types.push_back(i < carried ? type : ScanOp::stackType(type, scan.getSteps()));
    }
    YieldOp::create(builder, loc, yielded);
  }
  ArrayRef<Value> all(operands);
  auto copy =
      ScanOp::create(builder, loc, types, all.take_front(carried), all.slice(carried, scanned),
                     all.drop_front(carried + scanned), scan.getSteps(), scan.getReverse());
  copy.getBody().push_back(body.release());
  for (auto [result, cast] : llvm::zip_equal(scan.getResults(), copy.getResults()))
    values.map(result, cast);
  return success();
}

/// The types of the others are final now: an mpc.cast, or nothing.
void Caster::rebuildCastLike(CastLikeOp op, Type weak, Location loc, StringAttr path) {
  Type element;
  for (Value like : op.getLike())
    if (!like.getDefiningOp<ConstantOp>())
      element = promoteFloats(element, elementTypeOf(values.lookup(like)));
  if (!element)
    element = weak ? weak : elementTypeOf(op.getResult());
  if (op.getWide())
    element = widerOf32(element);
  if (op.getTo())
    element = *op.getTo();
  auto constant = op.getInput().getDefiningOp<ConstantOp>();
  values.map(op.getResult(), constant && isa<DenseFPElementsAttr>(constant.getValue())
                                 ? constantIn(constant, element, loc, path)
                                 : castTo(values.lookup(op.getInput()), element, loc));
}

/// The variable that takes this result of a layer, or null: the importer names it on the layer.
static VariableOp updatedBy(OpResult result) {
  auto layer = dyn_cast<LayerOp>(result.getOwner());
  if (!layer || !layer.getUpdates())
    return {};
  auto symbol = dyn_cast<FlatSymbolRefAttr>((*layer.getUpdates())[result.getResultNumber()]);
  return symbol ? SymbolTable::lookupNearestSymbolFrom<VariableOp>(layer, symbol) : VariableOp();
}

/// Whether @loss alone takes the result, in float32: a term of the loss, or what a metric averages.
static bool isForLoss(func::FuncOp function, unsigned index) {
  return function.getResultAttr(index, MpcDialect::kLossTermAttr) ||
         function.getResultAttr(index, MpcDialect::kAddedMetricAttr);
}

/// How a result of a layer leaves the function, which decides its type.
static Type typeOfUse(OpResult result, Type compute) {
  if (VariableOp variable = updatedBy(result))
    return getElementTypeOrSelf(variable.getType());
  for (OpOperand &use : result.getUses()) {
    auto function = dyn_cast<func::FuncOp>(use.getOwner()->getParentOp());
    if (!function || !isa<func::ReturnOp>(use.getOwner()))
      continue;
    unsigned index = use.getOperandNumber();
    if (isForLoss(function, index))
      return Float32Type::get(result.getContext());
    if (auto symbol =
            function.getResultAttrOfType<FlatSymbolRefAttr>(index, MpcDialect::kUpdatesAttr))
      if (auto variable = SymbolTable::lookupNearestSymbolFrom<VariableOp>(function, symbol))
        return getElementTypeOrSelf(variable.getType());
  }
  return compute;
}

/// The variable whose value this is, be it new, or null.
static VariableOp variableOf(Value value) {
  if (auto result = dyn_cast<OpResult>(value)) {
    auto scan = dyn_cast<ScanOp>(result.getOwner());
    if (scan && result.getResultNumber() < scan.getInits().size())
      return variableOf(scan.getInits()[result.getResultNumber()]);
    return updatedBy(result);
  }
  auto argument = dyn_cast<BlockArgument>(value);
  // A value that a scan or a layer around this one captures is the same inside.
  if (Operation *around = argument ? argument.getOwner()->getParentOp() : nullptr;
      isa_and_nonnull<ScanOp, LayerOp>(around))
    return variableOf(around->getOperand(argument.getArgNumber()));
  auto function =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  if (!function)
    return {};
  auto symbol = function.getArgAttrOfType<FlatSymbolRefAttr>(argument.getArgNumber(),
                                                             MpcDialect::kVariableAttr);
  return symbol ? SymbolTable::lookupNearestSymbolFrom<VariableOp>(function, symbol) : VariableOp();
}

/// A layer that computes in more digits than its inputs have gets none back.
void Caster::remarkRoundedInputs(LayerOp layer, Type compute) {
  auto wideType = dyn_cast<FloatType>(compute);
  llvm::SmallSetVector<StringRef, 4> told;
  for (Value input : layer.getInputs()) {
    auto narrow = dyn_cast<FloatType>(elementTypeOf(values.lookup(input)));
    auto source = input.getDefiningOp<LayerOp>();
    if (!wideType || !narrow || !source || narrow.getWidth() > 16 || wideType.getWidth() < 32 ||
        !told.insert(source.getPath()))
      continue;
    std::string from, to;
    llvm::raw_string_ostream(from) << narrow;
    llvm::raw_string_ostream(to) << compute;
    remark::analysis(layer.getLoc(),
                     remark::RemarkOpts::name("rounded-input").category("mpc-casts"))
        << "computes in " + to + " on what layer \"" + source.getPath().str() + "\" rounded to " +
               from + "; give that one float32 to keep its digits";
  }
}

LogicalResult Caster::rebuildLayer(LayerOp layer) {
  std::optional<PrecisionAttr> precision = layer.getPrecision();
  if (!precision)
    return layer.emitError() << "layer \"" << layer.getPath()
                             << "\" has no precision; run mpc-apply-policy first";
  Type compute = precision->getCompute();
  bool computesInFloat = isa<FloatType>(compute);
  Location loc = locate(layer.getLoc(), layer.getPathAttr());
  unsigned inputCasts = 0, variableCasts = 0;
  Block &body = layer.getBody().front();
  size_t inputCount = layer.getInputs().size();
  for (auto [argument, operand] : llvm::zip_equal(body.getArguments(), layer.getOperands())) {
    Value value = values.lookup(operand);
    bool isInput = argument.getArgNumber() < inputCount;
    VariableOp variable = isInput ? VariableOp() : variableOf(operand);
    // Keras's convert_input: floating inputs become the compute dtype, even an integer one;
    // integers only where the layer says so. Variables are cast to floating dtypes only
    // (AutocastScope).
    bool wanted = isInput ? layer.getCastsIntegers() || (layer.getAutocast() && isFloatValue(value))
                          : computesInFloat && layer.getAutocast() && isFloatValue(value) &&
                                (!variable || variable.getAutocast());
    if (wanted) {
      Value narrow = castTo(value, compute, loc);
      (isInput ? inputCasts : variableCasts) += narrow != value;
      value = narrow;
    } else if (variable && !variable.getAutocast()) {
      wide.insert(argument);
    }
    values.map(argument, value);
  }
  Type weak = computesInFloat ? compute : Type();
  for (Operation &op : body.without_terminator())
    if (failed(rebuild(op, weak, layer.getPathAttr())))
      return failure();
  // Keras re-casts no result. Layers that opt out of autocast, for themselves or for a variable
  // (normalisations, embeddings), end with that cast in their own code.
  bool optsOut = !layer.getAutocast() || llvm::any_of(layer.getVariables(), [](Value value) {
    VariableOp variable = variableOf(value);
    return variable && !variable.getAutocast();
  });
  auto yield = cast<YieldOp>(body.getTerminator());
  for (auto [result, yielded] : llvm::zip_equal(layer.getResults(), yield.getValues())) {
    Value value = values.lookup(yielded);
    if (isFloatValue(value) && computesInFloat && optsOut)
      value = castTo(value, typeOfUse(result, compute), loc);
    values.map(result, value);
  }
  remarkRoundedInputs(layer, compute);
  std::string type;
  llvm::raw_string_ostream(type) << compute;
  std::string text = "layer \"" + layer.getPath().str() + "\": " + llvm::utostr(inputCasts) +
                     " of " + llvm::utostr(inputCount) + " inputs and " +
                     llvm::utostr(variableCasts) + " of " +
                     llvm::utostr(layer.getVariables().size()) + " variables cast to " + type;
  remark::analysis(layer.getLoc(), remark::RemarkOpts::name("layer-casts").category("mpc-casts"))
      << text << remark::metric("layer", layer.getPath())
      << remark::metric("input_casts", inputCasts)
      << remark::metric("variable_casts", variableCasts);
  return success();
}

namespace {
class InsertCastsPass : public mpc::impl::InsertCastsBase<InsertCastsPass> {
public:
  void runOnModule() override {
    ModuleOp module = getOperation();
    if (failed(storeVariables()))
      return signalPassFailure();
    bool failedAny = false;
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isDeclaration() && failed(rebuildFunction(function)))
        failedAny = true;
    if (failedAny)
      return signalPassFailure();
    matchLossArguments(module);
  }

private:
  /// Gives each floating variable of a layer the layer's variable dtype: in its declaration and
  /// wherever a function takes it.
  LogicalResult storeVariables();
  LogicalResult rebuildFunction(func::FuncOp function);
};
} // namespace

/// Whether the function's types are still to be decided, also those inside scans: the others keep
/// what they were built for.
static bool isForward(func::FuncOp function) {
  return function
      .walk([](Operation *op) {
        return isa<LayerOp, CastLikeOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

LogicalResult InsertCastsPass::storeVariables() {
  ModuleOp module = getOperation();
  llvm::StringMap<PrecisionAttr> precisions;
  llvm::DenseMap<Operation *, PrecisionAttr> users;
  module.walk([&](LayerOp layer) {
    if (!layer.getPrecision())
      return;
    precisions[layer.getPath()] = *layer.getPrecision();
    for (Value value : layer.getVariables())
      if (VariableOp variable = variableOf(value))
        users[variable] = *layer.getPrecision();
  });
  for (auto variable : module.getOps<VariableOp>()) {
    auto type = cast<RankedTensorType>(variable.getType());
    if (!isa<FloatType>(type.getElementType()))
      continue;
    // A variable that a layer stores in a dtype of its own choice follows no policy.
    if (std::optional<Type> own = variable.getOwnType()) {
      variable.setType(type.clone(*own));
      continue;
    }
    // The path of the layer that owns it; the layer that reads it where that one has no op.
    PrecisionAttr precision = users.lookup(variable);
    if (std::optional<StringRef> path = variable.getLayer())
      if (auto found = precisions.find(*path); found != precisions.end())
        precision = found->second;
    if (precision && isa<FloatType>(precision.getVariable()))
      variable.setType(type.clone(precision.getVariable()));
  }
  for (auto function : module.getOps<func::FuncOp>()) {
    const bool undecided = isForward(function);
    for (BlockArgument argument : function.getArguments()) {
      VariableOp variable = variableOf(argument);
      if (!variable)
        continue;
      auto type = cast<RankedTensorType>(variable.getType());
      // The uses in a forward function are rebuilt; elsewhere they keep what they were built for.
      if (undecided)
        argument.setType(type);
      else
        retypeArgument(function, argument.getArgNumber(), type);
    }
  }
  return success();
}

LogicalResult InsertCastsPass::rebuildFunction(func::FuncOp function) {
  Block &old = function.getBody().front();
  auto terminator = dyn_cast<func::ReturnOp>(old.getTerminator());
  if (!terminator)
    return success();
  OpBuilder builder(terminator);
  IRMapping values;
  Caster caster(builder, values);
  if (isForward(function)) {
    for (BlockArgument argument : old.getArguments())
      values.map(argument, argument);
    SmallVector<Operation *> originals;
    for (Operation &op : old.without_terminator())
      originals.push_back(&op);
    for (Operation *op : originals)
      if (failed(caster.rebuild(*op, Type(), StringAttr())))
        return failure();
    for (OpOperand &operand : terminator->getOpOperands())
      operand.set(values.lookup(operand.get()));
    for (Operation *op : llvm::reverse(originals))
      op->erase();
  }
  // Updates have their variable's type; loss terms and what metrics average are float32.
  for (OpOperand &operand : terminator->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    if (!isFloatValue(operand.get()))
      continue;
    Type element;
    if (auto symbol =
            function.getResultAttrOfType<FlatSymbolRefAttr>(index, MpcDialect::kUpdatesAttr)) {
      if (auto variable = SymbolTable::lookupNearestSymbolFrom<VariableOp>(function, symbol))
        element = getElementTypeOrSelf(variable.getType());
    } else if (isForLoss(function, index)) {
      element = builder.getF32Type();
    }
    if (element)
      operand.set(caster.castTo(operand.get(), element, terminator.getLoc()));
  }
  updateFunctionType(function);
  // Constants that only weak uses had.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(old)))
    if (isa<ConstantOp>(op) && op.use_empty())
      op.erase();
  return success();
}
