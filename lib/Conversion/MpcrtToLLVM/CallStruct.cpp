// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An op says which parts its call has; what it does not say is null.
#include "lib/Conversion/MpcrtToLLVM/CallStruct.h"
#include "dialects/mpcrt/IR/Requantization.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpc;

Value StackStruct::store(Emitter &emit, Block *prologue, size_t minimum, bool startsWithSize) {
  llvm::sort(fields, [](auto &a, auto &b) { return a.first.offset < b.first.offset; });
  size_t size = minimum;
  if (!fields.empty())
    size = std::max(size, fields.back().first.end());
  constexpr size_t kWord = 8;
  Emitter slots{OpBuilder::atBlockBegin(prologue), emit.loc};
  Value memory =
      LLVM::AllocaOp::create(slots.builder, emit.loc, emit.pointer(), emit.builder.getI64Type(),
                             slots.i64(int64_t(llvm::divideCeil(size, kWord))));
  auto write = [&](Value value, size_t offset) {
    LLVM::StoreOp::create(emit.builder, emit.loc, value, emit.offset(memory, int64_t(offset)));
  };
  size_t next = 0; // behind what is written
  if (startsWithSize) {
    write(emit.i32(int64_t(size)), 0);
    write(emit.i32(0), sizeof(uint32_t));
    next = kWord;
  }
  Value null;
  auto fillUpTo = [&](size_t end) {
    for (; next < end; next += kWord) {
      if (!null)
        null = LLVM::ZeroOp::create(emit.builder, emit.loc, emit.pointer());
      write(null, next);
    }
  };
  for (auto &[field, value] : fields) {
    fillUpTo(field.offset);
    assert(next == field.offset && "fields are words");
    write(value, field.offset);
    next = field.end();
  }
  fillUpTo(size);
  return memory;
}

namespace {
/// Lists the fields of one call.
class CallWriter {
public:
  explicit CallWriter(bool hasKernel) : hasKernel(hasKernel) {}

  void write(mpcrt::ContractOp op);
  void write(mpcrt::ConvolveOp op);
  void write(mpcrt::AttendOp op) { writeAttention(op); }
  void write(mpcrt::AttendGradientOp op);
  void write(mpcrt::TraceOp op);
  void write(mpcrt::AllReduceOp op) { writeReduction(op.getOut()); }
  void write(mpcrt::ReduceScatterOp op) { writeReduction(op.getOut()); }
  void write(mpcrt::AllGatherOp op) { writeReduction(op.getOut()); }
  void write(mpcrt::WaitForRanksOp op) { writeReduction(op.getOut()); }

  CallFields call;

private:
  void set(CField field, Value buffer) {
    if (buffer)
      call.fields.push_back({field, CallField::Holds::buffer, buffer});
  }
  /// A product with a kernel on its result has it.
  void setRequantization(CField field, Operation *product) {
    auto both = dyn_cast_or_null<mpcrt::InterleaveOp>(product->getParentOp());
    if (const uint64_t word = both ? mpcrt::getRequantizationWord(both) : 0)
      call.fields.push_back({field, CallField::Holds::number, Value(), int64_t(word)});
  }
  void setBatch(CField field) { call.fields.push_back({field, CallField::Holds::batch, {}}); }
  template <typename Op> void writeAttention(Op op);
  void writeReduction(Value out) {
    call.minimum = MPC_RT_ALL_REDUCE_CALL_MINIMUM;
    set(MPC_C_FIELD(mpc_rt_all_reduce_call_t, data), out);
  }

  bool hasKernel;
};
} // namespace

