// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-verify-import: the exit contract of the phase `import`.
#include "dialects/mpc/IR/Mpc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mpc/Transforms/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_VERIFYIMPORT
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// A call's arrays have a shape that is known but for the batch, which comes first.
static LogicalResult verifyShape(Location loc, Type type, const Twine &what) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return emitError(loc) << what << " is " << type << "; expected a ranked tensor";
  ArrayRef<int64_t> shape = tensor.getShape();
  if (ShapedType::isDynamicShape(shape.drop_front(shape.empty() ? 0 : 1)))
    return emitError(loc) << what << " is " << type
                          << "; only the first dimension, the batch, may be dynamic";
  if (llvm::is_contained(shape, 0))
    return emitError(loc) << what << " is " << type << ", which has no elements";
  return success();
}

static LogicalResult verifyShapes(TypeRange types, StringRef what, Location loc) {
  for (auto [i, type] : llvm::enumerate(types))
    if (failed(verifyShape(loc, type, what + " #" + Twine(i))))
      return failure();
  return success();
}

/// Arrays of a call are told apart by name.
static LogicalResult verifyNames(func::FuncOp function, unsigned count, StringRef kind,
                                 function_ref<Attribute(unsigned)> nameOf) {
  llvm::SmallDenseSet<Attribute> names;
  for (unsigned i = 0; i < count; ++i)
    if (Attribute name = nameOf(i); name && !names.insert(name).second)
      return function.emitError() << "@" << function.getSymName() << " has two " << kind
                                  << " named " << name << "; expected different names";
  return success();
}

static LogicalResult verifyFunction(func::FuncOp function) {
  if (llvm::is_contained({"forward", "loss", "metric_results"}, function.getSymName()) &&
      !llvm::hasSingleElement(function.getBody()))
    return function.emitError() << "@" << function.getSymName()
                                << " must have a body of one block, which mpc-differentiate copies";
  Location loc = function.getLoc();
  if (failed(verifyShapes(function.getArgumentTypes(), "argument", loc)) ||
      failed(verifyShapes(function.getResultTypes(), "result", loc)))
    return failure();
  auto argument = [&](StringRef attribute) {
    return [&function, attribute](unsigned i) { return function.getArgAttr(i, attribute); };
  };
  auto result = [&](unsigned i) { return function.getResultAttr(i, MpcDialect::kOutputAttr); };
  if (failed(verifyNames(function, function.getNumArguments(), "inputs",
                         argument(MpcDialect::kInputAttr))) ||
      failed(verifyNames(function, function.getNumArguments(), "targets",
                         argument(MpcDialect::kTargetAttr))) ||
      failed(verifyNames(function, function.getNumResults(), "outputs", result)))
    return failure();
  return success();
}

namespace {
struct VerifyImportPass : mpc::impl::VerifyImportBase<VerifyImportPass> {
  void runOnOperation() override {
    bool ok = succeeded(verifyOnce<OptimizerOp>());
    ok &= succeeded(verifyOnce<LossScaleOp>());
    for (Operation &op : *getOperation().getBody())
      op.walk([&](Operation *nested) { ok &= succeeded(verify(nested)); });
    for (auto function : getOperation().getOps<func::FuncOp>())
      ok &= succeeded(verifyFunction(function));
    if (!ok)
      signalPassFailure();
  }

  template <typename Op> LogicalResult verifyOnce() {
    auto ops = getOperation().getOps<Op>();
    if (ops.empty() || std::next(ops.begin()) == ops.end())
      return success();
    return (*std::next(ops.begin()))->emitError()
           << "is a second '" << Op::getOperationName() << "'; a module has at most one";
  }

  static LogicalResult verify(Operation *op) {
    if (!isa_and_present<MpcDialect, func::FuncDialect>(op->getDialect()))
      return op->emitError() << "op '" << op->getName()
                             << "' does not belong to phase import; expected ops of mpc and func "
                                "only";
    if (failed(verifyShapes(op->getResultTypes(), "result", op->getLoc())))
      return failure();
    auto layer = dyn_cast<LayerOp>(op);
    if (!layer)
      return success();
    if (layer.getPath().empty())
      return layer.emitError() << "a layer of kind \"" << layer.getKind()
                               << "\" has no path; expected Keras's, by which policies find it";
    if (layer.getPrecision())
      return layer.emitError() << "layer \"" << layer.getPath()
                               << "\" has a precision already; expected that of its policy, which "
                                  "the phase policy decides";
    return success();
  }
};
} // namespace
