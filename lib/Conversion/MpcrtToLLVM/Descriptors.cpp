// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each field is stored at its offset in the C struct.
#include "lib/Conversion/MpcrtToLLVM/Descriptors.h"
#include "dialects/mpcrt/IR/Turn.h"
#include "lib/Conversion/MpcrtToLLVM/Emitter.h"
#include "lib/Support/CField.h"
#include "mpc-rt/collectives.h"
#include "mpc/Analysis/BatchExtent.h"
#include "mpc/Support/Dtype.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpc;

namespace {
/// A constant struct under construction. What is not set is 0.
class ConstantStruct {
public:
  ConstantStruct(Operation *op, std::string name, size_t size, TablePositions &tables)
      : op(op), name(std::move(name)), size(size), tables(tables),
        builder(OpBuilder::atBlockBegin(op->getParentOfType<ModuleOp>().getBody())) {}

  void set(CField field, int64_t value) {
    assert((field.size == 4 || field.size == 8) && "a number");
    Type type = builder.getIntegerType(8 * field.size);
    fields.push_back({field.offset, type, value, {}});
  }
  /// A pair, or an array of numbers of 64 bits, zeros behind those given.
  void setAll(CField field, ArrayRef<int64_t> values) {
    assert(field.size >= 8 * values.size() && "it has room for all");
    for (auto [i, value] : llvm::enumerate(values))
      fields.push_back({field.offset + 8 * i, builder.getI64Type(), value, {}});
  }
  void set(CField field, BatchExtent extent) { setAll(field, {extent.fixed, extent.perSample}); }
  void set(CField field, double value) { set(field, llvm::bit_cast<int64_t>(value)); }
  /// Equal texts are one: each call of a layer has its path.
  void setText(CField field, StringRef text, StringRef suffix = "_layer") {
    StringAttr &symbol = tables.texts[text];
    if (!symbol) {
      std::string terminated = text.str();
      terminated.push_back('\0');
      symbol = LLVM::GlobalOp::create(
                   builder, op->getLoc(),
                   LLVM::LLVMArrayType::get(builder.getI8Type(), terminated.size()), true,
                   LLVM::Linkage::Internal, name + suffix.str(), builder.getStringAttr(terminated))
                   .getSymNameAttr();
    }
    fields.push_back(
        {field.offset, LLVM::LLVMPointerType::get(op->getContext()), 0, symbol.getValue()});
  }

  /// Its address.
  Value finish() {
    fillGaps();
    // The numbers between two addresses are one constant: an op for each would be most of the code
    // of a deep network.
    SmallVector<Part> parts;
    for (const Field &field : fields) {
      if (parts.empty() || !field.symbol.empty() || !parts.back().symbol.empty())
        parts.push_back({{}, {}, field.symbol});
      parts.back().types.push_back(field.type);
      if (field.symbol.empty())
        parts.back().numbers.push_back(builder.getIntegerAttr(field.type, field.number));
    }
    MLIRContext *context = op->getContext();
    Type type = LLVM::LLVMStructType::getLiteral(
        context, llvm::map_to_vector(parts, [](const Part &part) { return part.type(); }));
    auto global = LLVM::GlobalOp::create(builder, op->getLoc(), type, true, LLVM::Linkage::Internal,
                                         name, Attribute());
    Block *block = new Block();
    global.getInitializer().push_back(block);
    Emitter emit{OpBuilder::atBlockEnd(block), op->getLoc()};
    Value value = LLVM::UndefOp::create(emit.builder, emit.loc, type);
    for (auto [position, part] : llvm::enumerate(parts)) {
      Value element;
      if (part.symbol.empty())
        element = LLVM::ConstantOp::create(emit.builder, emit.loc, part.type(),
                                           builder.getArrayAttr(part.numbers));
      else
        element = LLVM::AddressOfOp::create(emit.builder, emit.loc, part.type(), part.symbol);
      value = LLVM::InsertValueOp::create(emit.builder, emit.loc, value, element,
                                          ArrayRef<int64_t>{int64_t(position)});
    }
    LLVM::ReturnOp::create(emit.builder, emit.loc, value);
    OpBuilder here(op);
    return LLVM::AddressOfOp::create(here, op->getLoc(), emit.pointer(), name);
  }

private:
  struct Field {
    size_t offset;
    Type type;
    int64_t number;
    StringRef symbol;

