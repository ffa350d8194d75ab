// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mpc-verify-policy: the exit contract of the phase `policy`.
#include "mpc/Transforms/Passes.h"

using namespace mlir;
using namespace mpc;

namespace mpc {
#define GEN_PASS_DEF_VERIFYPOLICY
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

namespace {
class VerifyPolicyPass : public mpc::impl::VerifyPolicyBase<VerifyPolicyPass> {
public:
  void runOnOperation() override {
    llvm::StringMap<LayerOp> first;
    bool failedAny = false;
    getOperation().walk([&](LayerOp layer) {
      if (failed(verify(layer))) {
        failedAny = true;
        return;
      }
      auto [known, isNew] = first.try_emplace(layer.getPath(), layer);
      auto same = [](PrecisionAttr a, PrecisionAttr b) {
        return a.getCompute() == b.getCompute() && a.getVariable() == b.getVariable() &&
               a.getAccumulate() == b.getAccumulate();
      };
      if (isNew || same(*layer.getPrecision(), *known->second.getPrecision()))
        return;
      InFlightDiagnostic error = layer.emitError()
                                 << "layer \"" << layer.getPath()
                                 << "\" has another precision than an earlier call of it";
      error.attachNote(known->second.getLoc()) << "the earlier call";
      failedAny = true;
    });
    if (failedAny)
      signalPassFailure();
  }

private:
  LogicalResult verify(LayerOp layer) {
    auto error = [&] { return layer.emitError() << "layer \"" << layer.getPath() << "\" "; };
    std::optional<PrecisionAttr> precision = layer.getPrecision();
    if (!precision)
      return error() << "has no precision; run mpc-apply-policy";
    if (layer.getPolicy())
      return error() << "still has an unresolved policy beside its precision";
    Type compute = precision->getCompute(), accumulate = precision->getAccumulate();
    auto isElement = [](Type type) {
      return type.isF16() || type.isBF16() || type.isF32() || type.isF64() || type.isInteger();
    };
    for (Type type : {compute, precision->getVariable(), accumulate})
      if (!isElement(type))
        return error() << "has the type " << type << " in its precision, which is no element type";
    if (isa<FloatType>(compute) && accumulate != widerOf32(compute) && !accumulate.isF64())
      return error() << "computes in " << compute << " and accumulates in " << accumulate
                     << "; expected " << widerOf32(compute);
    return success();
  }
};
} // namespace
