// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Forms: outputs with a largest extent, and texts.
#include "dialects/mpc/IR/Forms.h"

using namespace mlir;
using namespace mpc;

bool mpc::isExtentType(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped && shaped.hasRank() && shaped.getRank() == 0 &&
         shaped.getElementType().isSignlessInteger(64);
}

static LogicalResult verifyBounded(Operation *op, ShapedType type, BoundedAttr form) {
  const int64_t axis = form.getAxis();
  if (axis < 0 || axis >= type.getRank() || type.isDynamicDim(unsigned(axis)))
    return op->emitOpError() << MpcDialect::kFormAttr << " bounds dimension " << axis << " of "
                             << type << ", which has no extent that could be the largest";
  return success();
}

static LogicalResult verifyText(Operation *op, ShapedType type) {
  if (!type.getElementType().isSignlessInteger(32) || type.getRank() == 0 ||
      type.isDynamicDim(unsigned(type.getRank() - 1)))
    return op->emitOpError() << MpcDialect::kFormAttr << " says that " << type
                             << " is text; expected code points of i32 in a last dimension that "
                                "is known";
  return success();
}

LogicalResult mpc::verifyForms(Operation *op, Type type, Attribute forms) {
  auto all = dyn_cast<ArrayAttr>(forms);
  auto shaped = dyn_cast<ShapedType>(type);
  if (!all || !shaped || !shaped.hasRank())
    return op->emitOpError() << MpcDialect::kFormAttr
                             << " must be an array of forms, of a tensor or a buffer";
  unsigned bounds = 0, texts = 0;
  for (Attribute form : all) {
    if (auto bounded = dyn_cast<BoundedAttr>(form)) {
      ++bounds;
      if (failed(verifyBounded(op, shaped, bounded)))
        return failure();
    } else if (isa<TextAttr>(form)) {
      ++texts;
      if (failed(verifyText(op, shaped)))
        return failure();
    } else {
      return op->emitOpError() << MpcDialect::kFormAttr << " has " << form
                               << "; expected #mpc.bounded and #mpc.text";
    }
  }
  if (bounds > 1 || texts > 1)
    return op->emitOpError() << MpcDialect::kFormAttr << " has a form twice";
  return success();
}

LogicalResult mpc::verifyResultForms(FunctionOpInterface function, unsigned result) {
  Attribute forms = function.getResultAttr(result, MpcDialect::kFormAttr);
  if (failed(verifyForms(function, function.getResultTypes()[result], forms)))
    return failure();
  auto bounded = findForm<BoundedAttr>(forms);
  if (!bounded)
    return success();
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (i != result &&
        function.getResultAttr(i, MpcDialect::kOutputAttr) == Attribute(bounded.getExtent()) &&
        isExtentType(function.getResultTypes()[i]))
      return success();
  return function.emitOpError() << MpcDialect::kFormAttr << " names " << bounded.getExtent()
                                << " as an extent, which no result of i64 is that has no "
                                   "dimensions";
}

void mpc::keepForms(func::FuncOp forward, func::FuncOp entry) {
  llvm::DenseMap<Attribute, Attribute> forms; // by name of the output
  for (unsigned i = 0; i < forward.getNumResults(); ++i)
    if (Attribute form = forward.getResultAttr(i, MpcDialect::kFormAttr))
      forms[forward.getResultAttr(i, MpcDialect::kOutputAttr)] = form;
  for (unsigned i = 0; !forms.empty() && i < entry.getNumResults(); ++i)
    if (Attribute name = entry.getResultAttr(i, MpcDialect::kOutputAttr))
      if (Attribute form = forms.lookup(name))
        entry.setResultAttr(i, MpcDialect::kFormAttr, form);
}
