// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Field by field in the order of the C structs. Nested pairs and arrays of 64-bit numbers are laid
// out as their elements are.
#include "Descriptors.h"
#include "Emitter.h"
#include "dialects/mpc/IR/Float8.h"
#include "mpc-rt/executable.h"
#include "mpc/Analysis/BatchExtent.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpc;

namespace {
/// A constant struct under construction.
class ConstantStruct {
public:
  ConstantStruct(Operation *op, std::string name)
      : op(op), name(std::move(name)),
        builder(OpBuilder::atBlockBegin(op->getParentOfType<ModuleOp>().getBody())) {}

  void add32(int64_t value) { fields.push_back({builder.getI32Type(), value, {}}); }
  void add64(int64_t value) { fields.push_back({builder.getI64Type(), value, {}}); }
  void add(BatchExtent extent) {
    add64(extent.fixed);
    add64(extent.perSample);
  }
  /// `count` numbers, zeros after those given.
  void add64(ArrayRef<int64_t> values, size_t count) {
    for (size_t i = 0; i < count; ++i)
      add64(i < values.size() ? values[i] : 0);
  }
  void addText(StringRef text) {
    std::string terminated = text.str();
    terminated.push_back('\0');
    auto global = LLVM::GlobalOp::create(
        builder, op->getLoc(), LLVM::LLVMArrayType::get(builder.getI8Type(), terminated.size()),
        true, LLVM::Linkage::Internal, name + "_layer", builder.getStringAttr(terminated));
    fields.push_back({LLVM::LLVMPointerType::get(op->getContext()), 0, global.getSymName()});
  }

  /// Its address.
  Value finish() {
    SmallVector<Type> types;
    for (const Field &field : fields)
      types.push_back(field.type);
    Type type = LLVM::LLVMStructType::getLiteral(op->getContext(), types);
    auto global = LLVM::GlobalOp::create(builder, op->getLoc(), type, true, LLVM::Linkage::Internal,
                                         name, Attribute());
    Block *block = new Block();
    global.getInitializer().push_back(block);
    Emitter emit{OpBuilder::atBlockBegin(block), op->getLoc()};
    Value value = LLVM::UndefOp::create(emit.builder, emit.loc, type);
    for (auto [position, field] : llvm::enumerate(fields)) {
      Value element;
      if (!field.symbol.empty())
        element = LLVM::AddressOfOp::create(emit.builder, emit.loc, field.type, field.symbol);
      else
        element = field.type.isInteger(32) ? emit.i32(field.number) : emit.i64(field.number);
      value = LLVM::InsertValueOp::create(emit.builder, emit.loc, value, element,
                                          ArrayRef<int64_t>{int64_t(position)});
    }
    LLVM::ReturnOp::create(emit.builder, emit.loc, value);
    OpBuilder here(op);
    return LLVM::AddressOfOp::create(here, op->getLoc(), emit.pointer(), name);
  }

private:
  struct Field {
    Type type;
    int64_t number;
    StringRef symbol;
  };
  Operation *op;
  std::string name;
  OpBuilder builder;
  SmallVector<Field> fields;
};
} // namespace

static int64_t dtypeOf(Value value) {
  Type type = getElementTypeOrSelf(value.getType());
  if (type.isF32())
    return MPC_RT_FLOAT32;
  if (type.isBF16())
    return MPC_RT_BFLOAT16;
  if (type.isInteger(8))
    return MPC_RT_INT8;
  if (isFloat8(type))
    return isa<Float8E4M3FNType>(type) ? MPC_RT_FLOAT8_E4M3FN : MPC_RT_FLOAT8_E5M2;
  if (type.isInteger(32))
    return MPC_RT_INT32;
  return type.isF16() ? MPC_RT_FLOAT16 : MPC_RT_FLOAT64;
}

static int64_t codeOf(Activation activation) {
  return activation == Activation::Relu ? MPC_RT_ACTIVATION_RELU : MPC_RT_ACTIVATION_NONE;
}

/// Whether mpc_rt_extent_t can say it.
static LogicalResult checkExtent(Operation *op, std::optional<BatchExtent> extent) {
  if (!extent || (extent->fixed != 0 && extent->perSample != 0))
    return op->emitOpError("has an extent that is neither fixed nor a multiple of the batch");
  return success();
}

static bool isConsumed(mpcrt::ContractOp op) {
  auto both = dyn_cast<mpcrt::InterleaveOp>(op->getParentOp());
  return both && both.getConsumed();
}

