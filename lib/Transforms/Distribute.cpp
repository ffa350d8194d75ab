// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mpc-distribute: each rank of a job has samples of its own; what sums over the batch sums over the
// ranks, too. The batch is the open extent, so an op says by its types where it ends.
#include "mlir/IR/Remarks.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Analysis/LayerPath.h"
#include "mpc/Transforms/Passes.h"

using namespace mlir;
using namespace mpc;

namespace mpc {
#define GEN_PASS_DEF_DISTRIBUTE
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

static bool hasBatch(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped && !shaped.hasStaticShape();
}

/// Whether the op ends the batch: it takes samples, and some result is one for all of them.
static bool endsBatch(Operation *op) {
  return op->getNumResults() != 0 && llvm::any_of(op->getOperandTypes(), hasBatch) &&
         !llvm::all_of(op->getResultTypes(), hasBatch);
}

static LogicalResult refuse(Operation *op) {
  InFlightDiagnostic error = op->emitError();
  error << op->getName() << " computes one value of all samples of a batch in a way that ranks "
        << "cannot share";
  if (StringRef layer = layerPathOf(op->getLoc()); !layer.empty())
    error << " (layer " << layer << ")";
  error << "; compile without --distributed";
  return failure();
}

namespace {
class DistributePass : public mpc::impl::DistributeBase<DistributePass> {
public:
  using DistributeBase::DistributeBase;

