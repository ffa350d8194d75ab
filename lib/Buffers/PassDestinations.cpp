// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Entries on tensors become entries that write into their arguments.
//
// Why every update goes through the tensor of its variable: one-shot bufferize sees conflicts
// between tensors, not between memrefs. An update computed into the variable's own tensor (`outs`)
// that would destroy a value still read is put elsewhere by its analysis; the copy at the end then
// brings it home. A store into the memref behind its back could not be repaired.
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Buffers/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace mpc {
#define GEN_PASS_DEF_PASSDESTINATIONS
#include "mpc/Buffers/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// Whether the result may be a part of operand 0's memory, as bufferization says, and the op writes
/// none. Whether it reads does not matter: a collapse_shape, which sometimes copies, is a reader.
static bool isView(Operation *op) {
  using namespace bufferization;
  auto bufferizable = dyn_cast<BufferizableOpInterface>(op);
  if (!bufferizable || op->getNumResults() != 1 || op->getNumOperands() == 0 ||
      !isa<TensorType>(op->getOperand(0).getType()))
    return false;
  static const BufferizationOptions options;
  const AnalysisState state(options);
  OpOperand &source = op->getOpOperand(0);
  return bufferizable.getAliasingValues(source, state).getNumAliases() != 0 &&
         !bufferizable.bufferizesToMemoryWrite(source, state);
}

/// The value that `value` is a view of.
static Value stripViews(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isView(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Whether `value` or a view of it is read behind `op` in `op`'s block, or by `op` in another way
/// than element by element at the indices that it writes.
static bool isReadAtOrAfter(Value value, Operation *op) {
  SmallVector<Value> aliases{value};
  for (size_t i = 0; i < aliases.size(); ++i)
    for (OpOperand &use : aliases[i].getUses()) {
      Operation *user = use.getOwner();
      if (isView(user))
        aliases.push_back(user->getResult(0));
      Operation *ancestor = op->getBlock()->findAncestorOpInBlock(*user);
      if (!ancestor || op->isBeforeInBlock(ancestor))
        return true;
      if (ancestor != op)
        continue;
      auto generic = dyn_cast<linalg::GenericOp>(op);
      if (!generic || aliases[i] != value || generic.getNumReductionLoops() != 0 ||
          !generic.getMatchingIndexingMap(&use).isIdentity())
        return true;
    }
  return false;
}

/// In loops: what is computed into a fresh tensor and then copied into the tensor that carries it
/// is computed there, where nothing reads the old value any more.
static void produceInPlace(func::FuncOp function) {
  SmallVector<linalg::CopyOp> copies;
  function.walk([&](linalg::CopyOp copy) {
    if (isa<scf::ForOp>(copy->getParentOp()) && copy->hasOneUse() &&
        isa<scf::YieldOp>(*copy->user_begin()))
      copies.push_back(copy);
  });
  for (linalg::CopyOp copy : copies) {
    Value carrier = copy.getOutputs()[0], value = copy.getInputs()[0];
    auto producer = value.getDefiningOp<DestinationStyleOpInterface>();
    auto argument = dyn_cast<BlockArgument>(carrier);
    if (!producer || !argument || argument.getOwner() != copy->getBlock() ||
        producer->getBlock() != copy->getBlock() || value.getType() != carrier.getType())
      continue;
    OpOperand *init = producer.getTiedOpOperand(cast<OpResult>(value));
    auto generic = dyn_cast<linalg::GenericOp>(producer.getOperation());
    if (!init->get().getDefiningOp<tensor::EmptyOp>() ||
        (generic && !generic.getMatchingIndexingMap(init).isIdentity()))
      continue;
    // The copy itself is no reader.
    Value before = copy.getOutputs()[0];
    copy.getOutputsMutable().assign(value);
    const bool isRead = isReadAtOrAfter(carrier, producer);
    copy.getOutputsMutable().assign(before);
    if (isRead)
      continue;
    init->set(carrier);
    copy.getResult(0).replaceAllUsesWith(value);
    copy.erase();
  }
}

namespace {
class Entry {
public:
  explicit Entry(func::FuncOp function)
      : function(function), block(function.getBody().front()),
        builder(OpBuilder::atBlockBegin(&block)) {}

  LogicalResult run();

private:
  /// A result of the entry, and the buffer that it goes to.
  struct Result {
    Value value, buffer;
    bool isOutput;
  };

  LogicalResult check();
  LogicalResult passArgumentsInBuffers();
  void addResults();
  void produceResults();
  void saveOldValues();
  void storeResults();
  void addBatch();
  void setSignature();
  Value addArgument(Type tensor, DictionaryAttr attributes);
  Value toTensor(Value buffer, bool writable);
  void produceInto(Value result, Value destination, unsigned resultIndex);

  func::FuncOp function;
  Block &block;
  OpBuilder builder;
  SmallVector<Result> results;
  SmallVector<DictionaryAttr> argumentAttributes;
  DenseSet<Attribute> updated;          // symbols of the variables that results renew
  DenseMap<Attribute, Value> variables; // symbol to buffer
  DenseMap<Value, Value> tensorOf;      // buffer to tensor
};
} // namespace

LogicalResult Entry::check() {
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitOpError("an entry must be one block");
  for (BlockArgument argument : block.getArguments()) {
    if (!isa<RankedTensorType>(argument.getType()))
      return function.emitOpError() << "argument " << argument.getArgNumber()
                                    << " must be a tensor, but is " << argument.getType();
    unsigned index = argument.getArgNumber();
    if (!function.getArgAttr(index, MpcDialect::kInputAttr) &&
        !function.getArgAttr(index, MpcDialect::kTargetAttr) &&
        !function.getArgAttr(index, MpcDialect::kVariableAttr))
      return function.emitOpError() << "argument " << index << " is no input, target or variable";
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    if (!isa<RankedTensorType>(function.getResultTypes()[i]))
      return function.emitOpError() << "result " << i << " must be a tensor";
    Attribute updates = function.getResultAttr(i, MpcDialect::kUpdatesAttr);
    if (!updates && !function.getResultAttr(i, MpcDialect::kOutputAttr))
      return function.emitOpError() << "result " << i << " is no output and updates no variable";
    if (updates && !updated.insert(updates).second)
      return function.emitOpError() << "updates " << updates << " twice";
  }
  return success();
}

Value Entry::addArgument(Type tensor, DictionaryAttr attributes) {
  auto shaped = cast<RankedTensorType>(tensor);
  argumentAttributes.push_back(attributes);
  return block.addArgument(MemRefType::get(shaped.getShape(), shaped.getElementType()),
                           function.getLoc());
}

Value Entry::toTensor(Value buffer, bool writable) {
  auto type = cast<MemRefType>(buffer.getType());
  return bufferization::ToTensorOp::create(
      builder, function.getLoc(), RankedTensorType::get(type.getShape(), type.getElementType()),
      buffer,
      /*restrict=*/true, writable);
}

/// When `result` is computed into a fresh tensor, computes it into `destination` instead.
void Entry::produceInto(Value result, Value destination, unsigned) {
  // A loop builds its stacks in the tensors that it starts from.
  if (auto loop = result.getDefiningOp<scf::ForOp>(); loop && loop->getBlock() == &block) {
    OpOperand *init = loop.getTiedLoopInit(cast<OpResult>(result));
    if (init->get().getDefiningOp<tensor::EmptyOp>() &&
        init->get().getType() == destination.getType())
      init->set(destination);
    return;
  }
  auto op = result.getDefiningOp<DestinationStyleOpInterface>();
  if (!op || op->getBlock() != &block)
    return;
  OpOperand *init = op.getTiedOpOperand(cast<OpResult>(result));
  if (init->get().getDefiningOp<tensor::EmptyOp>() &&
      init->get().getType() == destination.getType()) {
    init->set(destination);
    return;
  }
  // An accumulation starts from a fill or copy that alone is produced into an empty tensor.
  if (auto start = init->get().getDefiningOp<DestinationStyleOpInterface>())
    if (init->get().hasOneUse())
      produceInto(init->get(), destination, 0);
}

/// Old arguments become buffers.
LogicalResult Entry::passArgumentsInBuffers() {
  for (unsigned i = 0, count = block.getNumArguments(); i < count; ++i) {
    BlockArgument argument = block.getArgument(i);
    auto type = cast<RankedTensorType>(argument.getType());
    argumentAttributes.push_back(function.getArgAttrDict(i) ? function.getArgAttrDict(i)
                                                            : builder.getDictionaryAttr({}));
    Attribute variable = function.getArgAttr(i, MpcDialect::kVariableAttr);
    argument.setType(MemRefType::get(type.getShape(), type.getElementType()));
    if (variable && variables.count(variable)) // named twice: the first argument stands for both
      return function.emitOpError() << "takes " << variable << " twice";
    // Other entries see variables that this one computes with and does not update.
    Value tensor = toTensor(argument, /*writable=*/variable && updated.contains(variable));
    argument.replaceAllUsesExcept(tensor, tensor.getDefiningOp());
    tensorOf[argument] = tensor;
    if (variable)
      variables[variable] = argument;
  }
  return success();
}

/// Outputs, and variables that are only written, become further arguments.
void Entry::addResults() {
  for (auto [index, value] : llvm::enumerate(block.getTerminator()->getOperands())) {
    Type type = value.getType();
    if (Attribute updates = function.getResultAttr(index, MpcDialect::kUpdatesAttr)) {
      Value &buffer = variables[updates];
      if (!buffer)
        buffer = addArgument(type, builder.getDictionaryAttr(
                                       builder.getNamedAttr(MpcDialect::kVariableAttr, updates)));
      results.push_back({value, buffer, false});
    }
    if (Attribute name = function.getResultAttr(index, MpcDialect::kOutputAttr)) {
      SmallVector<NamedAttribute> attributes{
          builder.getNamedAttr(mpcrt::MpcrtDialect::kOutputAttr, name)};
      for (StringRef kept :
           {StringRef(MpcDialect::kElementTypeAttr), StringRef(MpcDialect::kFormAttr)})
        if (Attribute said = function.getResultAttr(index, kept))
          attributes.push_back(builder.getNamedAttr(kept, said));
      Value buffer = addArgument(type, builder.getDictionaryAttr(attributes));
      results.push_back({value, buffer, true});
    }
  }
  for (Result &result : results)
    if (!tensorOf.count(result.buffer))
      tensorOf[result.buffer] = toTensor(result.buffer, /*writable=*/true);
}

/// Updates first: a value that is both an output and an update is computed in the variable.
void Entry::produceResults() {
  DenseSet<Value> destined;
  for (bool outputs : {false, true})
    for (auto [index, result] : llvm::enumerate(results))
      if (result.isOutput == outputs && destined.insert(result.value).second)
        produceInto(result.value, tensorOf[result.buffer], index);
}

/// A result that is another argument's old value must not be copied home after that argument was:
/// it gets a buffer of its own.
void Entry::saveOldValues() {
  for (Result &result : results) {
    Value origin = stripViews(result.value);
    auto read = origin.getDefiningOp<bufferization::ToTensorOp>();
    if (result.isOutput || !read || origin == tensorOf[result.buffer])
      continue;
    auto type = cast<RankedTensorType>(result.value.getType());
    SmallVector<Value> extents;
    if (type.getRank() > 0 && type.isDynamicDim(0))
      extents.push_back(tensor::DimOp::create(builder, function.getLoc(), result.value, 0));
    Value empty = tensor::EmptyOp::create(builder, function.getLoc(), type, extents);
    result.value =
        linalg::CopyOp::create(builder, function.getLoc(), result.value, empty).getResult(0);
  }
}

/// Outputs leave before variables change.
void Entry::storeResults() {
  for (bool outputs : {true, false})
    for (Result &result : results)
      if (result.isOutput == outputs)
        bufferization::MaterializeInDestinationOp::create(builder, function.getLoc(), Type(),
                                                          result.value, result.buffer,
                                                          /*restrict=*/false, /*writable=*/true);
  block.getTerminator()->setOperands({});
}

/// Leading extents of arguments are the batch, an argument of its own.
void Entry::addBatch() {
  Value batch = block.addArgument(builder.getIndexType(), function.getLoc());
  argumentAttributes.push_back(builder.getDictionaryAttr(
      builder.getNamedAttr(mpcrt::MpcrtDialect::kBatchAttr, builder.getUnitAttr())));
  function.walk([&](tensor::DimOp dim) {
    auto read = dim.getSource().getDefiningOp<bufferization::ToTensorOp>();
    if (read && isa<BlockArgument>(read.getBuffer()) && dim.getConstantIndex() == 0 &&
        cast<RankedTensorType>(dim.getSource().getType()).isDynamicDim(0)) {
      dim.replaceAllUsesWith(batch);
      dim.erase();
    }
  });
}

void Entry::setSignature() {
  function.setType(builder.getFunctionType(block.getArgumentTypes(), {}));
  function->removeAttr(function.getResAttrsAttrName());
  function.setAllArgAttrs(argumentAttributes);
}

LogicalResult Entry::run() {
  if (failed(check()))
    return failure();
  produceInPlace(function);
  if (failed(passArgumentsInBuffers()))
    return failure();
  addResults();
  produceResults();
  builder.setInsertionPoint(block.getTerminator());
  saveOldValues();
  storeResults();
  addBatch();
  setSignature();
  return success();
}

namespace {
struct PassDestinationsPass : mpc::impl::PassDestinationsBase<PassDestinationsPass> {
  void runOnModule() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (isEntry(function) && getBatchlessEntry(function))
        if (failed(Entry(function).run()))
          signalPassFailure();
  }

private:
  /// Entries that were converted already have a batch argument.
  static bool getBatchlessEntry(func::FuncOp function) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (function.getArgAttr(i, mpcrt::MpcrtDialect::kBatchAttr))
        return false;
    return true;
  }
};
} // namespace