static FailureOr<Value> describe(mpcrt::ContractOp op, int32_t rhsVariable,
                                 TablePositions &tables) {
  int64_t rank = cast<MemRefType>(op.getLhs().getType()).getRank();
  bool transposed = op.getTransposeLhs();
  std::optional<BatchExtent> batch = rank == 3 ? getExtent(op.getLhs(), 0) : BatchExtent{1, 0};
  std::optional<BatchExtent> m = getExtent(op.getOut(), rank - 2);
  std::optional<BatchExtent> n = getExtent(op.getOut(), rank - 1);
  std::optional<BatchExtent> k = getExtent(op.getLhs(), transposed ? rank - 2 : rank - 1);
  for (const auto &extent : {batch, m, n, k})
    if (failed(checkExtent(op, extent)))
      return failure();
  if (op.roundsLhs())
    tables.abiVersion = std::max<unsigned>(tables.abiVersion, MPC_RT_ABI_ROUNDED_LHS);
  unsigned id = tables.contracts++;
  ConstantStruct table(op, "mpcrt_contract_" + std::to_string(id));
  table.add32(sizeof(mpc_rt_contract_t));
  table.add32(id);
  for (Value value :
       {op.getLhs(), op.getRhs(), op.getOut(), op.getBias() ? op.getBias() : op.getOut()})
    table.add32(dtypeOf(value));
  table.add32((transposed ? MPC_RT_CONTRACT_TRANSPOSE_LHS : 0) |
              (op.getTransposeRhs() ? MPC_RT_CONTRACT_TRANSPOSE_RHS : 0) |
              (op.getAccumulate() ? MPC_RT_CONTRACT_ACCUMULATE : 0) |
              (op.hasPackedRhs() ? MPC_RT_CONTRACT_PACKED_RHS : 0) |
              (op.roundsLhs() ? MPC_RT_CONTRACT_ROUND_LHS : 0) |
              (op.roundsSums() ? MPC_RT_CONTRACT_ROUND_SUMS : 0) |
              (isConsumed(op) ? MPC_RT_CONTRACT_CONSUMED : 0));
  table.add32(codeOf(op.getActivation()));
  for (const auto &extent : {batch, m, n, k})
    table.add(*extent);
  table.add32(rhsVariable);
  table.add32(op.getBias() ? 1 : 0);
  table.addText(op.getLayer());
  return table.finish();
}

static FailureOr<Value> describe(mpcrt::ConvolveOp op, int32_t rhsVariable,
                                 TablePositions &tables) {
  auto images = cast<MemRefType>(op.getImages().getType());
  auto filter = cast<MemRefType>(op.getFilter().getType());
  auto outputs = cast<MemRefType>(op.getOutputs().getType());
  std::optional<BatchExtent> batch = getExtent(op.getLhs(), 0);
  if (failed(checkExtent(op, batch)))
    return failure();
  int64_t spatial = images.getRank() - 2;
  unsigned id = tables.convolutions++;
  ConstantStruct table(op, "mpcrt_convolution_" + std::to_string(id));
  table.add32(sizeof(mpc_rt_convolution_t));
  table.add32(id);
  for (Value value :
       {op.getLhs(), op.getRhs(), op.getOut(), op.getBias() ? op.getBias() : op.getOut()})
    table.add32(dtypeOf(value));
  // The enumeration has the ABI's values.
  table.add32(static_cast<int64_t>(op.getDirection()));
  table.add32(codeOf(op.getActivation()));
  table.add32(spatial);
  table.add32(op.getBias() ? 1 : 0);
  table.add32(rhsVariable);
  table.add32(0);
  table.add(*batch);
  table.add64(op.getGroups());
  table.add64(images.getShape().back());
  table.add64(filter.getShape().back());
  table.add64(images.getShape().slice(1, spatial), MPC_RT_MAX_SPATIAL);
  table.add64(filter.getShape().take_front(spatial), MPC_RT_MAX_SPATIAL);
  table.add64(outputs.getShape().slice(1, spatial), MPC_RT_MAX_SPATIAL);
  for (ArrayRef<int64_t> numbers :
       {op.getStrides(), op.getDilations(), op.getPaddingLow(), op.getPaddingHigh()})
    table.add64(numbers, MPC_RT_MAX_SPATIAL);
  table.addText(op.getLayer());
  return table.finish();
}

/// MPC_RT_ATTENTION_*.
template <typename Op> static int32_t flagsOfAttention(Op op) {
  int32_t flags = op.getCausal() ? MPC_RT_ATTENTION_CAUSAL : 0;
  if (op.getHiddenScore())
    flags |= MPC_RT_ATTENTION_HIDDEN_SCORE;
  if (!op.getMask())
    return flags;
  flags |= MPC_RT_ATTENTION_MASK;
  ArrayRef<int64_t> extents = cast<MemRefType>(op.getMask().getType()).getShape();
  const int32_t ofExtents[] = {MPC_RT_ATTENTION_MASK_OF_SAMPLE, MPC_RT_ATTENTION_MASK_OF_HEAD,
                               MPC_RT_ATTENTION_MASK_OF_TARGET};
  for (auto [extent, flag] : llvm::zip(extents, ofExtents))
    if (extent != 1)
      flags |= flag;
  return flags;
}