  void runOnModule() override {
    if (gradientDtype != "float32" && gradientDtype != "bfloat16") {
      getOperation().emitError() << "gradient-dtype is " << gradientDtype
                                 << "; expected float32 or bfloat16";
      return signalPassFailure();
    }
    SmallVector<std::pair<std::optional<EntryRole>, int64_t>> narrowed;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!function->hasAttr(MpcDialect::kEntryAttr))
        continue;
      if (failed(distribute(function)))
        return signalPassFailure();
      if (gradientDtype == "bfloat16")
        narrowed.emplace_back(entryRoleOf(function), narrowGradients(function));
    }
    if (gradientDtype == "bfloat16" && failed(checkNarrowed(narrowed)))
      signalPassFailure();
  }

private:
  LogicalResult distribute(func::FuncOp entry) {
    if (isDistributed(entry))
      return success();
    // Ops that are built below are not looked at again.
    SmallVector<Operation *> ends;
    SmallVector<OpOperand *> states;
    WalkResult walked = entry.walk([&](Operation *op) {
      auto batch = dyn_cast<BatchOpInterface>(op);
      const bool isInLoop = op->getParentOp() != entry;
      if ((batch && batch.mixesSamples()) || (isInLoop && endsBatch(op))) {
        (void)refuse(op);
        return WalkResult::interrupt();
      }
      if (OpOperand *state = batch ? batch.getStateOfSamples() : nullptr)
        states.push_back(state);
      if (!isa<func::ReturnOp, YieldOp>(op) && endsBatch(op))
        ends.push_back(op);
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return failure();
    if (failed(numberSamples(entry, states)))
      return failure();
    for (Operation *op : ends)
      if (failed(reduceOverRanks(op)))
        return failure();
    markSums(entry);
    if (!ends.empty())
      remark::passed(entry.getLoc(), remark::RemarkOpts::name("distributed")
                                         .category("mpc-distribute")
                                         .function(entry.getName()))
          << (llvm::Twine(ends.size()) + " values of all samples are reduced over ranks").str();
    return success();
  }

  /// Marks the sums that go element by element into updates of variables that ranks share.
  void markSums(func::FuncOp entry) {
    const bool shares = llvm::any_of(getOperation().getOps<VariableOp>(),
                                     [](VariableOp variable) { return variable.getSharded(); });
    // In parts of a batch the gradients of the first part alone are read.
    const bool isBackward = entryRoleOf(entry) == EntryRole::TrainBackward;
    bool marks = false;
    if (shares || isBackward)
      entry.walk([&](AllReduceOp op) {
        if (op.getKind() != ReduceKind::Sum || !goesByElements(op.getResult(), isBackward))
          return;
        op.setByElements(true);
        marks = true;
      });
    // Each rank then tests what it updates.
    if (marks)
      entry.walk([&](AllFiniteOp op) {
        if (llvm::any_of(op.getInputs(), comesOfSum))
          testOverRanks(op, op.getInputs(), /*others=*/{}, /*always=*/true);
      });
  }

  /// Sums that gradients alone come of go between ranks in 16 bits. Returns the bytes that they
  /// have in float32.
  static int64_t narrowGradients(func::FuncOp entry) {
    int64_t sums = 0, bytes = 0;
    entry.walk([&](AllReduceOp op) {
      auto type = tensorTypeOf(op.getResult());
      if (op.getKind() != ReduceKind::Sum || op.getBefore() || !type.getElementType().isF32() ||
          !isGradient(op.getResult()))
        return;
      op.setInBfloat16(true);
      ++sums;
      bytes += type.getNumElements() * 4;
    });
    if (sums != 0)
      remark::passed(entry.getLoc(), remark::RemarkOpts::name("gradient-dtype")
                                         .category("mpc-distribute")
                                         .function(entry.getName()))
          << (llvm::Twine(sums) + " gradients of " + llvm::Twine(bytes) +
              " bytes go between ranks in bfloat16: half of the bytes, and an error of at most "
              "(log2(ranks) + 1) / 256 of the sum of the ranks' magnitudes")
                 .str();
    return bytes;
  }

  /// The training step and the stages of a custom loop compute the same.
  LogicalResult checkNarrowed(ArrayRef<std::pair<std::optional<EntryRole>, int64_t>> bytes) {
    std::optional<int64_t> first;
    for (auto [role, narrowed] : bytes) {
      if (role != EntryRole::TrainStep && role != EntryRole::TrainBackward)
        continue;
      if (first && *first != narrowed)
        return getOperation().emitError()
               << "--gradient-dtype=bfloat16: the training step would round other gradients than "
                  "the stages of the custom loop; add --custom-loop=off";
      first = narrowed;
    }
    if (first.value_or(0) == 0)
      return getOperation().emitError() << "--gradient-dtype=bfloat16: no gradient goes between "
                                           "ranks in float32; leave the option out";
    return success();
  }

  /// Whether this use makes an update of it, or ends its way elsewhere without another one.
  enum class Use { Passes, Ends, IsUpdate, IsOther };
  static Use classify(OpOperand &use, ArrayRef<int64_t> shape) {
    Operation *user = use.getOwner();
    if (auto step = dyn_cast<OptimizerStepOp>(user))
      return &use == &step.getGradientMutable() ? Use::IsUpdate : Use::IsOther;
    if (isa<func::ReturnOp>(user))
      return classifyResult(cast<func::FuncOp>(user->getParentOp()), use.getOperandNumber());
    // Norms, by which gradients are clipped, are of what arrived.
    if (isa<AllFiniteOp>(user) || (isa<ReduceOp, ContractOp>(user) && !hasBatchAround(user)))
      return Use::Ends;
    const bool isSameShape = isa<ElementwiseOpInterface, CastOp>(user) &&
                             tensorTypeOf(user->getResult(0)).getShape() == shape;
    return (isSameShape || user->hasTrait<MovesElements>()) && user->getNumResults() == 1
               ? Use::Passes
               : Use::IsOther;
  }

  static bool hasBatchAround(Operation *op) {
    return llvm::any_of(op->getOperandTypes(), hasBatch) ||
           llvm::any_of(op->getResultTypes(), hasBatch);
  }

  static Use classifyResult(func::FuncOp entry, unsigned index) {
    if (auto name = entry.getResultAttrOfType<StringAttr>(index, MpcDialect::kOutputAttr)) {
      const bool isOne = name.getValue().starts_with("grad:") ||
                         name.getValue().starts_with("part:"); // for a later stage
      return isOne ? Use::IsUpdate : Use::IsOther;
    }
    // An accumulator of gradients, which belongs to the optimizer.
    auto symbol = entry.getResultAttrOfType<FlatSymbolRefAttr>(index, MpcDialect::kUpdatesAttr);
    auto variable =
        symbol ? SymbolTable::lookupNearestSymbolFrom<VariableOp>(entry, symbol) : VariableOp();
    return variable && variable.getRole() == VariableRole::Optimizer ? Use::Ends : Use::IsOther;
  }

  /// Whether the value holds the numbers of a gradient, and nothing but updates, and what goes with
  /// them, comes of it.
  static bool isGradient(Value value) {
    llvm::SetVector<Value> values;
    values.insert(value);
    bool isUpdate = false;
    for (size_t i = 0; i != values.size(); ++i)
      for (OpOperand &use : values[i].getUses())
        switch (classify(use, tensorTypeOf(values[i]).getShape())) {
        case Use::Passes:
          values.insert(use.getOwner()->getResult(0));
          break;
        case Use::Ends:
          break;
        case Use::IsUpdate:
          isUpdate = true;
          break;
        case Use::IsOther:
          return false;
        }
    return isUpdate;
  }

  static bool passesElements(Operation *op) {
    return isa<ElementwiseOpInterface, CastOp, VariableGradientOp>(op);
  }

  /// Whether the rule makes an element of its results of the same elements of the variable and all
  /// that belongs to it, says what it builds.
  static bool updatesByElements(OptimizerStepOp step) {
    Block scratch;
    OpBuilder builder(step.getContext());
    builder.setInsertionPointToStart(&scratch);
    (void)expandOptimizerStep(builder, step);
    return llvm::all_of(scratch, [](Operation &op) {
      return passesElements(&op) || op.hasTrait<OpTrait::ConstantLike>() ||
             isa<BroadcastLikeOp>(op);
    });
  }

  /// Whether an update, a test whether numbers are finite, or with `toResults` a result of the
  /// entry is all that comes of the value, and is made of it element by element.
  static bool goesByElements(Value value, bool toResults) {
    llvm::SetVector<Value> values;
    values.insert(value);
    bool isUsed = false;
    for (size_t i = 0; i != values.size(); ++i)
      for (OpOperand &use : values[i].getUses()) {
        Operation *user = use.getOwner();
        isUsed = true;
        if (isa<AllFiniteOp>(user) || (toResults && isa<func::ReturnOp>(user)))
          continue;
        if (auto step = dyn_cast<OptimizerStepOp>(user); step && updatesByElements(step))
          continue;
        const bool goesOn =
            passesElements(user) && user->getNumResults() == 1 &&
            tensorTypeOf(user->getResult(0)).getShape() == tensorTypeOf(value).getShape();
        if (!goesOn)
          return false;
        values.insert(user->getResult(0));
      }
    return isUsed;
  }

  /// Whether the value is made of a marked sum, element by element.
  static bool comesOfSum(Value value) {
    llvm::SetVector<Value> values;
    values.insert(value);
    for (size_t i = 0; i != values.size(); ++i) {
      Operation *op = values[i].getDefiningOp();
      if (auto sum = dyn_cast_or_null<AllReduceOp>(op); sum && sum.getByElements())
        return true;
      if (op && passesElements(op))
        values.insert(op->operand_begin(), op->operand_end());
    }
    return false;
  }

  /// Whether a run before this one left its reductions, of which every change has one.
  static bool isDistributed(func::FuncOp entry) {
    return entry.walk([](AllReduceOp) { return WalkResult::interrupt(); }).wasInterrupted();
  }

  /// Random numbers of a sample follow from its number in the batch of all ranks.
  LogicalResult numberSamples(func::FuncOp entry, ArrayRef<OpOperand *> states) {
    llvm::SmallDenseMap<Value, Value> numbered;
    Value first;
    for (OpOperand *state : states) {
      if (tensorTypeOf(state->get()).getDimSize(0) > 2)
        continue; // a run before this one
      if (!first)
        first = buildFirstSample(entry);
      Value here = first ? bringTo(state->getOwner(), first) : Value();
      if (!here)
        return refuse(state->getOwner());
      Value &found = numbered[state->get()];
      if (!found) {
        OpBuilder builder(entry.getContext());
        builder.setInsertionPointAfterValue(state->get());
        if (!state->get().getDefiningOp())
          builder.setInsertionPointAfterValue(here);
        auto type = RankedTensorType::get({3}, builder.getI64Type());
        found = ConcatenateOp::create(builder, state->getOwner()->getLoc(), type,
                                      ValueRange{state->get(), here}, /*axis=*/0);
      }
      state->set(found);
    }
    return success();
  }

  /// `value` of an entry where `op` can read it: a scan has it as a capture. Null in other regions.
  static Value bringTo(Operation *op, Value value) {
    Operation *parent = op->getParentOp();
    if (value.getParentRegion() == op->getParentRegion())
      return value;
    auto scan = dyn_cast<ScanOp>(parent);
    Value outside = scan ? bringTo(scan, value) : Value();
    if (!outside)
      return {};
    for (auto [captured, argument] : llvm::zip_equal(scan.getCaptures(), scan.getCaptured()))
      if (captured == outside)
        return argument;
    scan.getCapturesMutable().append(outside);
    return scan.getBody().addArgument(outside.getType(), op->getLoc());
  }

  /// How many samples the ranks before this one have, as a tensor<1xi64>; null without a batch.
  static Value buildFirstSample(func::FuncOp entry) {
    Block &body = entry.getBody().front();
    auto input = llvm::find_if(body.getArguments(),
                               [](Value argument) { return hasBatch(argument.getType()); });
    if (input == body.args_end())
      return {};
    OpBuilder builder = OpBuilder::atBlockBegin(&body);
    Location loc = entry.getLoc();
    Value line = *input;
    for (int64_t d = 1; d < tensorTypeOf(line).getRank(); ++d)
      line = SliceOp::create(builder, loc, line, d, /*offset=*/0, /*size=*/1);
    auto scalar = RankedTensorType::get({}, builder.getI64Type());
    Value one = ConstantOp::create(builder, loc, DenseElementsAttr::get(scalar, int64_t(1)));
    Value ones = BroadcastLikeOp::create(builder, loc, one, line);
    SmallVector<int64_t> axes =
        llvm::to_vector(llvm::seq<int64_t>(0, tensorTypeOf(line).getRank()));
    Value own = ReduceOp::create(builder, loc, ReduceKind::Sum, ones, axes, /*keep_dims=*/false);
    Value before = AllReduceOp::create(builder, loc, ReduceKind::Sum, own, /*before=*/true);
    return ReshapeOp::create(builder, loc, RankedTensorType::get({1}, builder.getI64Type()),
                             before);
  }

  /// Rows that an optimizer reads one by one are finite where those of all ranks are: in their
  /// place a step's test gets a number that is infinite where some are not.
  static void testRowsOverRanks(AllFiniteOp op) {
    SmallVector<Value> rows, others;
    for (Value input : op.getInputs())
      (hasBatch(input.getType()) ? rows : others).push_back(input);
    testOverRanks(op, rows, others, /*always=*/false);
  }

  /// The test of `own`, which each rank has its own of, and `others`.
  static void testOverRanks(AllFiniteOp op, ValueRange own, SmallVector<Value> others,
                            bool always) {
    OpBuilder builder(op);
    Location loc = op.getLoc();
    Type number = builder.getF32Type();
    Value test = AllFiniteOp::create(builder, loc, op.getType(), own);
    Value truth = CastOp::create(builder, loc, tensorTypeOf(test).clone(number), test);
    Value all = AllReduceOp::create(builder, loc, ReduceKind::Min, truth, /*before=*/false,
                                    /*by_elements=*/false, always);
    Value one = scalarConstant(builder, loc, number, 1);
    others.push_back(DivideOp::create(builder, loc, one, all));
    op.getInputsMutable().assign(others);
  }

  LogicalResult reduceOverRanks(Operation *op) {
    if (auto finite = dyn_cast<AllFiniteOp>(op)) {
      testRowsOverRanks(finite);
      return success();
    }
    auto batch = dyn_cast<BatchOpInterface>(op);
    OpBuilder builder(op);
    SmallVector<Value> results;
    if (!batch || failed(batch.buildOverRanks(builder, results)))
      return refuse(op);
    op->replaceAllUsesWith(results);
    op->erase();
    return success();
  }
};
} // namespace