#define FIELD(name) MPC_C_FIELD(mpc_rt_contract_call_t, name)
void CallWriter::write(mpcrt::ContractOp op) {
  call.minimum = MPC_RT_CONTRACT_CALL_MINIMUM;
  setBatch(FIELD(batch));
  set(FIELD(lhs), op.getLhs());
  set(FIELD(rhs), op.getRhs());
  set(FIELD(bias), op.getBias());
  set(FIELD(out), op.getOut());
  set(FIELD(largest), op.getLargest());
  if (hasKernel)
    call.fields.push_back({FIELD(kernel), CallField::Holds::kernel, {}});
  set(FIELD(sums), op.getSums());
  set(FIELD(where), op.getWhere());
  set(FIELD(mask), op.getMask());
  set(FIELD(gelu_at), op.getGeluAt());
  set(FIELD(kept), op.getKept());
  setRequantization(FIELD(requantization), op);
  if (!op.getScale())
    return;
  set(FIELD(scale), op.getScale());
  set(FIELD(zero), op.getZero());
  set(FIELD(places), op.getPlaces());
  set(FIELD(divisors), op.getDivisors());
  auto scale = cast<ShapedType>(op.getScale().getType());
  call.fields.push_back({FIELD(blocks), CallField::Holds::number, Value(),
                         scale.getDimSize(op.getTransposeRhs() ? 1 : 0)});
}
#undef FIELD

#define FIELD(name) MPC_C_FIELD(mpc_rt_convolve_call_t, name)
void CallWriter::write(mpcrt::ConvolveOp op) {
  call.minimum = MPC_RT_CONVOLVE_CALL_MINIMUM;
  setBatch(FIELD(batch));
  set(FIELD(lhs), op.getLhs());
  set(FIELD(rhs), op.getRhs());
  set(FIELD(bias), op.getBias());
  set(FIELD(out), op.getOut());
  if (hasKernel)
    call.fields.push_back({FIELD(kernel), CallField::Holds::kernel, {}});
  setRequantization(FIELD(requantization), op);
}
#undef FIELD

#define FIELD(name) MPC_C_FIELD(mpc_rt_attend_call_t, name)
/// Attention and its gradient both have these.
template <typename Op> void CallWriter::writeAttention(Op op) {
  call.minimum = MPC_RT_ATTEND_CALL_MINIMUM;
  setBatch(FIELD(batch));
  set(FIELD(query), op.getQuery());
  set(FIELD(key), op.getKey());
  set(FIELD(value), op.getValue());
  set(FIELD(out), op.getOut());
  set(FIELD(log_sums), op.getLogSums());
  set(FIELD(mask), op.getMask());
  set(FIELD(kept), op.getKept());
}

void CallWriter::write(mpcrt::AttendGradientOp op) {
  writeAttention(op);
  set(FIELD(cotangent), op.getCotangent());
  set(FIELD(query_gradient), op.getQueryGradient());
  set(FIELD(key_gradient), op.getKeyGradient());
  set(FIELD(value_gradient), op.getValueGradient());
}
#undef FIELD

#define FIELD(name) MPC_C_FIELD(mpc_rt_trace_call_t, name)
void CallWriter::write(mpcrt::TraceOp op) {
  call.minimum = MPC_RT_TRACE_CALL_MINIMUM;
  setBatch(FIELD(batch));
  set(FIELD(value), op.getValue());
  set(FIELD(before), op.getBefore());
}
#undef FIELD

CallFields mpc::fieldsOf(Operation *op, bool hasKernel) {
  CallWriter writer(hasKernel);
  llvm::TypeSwitch<Operation *>(op)
      .Case<mpcrt::ContractOp, mpcrt::ConvolveOp, mpcrt::AttendOp, mpcrt::AttendGradientOp,
            mpcrt::TraceOp, mpcrt::AllReduceOp, mpcrt::ReduceScatterOp, mpcrt::AllGatherOp,
            mpcrt::WaitForRanksOp>([&](auto call) { writer.write(call); })
      .DefaultUnreachable("describeCall() refuses other ops");
  return std::move(writer.call);
}

Value mpc::storeCall(Emitter &emit, Block *prologue, Operation *op, Value batch, Value kernel) {
  const CallFields call = fieldsOf(op, /*hasKernel=*/bool(kernel));
  auto valueOf = [&](const CallField &field) -> Value {
    switch (field.holds) {
    case CallField::Holds::buffer:
      return emit.cast(field.buffer, emit.pointer());
    case CallField::Holds::batch:
      return batch;
    case CallField::Holds::kernel:
      return kernel;
    case CallField::Holds::number:
      return emit.i64(field.number);
    }
  };
  StackStruct memory;
  for (const CallField &field : call.fields)
    memory.set(field.field, valueOf(field));
  return memory.store(emit, prologue, call.minimum, /*startsWithSize=*/true);
}
