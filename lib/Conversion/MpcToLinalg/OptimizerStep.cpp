// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The optimizer step of one variable as one pass over memory: unscale, update, predicate and shadow
// copies in a single linalg.generic whose destinations are the variable and its slots.
#include "dialects/mpc/IR/Mpc.h"
#include "lib/Conversion/MpcToLinalg/Generic.h"
#include "lib/Conversion/MpcToLinalg/Patterns.h"
#include "lib/Conversion/MpcToLinalg/Scalar.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mpc;

namespace {
/// A rule's update as mpc ops in a block of its own, divided into what is one number per step and
/// what is computed per element.
class Update {
public:
  /// Runs the rule on placeholders of the variable's shape in `element`.
  Update(OptimizerStepOp op, Type element) {
    auto rule = cast<OptimizerRuleAttrInterface>(op.getRule());
    Type scalar = RankedTensorType::get({}, element);
    Type whole = tensorTypeOf(op.getVariable()).clone(element);
    auto addArguments = [&](TypeRange types) {
      for (Type type : types)
        block.addArgument(getElementTypeOrSelf(type) == element
                              ? type
                              : Type(cast<RankedTensorType>(type).clone(element)),
                          op.getLoc());
    };
    addArguments({whole, whole});
    const unsigned firstSlot = op.getPowers() ? 3 : 2;
    if (op.getPowers())
      addArguments(whole);
    addArguments(op.getSlots().getTypes());
    // Behind them: `start` if there is one, the shared scalars, the rate and the iteration.
    Value start = op.getStart() ? block.addArgument(op.getStart().getType(), op.getLoc()) : Value();
    SmallVector<Type> scalarTypes(op.getShared().size() + 2, scalar);
    addArguments(scalarTypes);
    scalars = scalarTypes.size() + (start ? 1 : 0);
    for (BlockArgument argument : block.getArguments().drop_back(scalars))
      perElement.insert(argument);
    OpBuilder builder(op.getContext());
    builder.setInsertionPointToEnd(&block);
    ValueRange arguments = block.getArguments();
    Value variable = arguments[0], rate = arguments[arguments.size() - 2];
    slots =
        startSlots(builder, op, variable, arguments.slice(firstSlot, op.getSlots().size()), start);
    if (FloatAttr decay = op.getWeightDecayAttr())
      variable = decayWeight(builder, op.getLoc(), variable, decay, rate);
    results = rule.buildUpdate(
        builder, op.getLoc(), variable, arguments[1], op.getPowers() ? arguments[2] : Value(),
        slots, arguments.drop_back(2).take_back(op.getShared().size()), rate, arguments.back());
    for (Operation &operation : block)
      if (llvm::any_of(operation.getOperands(), [&](Value v) { return perElement.contains(v); }))
        perElement.insert_range(operation.getResults());
  }

  /// Whether every op on elements has scalar code: no reduction, no contraction.
  bool isElementwise() {
    return llvm::all_of(block, [&](Operation &op) {
      return !perElement.contains(op.getResult(0)) || isa<ElementwiseOpInterface>(op);
    });
  }

  /// Clones what is the same for every element to where `rewriter` stands, for the values of
  /// `start`, the shared scalars, the learning rate and the iteration. `inputs` then holds the
  /// numbers that the elements need.
  void hoist(ConversionPatternRewriter &rewriter, ValueRange values) {
    outside.map(ValueRange(block.getArguments().take_back(scalars)), values);
    for (Operation &op : block) {
      if (!perElement.contains(op.getResult(0))) {
        rewriter.clone(op, outside);
        continue;
      }
      for (Value operand : op.getOperands())
        if (!perElement.contains(operand) && !splatOf(operand))
          inputs.insert(operand);
    }
  }

  SmallVector<Value> inputValues() {
    return llvm::map_to_vector(inputs, [&](Value v) { return outside.lookup(v); });
  }