/// Of attention or its derivative.
template <typename Op> static FailureOr<Value> describeAttention(Op op, TablePositions &tables) {
  std::optional<BatchExtent> batch = getExtent(op.getQuery(), 0);
  if (failed(checkExtent(op, batch)))
    return failure();
  ArrayRef<int64_t> query = cast<MemRefType>(op.getQuery().getType()).getShape(),
                    value = cast<MemRefType>(op.getValue().getType()).getShape();
  unsigned id = tables.attentions++;
  ConstantStruct table(op, "mpcrt_attention_" + std::to_string(id));
  table.add32(sizeof(mpc_rt_attention_t));
  table.add32(id);
  table.add32(dtypeOf(op.getQuery()));
  table.add32(flagsOfAttention(op));
  table.add(*batch);
  for (int64_t extent : {query[1], value[1], query[2], query[3], value[3]})
    table.add64(extent);
  table.add64(llvm::bit_cast<int64_t>(op.getScale().convertToDouble()));
  table.addText(op.getLayer());
  if (std::optional<APFloat> score = op.getHiddenScore()) {
    table.add64(llvm::bit_cast<int64_t>(score->convertToDouble()));
    tables.abiVersion = std::max<unsigned>(tables.abiVersion, MPC_RT_ABI_HIDDEN_SCORE);
  } else {
    table.add64(0);
  }
  return table.finish();
}

FailureOr<Value> mpc::describeCall(mpcrt::ServiceCallOpInterface op, int32_t rhsVariable,
                                   TablePositions &tables) {
  return llvm::TypeSwitch<Operation *, FailureOr<Value>>(op)
      .Case<mpcrt::ContractOp, mpcrt::ConvolveOp>(
          [&](auto call) { return describe(call, rhsVariable, tables); })
      .Case<mpcrt::AttendOp, mpcrt::AttendGradientOp>(
          [&](auto call) { return describeAttention(call, tables); })
      .Default([](Operation *other) { return other->emitOpError("has no service"); });
}

Service mpc::serviceOf(mpcrt::ServiceCallOpInterface op) {
  if (auto attend = dyn_cast<mpcrt::AttendOp>(*op))
    return attend.getKept()
               ? Service{offsetof(mpc_rt_services_t, attend_dropped), MPC_RT_ABI_ATTENTION_DROPOUT}
           : attend.getMask()
               ? Service{offsetof(mpc_rt_services_t, attend_masked), MPC_RT_ABI_ATTENTION_MASK}
               : Service{offsetof(mpc_rt_services_t, attend), MPC_RT_ABI_ATTENTION};
  if (auto attend = dyn_cast<mpcrt::AttendGradientOp>(*op))
    return attend.getKept() ? Service{offsetof(mpc_rt_services_t, attend_dropped_gradient),
                                      MPC_RT_ABI_ATTENTION_DROPOUT}
           : attend.getMask()
               ? Service{offsetof(mpc_rt_services_t, attend_masked_gradient),
                         MPC_RT_ABI_ATTENTION_MASK}
               : Service{offsetof(mpc_rt_services_t, attend_gradient), MPC_RT_ABI_ATTENTION};
  if (isa<mpcrt::ConvolveOp>(op))
    return {offsetof(mpc_rt_services_t, convolve), MPC_RT_ABI_CONVOLVE};
  auto contract = cast<mpcrt::ContractOp>(*op);
  if (contract.getSums())
    return {offsetof(mpc_rt_services_t, contract_and_sum),
            contract.roundsSums() ? MPC_RT_ABI_ROUNDED_SUMS : MPC_RT_ABI_COLUMN_SUMS};
  if (contract.getLargest())
    return {offsetof(mpc_rt_services_t, contract_with_largest), MPC_RT_ABI_LARGEST};
  if (contract.getScale() && !contract.getTransposeRhs())
    return {offsetof(mpc_rt_services_t, contract_blocks), MPC_RT_ABI_BLOCKS};
  if (contract.getScale())
    return {offsetof(mpc_rt_services_t, contract_groups),
            contract.hasPackedRhs() ? MPC_RT_ABI_GROUPS : MPC_RT_ABI_BYTES_OF_GROUPS};
  if (contract.hasGelu())
    return {offsetof(mpc_rt_services_t, contract_with_gelu), MPC_RT_ABI_GELU};
  if (contract.getMask() || contract.getWhere())
    return {offsetof(mpc_rt_services_t, contract_with_bits), MPC_RT_ABI_BITS};
  if (isFloat8(getElementTypeOrSelf(contract.getLhs().getType())))
    return {offsetof(mpc_rt_services_t, contract), MPC_RT_ABI_FLOAT8};
  if (getElementTypeOrSelf(contract.getLhs().getType()).isInteger(8))
    return {offsetof(mpc_rt_services_t, contract), MPC_RT_ABI_INT8};
  if (getElementTypeOrSelf(contract.getRhs().getType()).isInteger(8))
    return {offsetof(mpc_rt_services_t, contract), MPC_RT_ABI_INT8_WEIGHTS};
  return {offsetof(mpc_rt_services_t, contract), 1};
}