    size_t end() const { return offset + (type.isInteger(32) ? 4 : 8); }
  };
  /// Numbers, or an address. C lays fields out alike in a struct of their own: addresses are words,
  /// so that each part begins and ends with one.
  struct Part {
    SmallVector<Type> types;
    SmallVector<Attribute> numbers;
    StringRef symbol;

    Type type() const {
      return symbol.empty() ? LLVM::LLVMStructType::getLiteral(types.front().getContext(), types)
                            : types.front();
    }
  };
  /// In order, without holes: LLVM lays the struct out as C does.
  void fillGaps() {
    llvm::sort(fields, [](const Field &a, const Field &b) { return a.offset < b.offset; });
    SmallVector<Field> all;
    size_t next = 0;
    auto fillUpTo = [&](size_t offset) {
      while (next < offset) {
        const bool isWord = next % 8 == 0 && offset - next >= 8;
        all.push_back({next, builder.getIntegerType(isWord ? 64 : 32), 0, {}});
        next = all.back().end();
      }
      assert(next == offset && "fields do not overlap");
    };
    for (const Field &field : fields) {
      fillUpTo(field.offset);
      all.push_back(field);
      next = field.end();
    }
    fillUpTo(size);
    fields = std::move(all);
  }

  Operation *op;
  std::string name;
  size_t size;
  TablePositions &tables;
  OpBuilder builder;
  SmallVector<Field> fields;
};
} // namespace

static int64_t dtypeOf(Value value) {
  const std::optional<mpc_rt_dtype_t> code = runtimeDtypeOf(getElementTypeOrSelf(value));
  assert(code && "verifiers of mpcrt ops allow types of the runtime alone");
  return int64_t(*code);
}

static int64_t codeOf(Activation activation) {
  return activation == Activation::Relu ? MPC_RT_ACTIVATION_RELU : MPC_RT_ACTIVATION_NONE;
}

/// mpc_rt_activation_t: the op has one of these parts.
static int64_t activationOf(mpcrt::ContractOp op) {
  return op.getWhere()    ? MPC_RT_ACTIVATION_RELU_GRADIENT
         : op.getGelu()   ? MPC_RT_ACTIVATION_GELU
         : op.getGeluAt() ? MPC_RT_ACTIVATION_GELU_GRADIENT
                          : codeOf(op.getActivation());
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

#define FIELD(name) MPC_C_FIELD(mpc_rt_contract_t, name)
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
  unsigned id = tables.ids.contracts++;
  ConstantStruct table(op, ("mpcrt_contract_" + Twine(id) + tables.suffix).str(),
                       sizeof(mpc_rt_contract_t), tables);
  table.set(FIELD(struct_size), int64_t(sizeof(mpc_rt_contract_t)));
  table.set(FIELD(id), int64_t(id));
  table.set(FIELD(lhs_dtype), dtypeOf(op.getLhs()));
  table.set(FIELD(rhs_dtype), dtypeOf(op.getRhs()));
  table.set(FIELD(out_dtype), dtypeOf(op.getOut()));
  table.set(FIELD(bias_dtype), dtypeOf(op.getBias() ? op.getBias() : op.getOut()));
  const int64_t flags = (mpcrt::isLhsTransposed(op) ? MPC_RT_CONTRACT_TRANSPOSE_LHS : 0) |
                        (mpcrt::isRhsTransposed(op) ? MPC_RT_CONTRACT_TRANSPOSE_RHS : 0) |
                        (op.getAccumulate() ? MPC_RT_CONTRACT_ACCUMULATE : 0) |
                        (op.hasPackedRhs() ? MPC_RT_CONTRACT_PACKED_RHS : 0) |
                        (op.roundsLhs() ? MPC_RT_CONTRACT_ROUND_LHS : 0) |
                        (op.roundsSums() ? MPC_RT_CONTRACT_ROUND_SUMS : 0) |
                        (isConsumed(op) ? MPC_RT_CONTRACT_CONSUMED : 0) |
                        (op.getSummedByParts() ? MPC_RT_CONTRACT_SUMMED_BY_PARTS : 0);
  table.set(FIELD(flags), flags);
  table.set(FIELD(activation), activationOf(op));
  table.set(FIELD(batch), *batch);
  table.set(FIELD(m), *m);
  table.set(FIELD(n), *n);
  table.set(FIELD(k), *k);
  table.set(FIELD(rhs_variable), int64_t(rhsVariable));
  table.set(FIELD(has_bias), int64_t(op.getBias() ? 1 : 0));
  table.setText(FIELD(layer), op.getLayer());
  return table.finish();
}
#undef FIELD