  /// New variable and slots for one element: scalars of the variable, the gradient, the powers if
  /// there are any, and the slots, then of `inputs`. `kept` becomes the slots as the rule took
  /// them.
  SmallVector<Value> buildElement(OpBuilder &builder, Location loc, ValueRange state,
                                  ValueRange numbers, SmallVectorImpl<Value> &kept) {
    IRMapping mapping;
    mapping.map(ValueRange(block.getArguments().drop_back(scalars)), state);
    for (auto [input, number] : llvm::zip_equal(inputs, numbers))
      mapping.map(input, number);
    auto scalarFor = [&](Value v) {
      if (Value mapped = mapping.lookupOrNull(v))
        return mapped;
      return scalarOf(builder, loc, splatOf(v));
    };
    for (Operation &op : block) {
      if (!perElement.contains(op.getResult(0)))
        continue;
      SmallVector<Value> operands = llvm::map_to_vector(op.getOperands(), scalarFor);
      mapping.map(op.getResult(0),
                  cast<ElementwiseOpInterface>(&op).buildScalar(builder, operands));
    }
    llvm::append_range(kept, llvm::map_range(slots, scalarFor));
    return llvm::map_to_vector(results, scalarFor);
  }

private:
  Block block;
  size_t scalars = 0; // the last arguments of `block`
  llvm::SetVector<Value> perElement, inputs;
  IRMapping outside;
  SmallVector<Value> slots, results;
};

struct LowerOptimizerStep : OpConversionPattern<OptimizerStepOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(OptimizerStepOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type wide = widerOf32(elementTypeOf(op.getVariable()));
    auto scalarType = RankedTensorType::get({}, wide);
    auto asWide = [&](Value scalar) -> Value {
      return scalar.getType() == scalarType
                 ? scalar
                 : CastOp::create(rewriter, loc, scalarType, scalar).getResult();
    };
    Update update(op, wide);
    if (!update.isElementwise()) {
      // Norms and products first; fusion makes one pass of the elementwise rest.
      rewriter.replaceOp(op, expandOptimizerStep(rewriter, op));
      return success();
    }
    SmallVector<Value> numbers;
    if (adaptor.getStart())
      numbers.push_back(adaptor.getStart());
    llvm::append_range(numbers, llvm::map_range(adaptor.getShared(), asWide));
    numbers.append({asWide(adaptor.getLearningRate()), asWide(adaptor.getIteration())});
    update.hoist(rewriter, numbers);

    SmallVector<Value> inputs{adaptor.getGradient()};
    if (adaptor.getPowers())
      inputs.push_back(adaptor.getPowers());
    const size_t unscale = inputs.size();
    if (adaptor.getUnscale())
      inputs.push_back(asWide(adaptor.getUnscale()));
    if (adaptor.getPredicate())
      inputs.push_back(adaptor.getPredicate());
    size_t first = inputs.size();
    llvm::append_range(inputs, update.inputValues());

    SmallVector<Value> destinations{adaptor.getVariable()};
    llvm::append_range(destinations, adaptor.getSlots());
    size_t states = destinations.size();
    for (Value shadow : op.getResults().drop_front(states))
      destinations.push_back(emptyFrom(rewriter, loc, tensorTypeOf(shadow), adaptor.getVariable()));

    rewriter.replaceOp(
        op, buildElementwise(
                rewriter, loc, inputs, destinations,
                [&](OpBuilder &b, Location l, ValueRange scalars, ValueRange old) {
                  auto toWide = [&](Value v) { return castScalar(b, l, v, v.getType(), wide); };
                  Value gradient = toWide(scalars[0]);
                  if (adaptor.getUnscale())
                    gradient = arith::DivFOp::create(b, l, gradient, scalars[unscale]);
                  SmallVector<Value> state{toWide(old[0]), gradient};
                  if (adaptor.getPowers())
                    state.push_back(toWide(scalars[1]));
                  for (Value slot : old.slice(1, states - 1))
                    state.push_back(toWide(slot));
                  SmallVector<Value> kept;
                  SmallVector<Value> next =
                      update.buildElement(b, l, state, scalars.drop_front(first), kept);
                  for (auto [i, value] : llvm::enumerate(next)) {
                    Value previous = old[i];
                    value = roundTo(b, l, value, previous.getType());
                    if (!adaptor.getPredicate())
                      continue;
                    if (i > 0 && adaptor.getStart()) // the start holds whether this updates or not
                      previous = roundTo(b, l, kept[i - 1], previous.getType());
                    value = arith::SelectOp::create(b, l, scalars[first - 1], value, previous);
                  }
                  for (Value shadow : old.drop_front(states))
                    next.push_back(castScalar(b, l, next[0], next[0].getType(), shadow.getType()));
                  return next;
                }));
    return success();
  }
};
} // namespace

void mpc::populateOptimizerStepPatterns(const TypeConverter &converter,
                                        RewritePatternSet &patterns) {
  patterns.add<LowerOptimizerStep>(converter, patterns.getContext());
}
