// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mpc-verify-casts: the exit contract of the phase `casts`.
#include "lib/Transforms/LossBoundary.h"
#include "mpc/Analysis/GraphContract.h"
#include "mpc/Transforms/Passes.h"

using namespace mlir;
using namespace mpc;

namespace mpc {
#define GEN_PASS_DEF_VERIFYCASTS
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

static Type floatElementOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType()) ? type.getElementType() : Type();
}

namespace {
class VerifyCastsPass : public mpc::impl::VerifyCastsBase<VerifyCastsPass> {
public:
  using VerifyCastsBase::VerifyCastsBase;

  void runOnOperation() override {
    bool ok = true;
    getOperation().walk([&](Operation *op) {
      ok &= succeeded(verifyElements(op));
      if (auto layer = dyn_cast<LayerOp>(op)) {
        layer.emitError() << "layer \"" << layer.getPath()
                          << "\" is still there; run mpc-insert-casts";
        ok = false;
      } else if (isa_and_present<MpcDialect>(op->getDialect())) {
        ok &= succeeded(verifyTypes(op));
      }
    });
    ok &= succeeded(verifyOutputs());
    ok &= succeeded(verifyLoss());
    if (!ok)
      signalPassFailure();
  }

private:
  /// Only what declares how it takes precision: casts, steps and structure have their own rules.
  /// Most ops check the same themselves; this holds for those that do not.
  static LogicalResult verifyTypes(Operation *op) {
    auto precise = dyn_cast<PrecisionOpInterface>(op);
    // An op with a body has its inner ops checked.
    if (!precise || op->getNumRegions() > 0)
      return success();
    Type common;
    for (OpOperand &operand : op->getOpOperands()) {
      Type element = floatElementOf(operand.get());
      if (!element || precise.staysWide(operand.getOperandNumber()))
        continue;
      if (common && element != common)
        return op->emitError() << "has floating operands of " << common << " and " << element
                               << "; expected mpc.cast to make them agree";
      common = element;
    }
    for (Value result : op->getResults()) {
      Type element = floatElementOf(result);
      auto chosen = op->getAttrOfType<TypeAttr>("accumulate");
      Type accumulator = !common  ? Type()
                         : chosen ? chosen.getValue()
                                  : precise.getDefaultAccumulator(common);
      bool isAccumulator =
          precise.getPrecisionClass() == PrecisionClass::Safe && element == accumulator;
      if (element && common && element != common && !isAccumulator)
        return op->emitError() << "gives " << element << " from operands of " << common
                               << "; only mpc.cast changes a floating type";
    }
    return success();
  }

  LogicalResult verifyOutputs() {
    func::FuncOp forward = lookupFunction(getOperation(), "forward");
    if (!forward || !guard)
      return success();
    bool ok = true;
    for (unsigned i = 0; i < forward.getNumResults(); ++i) {
      auto name = forward.getResultAttrOfType<StringAttr>(i, MpcDialect::kOutputAttr);
      Type element = getElementTypeOrSelf(forward.getResultTypes()[i]);
      if (name && isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32) {
        forward.emitError() << "output \"" << name.getValue() << "\" is " << element
                            << "; expected float32 under the output guard";
        ok = false;
      }
    }
    return success(ok);
  }

  LogicalResult verifyLoss() {
    func::FuncOp forward = lookupFunction(getOperation(), "forward");
    func::FuncOp loss = lookupFunction(getOperation(), "loss");
    if (!loss)
      return success();
    bool ok = true;
    for (unsigned i = 0; i < loss.getNumResults(); ++i) {
      auto name = loss.getResultAttrOfType<StringAttr>(i, MpcDialect::kOutputAttr);
      Type element = getElementTypeOrSelf(loss.getResultTypes()[i]);
      if (name && name.getValue() == "loss" && !element.isF32()) {
        loss.emitError() << "the loss is " << element << "; expected f32";
        ok = false;
      }
    }
    llvm::StringMap<Type> outputs;
    for (unsigned i = 0; forward && i < forward.getNumResults(); ++i)
      if (auto name = forward.getResultAttrOfType<StringAttr>(i, MpcDialect::kOutputAttr))
        outputs[name.getValue()] = forward.getResultTypes()[i];
    for (unsigned i = 0; i < loss.getNumArguments(); ++i) {
      auto name = loss.getArgAttrOfType<StringAttr>(i, MpcDialect::kInputAttr);
      if (!name)
        continue;
      auto found = outputs.find(name.getValue());
      if (found == outputs.end() || found->second != loss.getArgument(i).getType()) {
        loss.emitError() << "argument \"" << name.getValue() << "\" has type "
                         << loss.getArgument(i).getType()
                         << ", which is not what @forward returns under that name";
        ok = false;
      }
    }
    return success(ok);
  }
};
} // namespace
