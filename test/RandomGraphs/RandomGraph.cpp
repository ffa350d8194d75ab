// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The graph's arguments, the choice of ops, and what makes an op fit to be differentiated by
// differences.
#include "test/RandomGraphs/RandomGraph.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::test;

uint64_t Random::next() {
  uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// ---- Registration
// ---------------------------------------------------------------------------------

const OpMakers &mpc::test::opMakers() {
  static const OpMakers makers = [] {
    OpMakers all;
    addTensorOps(all);
    addMovementOps(all);
    addWindowOps(all);
    addScanOps(all);
    return all;
  }();
  return makers;
}

StringRef mpc::test::reasonToLeaveOut(StringRef opName) {
  if (opName == StopGradientOp::getOperationName())
    return "its derivative is 0 by definition, whatever differences say";
  if (opName == StraightThroughOp::getOperationName() ||
      opName == Float8QuantizeOp::getOperationName() ||
      opName == Float8QuantizeGradientOp::getOperationName())
    return "its derivative is that of another function by definition";
  if (opName == RoundFloat8Op::getOperationName())
    return "it jumps everywhere, and its derivative is 0";
  if (opName == AttentionOp::getOperationName())
    return "only a pass makes it, of ops that are drawn; runtime/cts holds its service to "
           "the definition";
  return {};
}

std::vector<RegisteredOperationName> mpc::test::differentiableOps(MLIRContext &context) {
  std::vector<RegisteredOperationName> ops;
  for (RegisteredOperationName name : context.getRegisteredOperations())
    if (name.getDialectNamespace() == "mpc" && name.hasInterface<DifferentiableOpInterface>() &&
        reasonToLeaveOut(name.getStringRef()).empty())
      ops.push_back(name);
  llvm::sort(ops, [](auto a, auto b) { return a.getStringRef() < b.getStringRef(); });
  return ops;
}

std::vector<std::string> mpc::test::opsWithoutMaker(MLIRContext &context) {
  std::vector<std::string> missing;
  for (RegisteredOperationName name : differentiableOps(context))
    if (!name.hasInterface<ElementwiseOpInterface>() && !opMakers().count(name.getStringRef()))
      missing.push_back(name.getStringRef().str());
  return missing;
}

// ---- Scope
// ----------------------------------------------------------------------------------------

Random &Scope::random() { return graph.random; }

const ReferenceTensor &Scope::at(Value value) const { return graph.values.find(value)->second; }

void Scope::setValue(Value value, ReferenceTensor tensor) {
  graph.values[value] = std::move(tensor);
}

Value Scope::pick(llvm::function_ref<bool(RankedTensorType)> wanted) {
  SmallVector<Value> fitting;
  for (Value value : pool)
    if (wanted(tensorTypeOf(value)))
      fitting.push_back(value);
  if (fitting.empty())
    return {};
  // Chains grow deeper when late values are read more often.
  const int64_t count = int64_t(fitting.size());
  const int64_t back =
      random().chance(0.6) ? random().below(std::min<int64_t>(count, 3)) : random().below(count);
  return fitting[count - 1 - back];
}

Value Scope::pickFloat(int64_t leastRank, int64_t mostRank) {
  return pick([&](RankedTensorType type) {
    return type.getElementType().isF64() && type.getRank() >= leastRank &&
           type.getRank() <= mostRank;
  });
}

int64_t Scope::pickStaticAxis(Value value) {
  auto type = tensorTypeOf(value);
  const int64_t first = type.getRank() > 0 && type.isDynamicDim(0) ? 1 : 0;
  return type.getRank() > first ? random().between(first, type.getRank() - 1) : -1;
}

Value Scope::addVariable(ArrayRef<int64_t> shape, double low, double high) {
  Value variable = graph.addArgument("w" + std::to_string(graph.arguments.size()),
                                     builder.getF64Type(), shape, /*isVariable=*/true, low, high);
  return capture ? capture(variable) : variable;
}

Value Scope::constant(ArrayRef<int64_t> shape, ArrayRef<int32_t> numbers) {
  auto type = RankedTensorType::get(shape, builder.getI32Type());
  auto op =
      ConstantOp::create(builder, loc(), cast<ElementsAttr>(DenseElementsAttr::get(type, numbers)));
  ReferenceTensor tensor;
  startReference(tensor, builder.getI32Type(), shape);
  llvm::copy(numbers, tensor.integers.begin());
  graph.values[op] = tensor;
  return op;
}

/// Small, and the batch is the first dimension or none.
static bool hasFittingType(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getRank() > 5)
    return false;
  int64_t elements = 1;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    if (type.isDynamicDim(d) && d > 0)
      return false;
    elements *= type.isDynamicDim(d) ? RandomGraph::kBatch : type.getDimSize(d);
  }
  return elements > 0 && elements <= 400;
}

