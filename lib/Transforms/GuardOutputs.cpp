// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mpc-guard-outputs: what leaves the model is float32. It runs before autodiff, so that the
// gradient starts in float32 too.
#include "lib/Transforms/LossBoundary.h"
#include "mlir/IR/Remarks.h"
#include "mpc/Transforms/Passes.h"

using namespace mlir;
using namespace mpc;

namespace mpc {
#define GEN_PASS_DEF_GUARDOUTPUTS
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

static bool isNarrowFloat(Type type) {
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32;
}

/// The value in float32. A final softmax computes in float32 inside anyway: run on float32 inputs
/// it gives the probabilities without the rounding at its end.
static Value widen(OpBuilder &builder, Value value) {
  auto wide = tensorTypeOf(value).clone(builder.getF32Type());
  auto softmax = value.getDefiningOp<SoftmaxOp>();
  if (!softmax)
    return CastOp::create(builder, value.getLoc(), wide, value);
  Value logits = CastOp::create(builder, softmax.getLoc(), wide, softmax.getInput());
  return SoftmaxOp::create(builder, softmax.getLoc(), wide, logits, softmax.getAxis());
}

namespace {
class GuardOutputsPass : public mpc::impl::GuardOutputsBase<GuardOutputsPass> {
public:
  using GuardOutputsBase::GuardOutputsBase;

  void runOnModule() override {
    func::FuncOp forward = lookupFunction(getOperation(), "forward");
    if (!guard || !forward)
      return;
    if (!llvm::hasSingleElement(forward.getBody())) {
      forward.emitError("@forward must have a body of one block");
      return signalPassFailure();
    }
    Operation *terminator = forward.getBody().front().getTerminator();
    OpBuilder builder(terminator);
    llvm::SmallDenseMap<Value, Value> widened; // one value may leave under several names
    for (OpOperand &operand : terminator->getOpOperands()) {
      auto name = forward.getResultAttrOfType<StringAttr>(operand.getOperandNumber(),
                                                          MpcDialect::kOutputAttr);
      if (!name)
        continue;
      Value value = operand.get();
      Type element = elementTypeOf(value);
      if (!isNarrowFloat(element)) {
        remark(value, "output-kept", name.getValue(), element, "stays");
        continue;
      }
      bool isSoftmax = value.getDefiningOp<SoftmaxOp>() != nullptr;
      Value &wide = widened[value];
      if (!wide)
        wide = widen(builder, value);
      operand.set(wide);
      if (value.use_empty() && value.getDefiningOp<SoftmaxOp>())
        value.getDefiningOp()->erase();
      remark(wide, "output-guarded", name.getValue(), element,
             isSoftmax ? "becomes f32; its softmax computes in f32" : "becomes f32");
    }
    updateFunctionType(forward);
    matchLossArguments(getOperation());
  }

private:
  void remark(Value value, StringRef remarkName, StringRef output, Type element, StringRef what) {
    std::string type;
    llvm::raw_string_ostream(type) << element;
    std::string text = "output \"" + output.str() + "\": " + type + " " + what.str();
    remark::analysis(value.getLoc(), remark::RemarkOpts::name(remarkName).category("mpc-guard"))
        << text << remark::metric("output", output);
  }
};
} // namespace