#define FIELD(name) MPC_C_FIELD(mpc_rt_convolution_t, name)
static FailureOr<Value> describe(mpcrt::ConvolveOp op, int32_t rhsVariable,
                                 TablePositions &tables) {
  auto images = cast<MemRefType>(op.getImages().getType());
  auto filter = cast<MemRefType>(op.getFilter().getType());
  auto outputs = cast<MemRefType>(op.getOutputs().getType());
  std::optional<BatchExtent> batch = getExtent(op.getLhs(), 0);
  if (failed(checkExtent(op, batch)))
    return failure();
  int64_t spatial = images.getRank() - 2;
  unsigned id = tables.ids.convolutions++;
  ConstantStruct table(op, ("mpcrt_convolution_" + Twine(id) + tables.suffix).str(),
                       sizeof(mpc_rt_convolution_t), tables);
  table.set(FIELD(struct_size), int64_t(sizeof(mpc_rt_convolution_t)));
  table.set(FIELD(id), int64_t(id));
  table.set(FIELD(lhs_dtype), dtypeOf(op.getLhs()));
  table.set(FIELD(rhs_dtype), dtypeOf(op.getRhs()));
  table.set(FIELD(out_dtype), dtypeOf(op.getOut()));
  table.set(FIELD(bias_dtype), dtypeOf(op.getBias() ? op.getBias() : op.getOut()));
  // The enumeration has the ABI's values.
  table.set(FIELD(direction), static_cast<int64_t>(op.getDirection()));
  table.set(FIELD(activation), codeOf(op.getActivation()));
  table.set(FIELD(spatial_rank), spatial);
  table.set(FIELD(has_bias), int64_t(op.getBias() ? 1 : 0));
  table.set(FIELD(rhs_variable), int64_t(rhsVariable));
  table.set(FIELD(border), int64_t(op.getBorder()));
  table.set(FIELD(batch), *batch);
  table.set(FIELD(groups), int64_t(op.getGroups()));
  table.set(FIELD(channels), images.getShape().back());
  table.set(FIELD(filters), filter.getShape().back());
  table.setAll(FIELD(images), images.getShape().slice(1, spatial));
  table.setAll(FIELD(kernel), filter.getShape().take_front(spatial));
  table.setAll(FIELD(outputs), outputs.getShape().slice(1, spatial));
  table.setAll(FIELD(strides), op.getStrides());
  table.setAll(FIELD(dilations), op.getDilations());
  table.setAll(FIELD(padding_low), op.getPaddingLow());
  table.setAll(FIELD(padding_high), op.getPaddingHigh());
  table.setText(FIELD(layer), op.getLayer());
  return table.finish();
}
#undef FIELD