static LogicalResult evaluate(Operation *op, ArrayRef<ReferenceTensor> operands,
                              SmallVector<ReferenceTensor> &results) {
  results.assign(op->getNumResults(), ReferenceTensor());
  return cast<ReferenceOpInterface>(op).evaluate(operands, results);
}

/// Whether results change like those of a smooth function of moderate slope and curvature when
/// every operand moves a little in a random direction. Kinks and jumps close by do not.
static bool isSmooth(Operation *op, ArrayRef<ReferenceTensor> operands,
                     ArrayRef<ReferenceTensor> results, Random &random) {
  const double step = 1e-4, mostValue = 30, mostSlope = 100, mostCurvature = 200;
  SmallVector<ReferenceTensor> plus(operands), minus(operands), above, below;
  for (auto [p, m] : llvm::zip_equal(plus, minus))
    for (size_t i = 0; i < p.floats.size(); ++i) {
      const double move = step * random.real(-1, 1);
      p.floats[i] += move;
      m.floats[i] -= move;
    }
  if (failed(evaluate(op, plus, above)) || failed(evaluate(op, minus, below)))
    return false;
  for (auto [r, a, b] : llvm::zip_equal(results, above, below)) {
    if (r.integers != a.integers || r.integers != b.integers)
      return false;
    for (size_t i = 0; i < r.floats.size(); ++i) {
      const double value = r.floats[i], first = a.floats[i] - b.floats[i],
                   second = a.floats[i] - 2 * value + b.floats[i];
      if (!(std::fabs(value) <= mostValue && std::fabs(first) <= 2 * step * mostSlope &&
            std::fabs(second) <= step * step * mostCurvature))
        return false;
    }
  }
  return true;
}

bool Scope::accept(Operation *op) {
  ScopedDiagnosticHandler quiet(op->getContext(), [](Diagnostic &) { return success(); });
  SmallVector<ReferenceTensor> operands, results;
  auto fits = [&] {
    if (!llvm::all_of(op->getResults(), hasFittingType) || failed(verify(op)))
      return false;
    for (Value operand : op->getOperands())
      operands.push_back(at(operand));
    // Directions of their own: a graph does not depend on how many ops were tried.
    Random directions(graph.opCount);
    return succeeded(evaluate(op, operands, results)) &&
           isSmooth(op, operands, results, directions) &&
           isSmooth(op, operands, results, directions);
  };
  if (!fits()) {
    op->erase();
    return false;
  }
  for (auto [result, tensor] : llvm::zip_equal(op->getResults(), results)) {
    graph.values[result] = tensor;
    pool.push_back(result);
  }
  ++graph.opCounts[op->getName().getStringRef().str()];
  if (!capture) {
    ++graph.opCount;
    graph.last = op;
  }
  return true;
}

/// A shape that broadcasts to `shape`: leading extents left out, others 1.
static SmallVector<int64_t> broadcastableShape(Random &random, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> result;
  for (int64_t extent : shape.drop_front(random.below(int64_t(shape.size()) + 1)))
    result.push_back(ShapedType::isDynamic(extent) || random.chance(0.25) ? 1 : extent);
  return result;
}

bool Scope::addElementwise(RegisteredOperationName name) {
  // Truth values where numbers do not do.
  return addElementwiseOf(name, /*ofBools=*/false) || addElementwiseOf(name, /*ofBools=*/true);
}

