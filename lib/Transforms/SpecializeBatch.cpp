// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mpc-specialize-batch: the batch as a number. In the graph the batch is the one extent that is
// open, so that a number in its place in every type says it all.
#include "dialects/mpc/IR/Mpc.h"
#include "mpc/Transforms/Passes.h"

using namespace mlir;
using namespace mpc;

namespace mpc {
#define GEN_PASS_DEF_SPECIALIZEBATCH
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

/// An input whose batch the model fixes to another number, or success.
static LogicalResult checkInputs(func::FuncOp function, int64_t batch) {
  for (BlockArgument argument : function.getArguments()) {
    auto name =
        function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), MpcDialect::kInputAttr);
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!name || !type || type.getRank() == 0 || type.isDynamicDim(0) ||
        type.getDimSize(0) == batch)
      continue;
    return function.emitError() << "input '" << name.getValue() << "' has a batch of "
                                << type.getDimSize(0)
                                << " in the model (some layer keeps states); expected --batch="
                                << type.getDimSize(0) << " or none";
  }
  return success();
}

static Type specialize(Type type, int64_t batch) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || tensor.hasStaticShape())
    return type;
  SmallVector<int64_t> shape(tensor.getShape());
  llvm::replace(shape, ShapedType::kDynamic, batch);
  return tensor.clone(shape);
}

namespace {
class SpecializeBatchPass : public mpc::impl::SpecializeBatchBase<SpecializeBatchPass> {
public:
  using SpecializeBatchBase::SpecializeBatchBase;

  void runOnModule() override {
    if (batch <= 0) {
      getOperation().emitError() << "batch=" << int64_t(batch) << ": expected a positive number";
      return signalPassFailure();
    }
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(checkInputs(function, batch)))
        return signalPassFailure();
    getOperation().walk([&](Operation *op) {
      for (Value result : op->getResults())
        result.setType(specialize(result.getType(), batch));
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (BlockArgument argument : block.getArguments())
            argument.setType(specialize(argument.getType(), batch));
      if (auto function = dyn_cast<func::FuncOp>(op)) {
        auto each = [&](ArrayRef<Type> types) {
          return llvm::map_to_vector(types, [&](Type type) { return specialize(type, batch); });
        };
        FunctionType type = function.getFunctionType();
        function.setFunctionType(
            FunctionType::get(op->getContext(), each(type.getInputs()), each(type.getResults())));
      }
    });
  }
};
} // namespace