/// MPC_RT_ATTENTION_*.
template <typename Op> static int32_t flagsOfAttention(Op op) {
  int32_t flags = op.getCausal() ? MPC_RT_ATTENTION_CAUSAL : 0;
  if (op.getHiddenScore())
    flags |= MPC_RT_ATTENTION_HIDDEN_SCORE;
  if (op.getKept())
    flags |= MPC_RT_ATTENTION_DROPOUT;
  if (std::is_same_v<Op, mpcrt::AttendGradientOp>)
    flags |= MPC_RT_ATTENTION_GRADIENT;
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

#define FIELD(name) MPC_C_FIELD(mpc_rt_attention_t, name)
/// Describes attention or its derivative.
template <typename Op> static FailureOr<Value> describeAttention(Op op, TablePositions &tables) {
  std::optional<BatchExtent> batch = getExtent(op.getQuery(), 0);
  if (failed(checkExtent(op, batch)))
    return failure();
  ArrayRef<int64_t> query = cast<MemRefType>(op.getQuery().getType()).getShape(),
                    value = cast<MemRefType>(op.getValue().getType()).getShape();
  unsigned id = tables.ids.attentions++;
  ConstantStruct table(op, ("mpcrt_attention_" + Twine(id) + tables.suffix).str(),
                       sizeof(mpc_rt_attention_t), tables);
  table.set(FIELD(struct_size), int64_t(sizeof(mpc_rt_attention_t)));
  table.set(FIELD(id), int64_t(id));
  table.set(FIELD(dtype), dtypeOf(op.getQuery()));
  table.set(FIELD(flags), int64_t(flagsOfAttention(op)));
  table.set(FIELD(batch), *batch);
  table.set(FIELD(targets), query[1]);
  table.set(FIELD(sources), value[1]);
  table.set(FIELD(heads), query[2]);
  table.set(FIELD(width), query[3]);
  table.set(FIELD(value_width), value[3]);
  table.set(FIELD(scale), op.getScale().convertToDouble());
  table.setText(FIELD(layer), op.getLayer());
  if (std::optional<APFloat> score = op.getHiddenScore())
    table.set(FIELD(hidden_score), score->convertToDouble());
  if (std::optional<APFloat> scale = op.getKeepScale())
    table.set(FIELD(keep_scale), scale->convertToDouble());
  return table.finish();
}
#undef FIELD

#define FIELD(name) MPC_C_FIELD(mpc_rt_trace_t, name)
static FailureOr<Value> describe(mpcrt::TraceOp op, TablePositions &tables) {
  std::optional<BatchExtent> count = getElementCount(op.getValue());
  if (!count)
    return op.emitOpError("has a size that is no function of the batch");
  auto type = cast<MemRefType>(op.getValue().getType());
  std::optional<BatchExtent> first =
      type.getRank() > 0 ? getExtent(op.getValue(), 0) : std::nullopt;
  const bool hasRows = first && *first == BatchExtent{0, 1};
  ConstantStruct table(op, "mpcrt_trace_" + std::to_string(tables.traces++), sizeof(mpc_rt_trace_t),
                       tables);
  table.set(FIELD(struct_size), int64_t(sizeof(mpc_rt_trace_t)));
  table.set(FIELD(slot), static_cast<int64_t>(op.getSlot()));
  table.set(FIELD(dtype), dtypeOf(op.getValue()));
  table.set(FIELD(before_dtype), dtypeOf(op.getBefore() ? op.getBefore() : op.getValue()));
  // The enumeration has the ABI's values.
  table.set(FIELD(direction), static_cast<int64_t>(op.getDirection()));
  const Type format = op.getFormat().value_or(Type());
  const int64_t flags =
      (op.getScaled() ? MPC_RT_TRACE_SCALED : 0) | (hasRows ? MPC_RT_TRACE_ROWS : 0) |
      (op.getChange() ? MPC_RT_TRACE_CHANGE : 0) |
      (isa_and_nonnull<Float8E4M3FNType>(format) ? MPC_RT_TRACE_FLOAT8_E4M3FN : 0) |
      (isa_and_nonnull<Float8E5M2Type>(format) ? MPC_RT_TRACE_FLOAT8_E5M2 : 0);
  table.set(FIELD(flags), flags);
  table.set(FIELD(count), *count);
  table.setText(FIELD(layer), op.getLayer());
  table.setText(FIELD(op), op.getOp(), "_op");
  table.set(FIELD(source_count), static_cast<int64_t>(op.getSources().size()));
  table.setAll(FIELD(sources), op.getSources());
  return table.finish();
}
#undef FIELD

static int64_t codeOf(ReduceKind kind, bool before) {
  if (before)
    return MPC_RT_REDUCTION_SUM_BEFORE;
  switch (kind) {
  case ReduceKind::Max:
    return MPC_RT_REDUCTION_MAX;
  case ReduceKind::Min:
    return MPC_RT_REDUCTION_MIN;
  default:
    return MPC_RT_REDUCTION_SUM; // the verifier knows no other
  }
}

#define FIELD(name) MPC_C_FIELD(mpc_rt_all_reduce_t, name)
/// Describes a reduction over ranks, or the wait for its bucket.
static FailureOr<Value> describeReduction(Operation *op, Value out, int64_t bucket, StringRef layer,
                                          int64_t reduction, int64_t flags,
                                          TablePositions &tables) {
  ConstantStruct table(op, "mpcrt_reduction_" + std::to_string(tables.reductions++),
                       sizeof(mpc_rt_all_reduce_t), tables);
  table.set(FIELD(struct_size), int64_t(sizeof(mpc_rt_all_reduce_t)));
  table.set(FIELD(bucket), bucket);
  table.set(FIELD(dtype), dtypeOf(out));
  table.set(FIELD(reduction), reduction);
  table.set(FIELD(flags), flags);
  table.set(FIELD(count), cast<MemRefType>(out.getType()).getNumElements());
  table.setText(FIELD(layer), layer);
  return table.finish();
}
#undef FIELD

/// The flag of the op that sends its bucket.
template <typename Op> static int64_t endOf(Op op) {
  return op.getEndsBucket() ? MPC_RT_ALL_REDUCE_ENDS_BUCKET : 0;
}

/// The flag of a sum that goes in another type than its own.
template <typename Op> static int64_t typeOfSum(Op op) {
  return op.getInBfloat16() ? MPC_RT_ALL_REDUCE_IN_BFLOAT16 : 0;
}

FailureOr<Value> mpc::describeCall(Operation *op, int32_t rhsVariable, TablePositions &tables) {
  return llvm::TypeSwitch<Operation *, FailureOr<Value>>(op)
      .Case<mpcrt::ContractOp, mpcrt::ConvolveOp>(
          [&](auto call) { return describe(call, rhsVariable, tables); })
      .Case<mpcrt::AttendOp, mpcrt::AttendGradientOp>(
          [&](auto call) { return describeAttention(call, tables); })
      .Case([&](mpcrt::TraceOp trace) { return describe(trace, tables); })
      .Case([&](mpcrt::AllReduceOp call) {
        return describeReduction(call, call.getOut(), call.getBucket(), call.getLayer(),
                                 codeOf(call.getKind(), call.getBefore()),
                                 endOf(call) | typeOfSum(call) |
                                     (call.getAlways() ? MPC_RT_ALL_REDUCE_ALWAYS : 0) |
                                     (call.getByElements() ? MPC_RT_ALL_REDUCE_FOR_RESULTS : 0),
                                 tables);
      })
      .Case([&](mpcrt::ReduceScatterOp call) {
        return describeReduction(call, call.getOut(), call.getBucket(), call.getLayer(),
                                 codeOf(call.getKind(), /*before=*/false),
                                 endOf(call) | typeOfSum(call) | MPC_RT_ALL_REDUCE_TO_PARTS,
                                 tables);
      })
      .Case([&](mpcrt::AllGatherOp call) {
        return describeReduction(call, call.getOut(), call.getBucket(), call.getLayer(),
                                 MPC_RT_REDUCTION_SUM, endOf(call) | MPC_RT_ALL_REDUCE_GATHERS,
                                 tables);
      })
      .Case([&](mpcrt::WaitForRanksOp call) {
        return describeReduction(call, call.getOut(), call.getBucket(), call.getLayer(),
                                 MPC_RT_REDUCTION_SUM, /*flags=*/0, tables);
      })
      .Default([](Operation *other) { return other->emitOpError("has no service"); });
}

int64_t mpc::serviceOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case([](mpcrt::ContractOp) { return offsetof(mpc_rt_services_t, contract); })
      .Case([](mpcrt::ConvolveOp) { return offsetof(mpc_rt_services_t, convolve); })
      .Case([](mpcrt::TraceOp) { return offsetof(mpc_rt_services_t, trace); })
      .Case<mpcrt::AllReduceOp, mpcrt::ReduceScatterOp, mpcrt::AllGatherOp>(
          [](auto) { return offsetof(mpc_rt_services_t, all_reduce); })
      .Case([](mpcrt::WaitForRanksOp) { return offsetof(mpc_rt_services_t, wait_for_ranks); })
      .Case<mpcrt::AttendOp, mpcrt::AttendGradientOp>(
          [](auto) { return offsetof(mpc_rt_services_t, attend); })
      .DefaultUnreachable("describeCall() refuses other ops");
}