bool Scope::addElementwiseOf(RegisteredOperationName name, bool ofBools) {
  const int operandCount = name.hasTrait<OpTrait::OneOperand>()           ? 1
                           : name.hasTrait<OpTrait::NOperands<2>::Impl>() ? 2
                                                                          : 3;
  auto isBool = [](RankedTensorType type) { return type.getElementType().isInteger(1); };
  SmallVector<Value> operands;
  // The condition of a select comes first.
  operands.push_back(ofBools || operandCount == 3 ? pick(isBool) : pickFloat());
  if (!operands.front())
    return false;
  while (int(operands.size()) < operandCount) {
    ArrayRef<int64_t> shape = tensorTypeOf(operands.front()).getShape();
    Value operand = pick([&](RankedTensorType type) {
      return (ofBools ? isBool(type) : type.getElementType().isF64()) &&
             succeeded(broadcastShapes({shape, type.getShape()}));
    });
    if (!ofBools && (!operand || random().chance(0.4))) {
      const bool positive = random().chance(0.5);
      operand = addVariable(broadcastableShape(random(), shape), positive ? 0.4 : -1.5,
                            positive ? 2 : 1.5);
    }
    if (!operand)
      return false;
    operands.push_back(operand);
  }
  OperationState state(loc(), name);
  state.addOperands(operands);
  for (StringAttr attribute : name.getAttributeNames()) {
    if (attribute == "kind" && ofBools) { // of integers: the bits
      state.addAttribute(
          attribute, IntegerKindAttr::get(builder.getContext(), IntegerKind(random().below(3))));
      continue;
    }
    if (attribute == "every_step") // a unit, which results of a step do not ask about
      continue;
    if (attribute != "predicate")
      return false;
    state.addAttribute(attribute, ComparePredicateAttr::get(builder.getContext(),
                                                            ComparePredicate(random().below(6))));
  }
  ScopedDiagnosticHandler quiet(builder.getContext(), [](Diagnostic &) { return success(); });
  auto *types = name.getInterface<InferTypeOpInterface>();
  if (failed(types->inferReturnTypes(builder.getContext(), loc(), operands,
                                     state.attributes.getDictionary(builder.getContext()),
                                     state.getRawProperties(), state.regions, state.types)))
    return false;
  return accept(builder.create(state));
}

bool Scope::addOp(RegisteredOperationName name) {
  auto maker = opMakers().find(name.getStringRef());
  return maker != opMakers().end() ? maker->second(*this) : addElementwise(name);
}

// ---- Graph
// ----------------------------------------------------------------------------------------

Value RandomGraph::addArgument(const std::string &name, Type element, ArrayRef<int64_t> shape,
                               bool isVariable, double low, double high) {
  OpBuilder b(function.getContext());
  auto type = RankedTensorType::get(shape, element);
  SmallVector<int64_t> actual(shape);
  for (int64_t &extent : actual)
    extent = ShapedType::isDynamic(extent) ? kBatch : extent;
  GraphArgument argument{name, isVariable, {}};
  startReference(argument.tensor, element, actual);
  for (double &x : argument.tensor.floats)
    x = random.real(low, high);
  for (int64_t &x : argument.tensor.integers)
    x = random.between(int64_t(low), int64_t(high));
  DictionaryAttr attributes;
  if (isVariable) {
    OpBuilder atTop = OpBuilder::atBlockBegin(module->getBody());
    VariableOp::create(atTop, b.getUnknownLoc(), name, type, VariableRole::Trainable);
    attributes = b.getDictionaryAttr(
        b.getNamedAttr(MpcDialect::kVariableAttr, FlatSymbolRefAttr::get(b.getContext(), name)));
  } else {
    attributes = b.getDictionaryAttr(b.getNamedAttr(MpcDialect::kInputAttr, b.getStringAttr(name)));
  }
  const unsigned index = function.getNumArguments();
  (void)function.insertArgument(index, type, attributes, b.getUnknownLoc());
  values[function.getArgument(index)] = argument.tensor;
  arguments.push_back(std::move(argument));
  return function.getArgument(index);
}

