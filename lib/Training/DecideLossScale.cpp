// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Decides whether training scales its loss. A functional model's file does not say which policy the
// model had, so the decision reads the layers (docs/policies.md).
#include "dialects/mpc/IR/Mpc.h"
#include "mlir/IR/Remarks.h"
#include "mpc/Training/Passes.h"
#include "mpc/Training/TrainingOptions.h"
#include <cmath>

namespace mpc {
#define GEN_PASS_DEF_DECIDELOSSSCALE
#include "mpc/Training/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {

struct Request {
  double initial = 0;
  std::optional<int64_t> growthSteps;
  std::optional<double> minimum, maximum;
};

/// `fixed:N` or `dynamic:INITIAL:GROWTH_STEPS[:MIN:MAX]`.
std::optional<Request> parseRequest(StringRef text) {
  SmallVector<StringRef> parts;
  text.split(parts, ':');
  // Denormals are flushed where gradients are divided by the scale, which would be by zero.
  auto number = [&](size_t index, double &value) {
    return index < parts.size() && !parts[index].getAsDouble(value) &&
           (value == 0 || std::isnormal(float(value)));
  };
  Request request;
  if (!number(1, request.initial) || !(float(request.initial) > 0))
    return std::nullopt;
  if (parts[0] == "fixed" && parts.size() == 2)
    return request;
  int64_t steps;
  if (parts[0] != "dynamic" || (parts.size() != 3 && parts.size() != 5) ||
      parts[2].getAsInteger(10, steps) || steps < 1)
    return std::nullopt;
  request.growthSteps = steps;
  if (parts.size() == 5) {
    double minimum, maximum;
    if (!number(3, minimum) || !number(4, maximum) || minimum > request.initial ||
        maximum < request.initial)
      return std::nullopt;
    request.minimum = minimum, request.maximum = maximum;
  }
  return request;
}

} // namespace

bool mpc::isLossScaleOption(StringRef text) {
  return text == "auto" || text == "none" || parseRequest(text);
}

namespace {
struct DecideLossScalePass : mpc::impl::DecideLossScaleBase<DecideLossScalePass> {
  using Base::Base;

  void runOnModule() override {
    ModuleOp module = getOperation();
    if (!isLossScaleOption(option)) {
      module.emitError("--loss-scale=") << option << ": expected " << kLossScaleForms;
      return signalPassFailure();
    }
    LossScaleOp existing;
    for (LossScaleOp scale : module.getOps<LossScaleOp>())
      existing = scale;
    if (module.getOps<OptimizerOp>().empty())
      return markAllAnalysesPreserved();
    if (option == "none") {
      if (existing)
        existing.erase();
      return;
    }
    if (option != "auto") {
      if (existing)
        existing.erase();
      return insert(*parseRequest(option));
    }
    if (existing)
      return markAllAnalysesPreserved();
    decideByLayers();
  }

  /// float16 compute with float32 variables in some layer: dynamic scaling, as compile() does under
  /// mixed_float16. Also in a frozen one, because gradients pass through it, and Keras asks for the
  /// model's policy alone. Pure float16: Keras adds none, and neither do we; mpc-lint says so.
  void decideByLayers() {
    bool mixed = false;
    getOperation().walk([&](LayerOp layer) {
      std::optional<PrecisionAttr> precision = layer.getPrecision();
      if (!precision || layer.getVariables().empty() || !precision->getCompute().isF16())
        return;
      mixed |= precision->getVariable().isF32();
    });
    if (mixed)
      insert({32768, 2000, std::nullopt, std::nullopt});
  }

  void insert(const Request &request) {
    OpBuilder builder = OpBuilder::atBlockBegin(getOperation().getBody());
    auto optional = [&](std::optional<double> value) {
      return value ? builder.getF64FloatAttr(*value) : FloatAttr();
    };
    LossScaleOp::create(builder, getOperation().getLoc(), builder.getF64FloatAttr(request.initial),
                        request.growthSteps ? builder.getI64IntegerAttr(*request.growthSteps)
                                            : IntegerAttr(),
                        optional(request.minimum), optional(request.maximum));
    remark::analysis(getOperation().getLoc(),
                     remark::RemarkOpts::name("loss-scale").category("mpc-policy"))
        << "loss scaling from " << llvm::formatv("{0}", request.initial).str()
        << (request.growthSteps ? " (dynamic)" : " (fixed)");
  }
};

} // namespace