RandomGraph::RandomGraph(MLIRContext &context, uint64_t seed, unsigned opLimit) : random(seed) {
  OpBuilder b(&context);
  module = ModuleOp::create(b.getUnknownLoc());
  function = func::FuncOp::create(b.getUnknownLoc(), "forward", b.getFunctionType({}, {}));
  module->push_back(function);
  b.setInsertionPointToEnd(function.addEntryBlock());
  Scope scope(*this, b);

  const int64_t m = random.between(2, 4), n = random.between(2, 4), any = ShapedType::kDynamic;
  const SmallVector<int64_t> shapes[] = {{any, n},    {any, m, n},    {any, m, m, n},
                                         {any, 7, n}, {any, 5, 4, 2}, {any}};
  auto addInput = [&](Type element, ArrayRef<int64_t> shape, double low, double high) {
    Value input = addArgument("x" + std::to_string(arguments.size()), element, shape,
                              /*isVariable=*/false, low, high);
    scope.pool.push_back(input);
  };
  addInput(b.getF64Type(), shapes[random.below(5)], -1.5, 1.5);
  addInput(b.getF64Type(), shapes[random.below(6)], 0.3, 2);
  if (random.chance(0.5))
    addInput(b.getI32Type(), {any, random.between(1, 3)}, -3, 2);
  scope.pool.push_back(scope.addVariable({n}));

  std::vector<RegisteredOperationName> ops = differentiableOps(context);
  const unsigned wanted = unsigned(random.between(3, 10)), most = std::min(14u, opLimit);
  // One op has its turn in this graph, so that the rare ones occur too; what it needs may have to
  // be made first.
  RegisteredOperationName turn = ops[seed % ops.size()];
  bool hadTurn = false;
  auto isComplete = [&](int tries) {
    return opCount >= most || tries >= 600 || (opCount >= wanted && (hadTurn || tries >= 200));
  };
  for (int tries = 0; !isComplete(tries); ++tries)
    if (!hadTurn && opCount > 0 && tries % 2 == 0)
      hadTurn = scope.addOp(turn);
    else
      scope.addOp(ops[random.below(int64_t(ops.size()))]);
  finish(scope, /*lastOnly=*/opLimit != ~0u);
}

/// output[sample] = sum of s^2 + s over the elements of everything that nothing reads (of the last
/// op's results): cotangents differ from element to element.
void RandomGraph::finish(Scope &scope, bool lastOnly) {
  OpBuilder &b = scope.builder;
  Location l = scope.loc();
  SmallVector<Value> ends{function.getArgument(0)};
  for (Value value : scope.pool) {
    const bool isEnd = lastOnly ? last && value.getDefiningOp() == last
                                : value.use_empty() && !isa<BlockArgument>(value);
    if (isEnd && elementTypeOf(value).isF64())
      ends.push_back(value);
  }
  Value total;
  for (Value end : ends) {
    Value varying = AddOp::create(b, l, MultiplyOp::create(b, l, end, end), end);
    SmallVector<int64_t> axes;
    for (int64_t d = 0; d < tensorTypeOf(end).getRank(); ++d)
      if (!tensorTypeOf(end).isDynamicDim(d))
        axes.push_back(d);
    if (!axes.empty())
      varying = ReduceOp::create(b, l, ReduceKind::Sum, varying, axes, /*keep_dims=*/false);
    total = total ? Value(AddOp::create(b, l, total, varying)) : varying;
  }
  func::ReturnOp::create(b, l, total);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
    if (isOpTriviallyDead(&op))
      op.erase();
  llvm::BitVector unused(function.getNumArguments());
  std::vector<GraphArgument> used;
  for (BlockArgument argument : function.getArguments()) {
    GraphArgument &own = arguments[argument.getArgNumber()];
    if (!argument.use_empty()) {
      used.push_back(std::move(own));
      continue;
    }
    unused.set(argument.getArgNumber());
    if (own.isVariable)
      module->lookupSymbol(own.name)->erase();
  }
  (void)function.eraseArguments(unused);
  arguments = std::move(used);
  values.clear();
  function.setFunctionType(b.getFunctionType(function.getArgumentTypes(), total.getType()));
  function.setResultAttr(0, MpcDialect::kOutputAttr, b.getStringAttr("out0"));
}
