// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Registration of the dialect and shape inference shared by its ops.
#include "dialects/mpc/IR/FoldConstants.h"
#include "dialects/mpc/IR/Forms.h"
#include "dialects/mpc/IR/Mpc.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpc;

#include "dialects/mpc/IR/MpcEnums.cpp.inc"

#include "dialects/mpc/IR/MpcOpInterfaces.cpp.inc"

#include "dialects/mpc/IR/MpcAttrInterfaces.cpp.inc"

#include "dialects/mpc/IR/MpcDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/mpc/IR/MpcAttributes.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/mpc/IR/MpcOps.cpp.inc"

void MpcDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/mpc/IR/MpcAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/mpc/IR/MpcOps.cpp.inc"
      >();
  addInterfaces<FoldConstants>();
}

/// An argument or result that names a variable must find it in the module and have its type.
static LogicalResult verifyVariableReference(Operation *op, StringRef name, Attribute value,
                                             Type type, SymbolTableCollection &symbols) {
  auto symbol = dyn_cast<FlatSymbolRefAttr>(value);
  if (!symbol)
    return op->emitOpError() << name << " must be a symbol";
  auto variable = symbols.lookupNearestSymbolFrom<VariableOp>(op, symbol);
  if (!variable)
    return op->emitOpError() << name << " names " << symbol << ", which no mpc.variable declares";
  // After bufferization the argument is a memref of the same shape. From phase tensors on its
  // integers are signless.
  auto shaped = dyn_cast<ShapedType>(type);
  auto declared = cast<ShapedType>(variable.getType());
  Type element = declared.getElementType();
  if (shaped && element.isUnsignedInteger() && shaped.getElementType().isSignlessInteger())
    element = IntegerType::get(op->getContext(), element.getIntOrFloatBitWidth());
  if (!shaped || !shaped.hasRank() || shaped.getShape() != declared.getShape() ||
      shaped.getElementType() != element)
    return op->emitOpError() << name << " names " << symbol << " of type " << declared
                             << ", but has type " << type;
  return success();
}

/// All arguments or results with an attribute of this name, when asked about the first one of them:
/// one table of the module's symbols does for all.
static LogicalResult verifyVariableReferences(Operation *op, StringRef name, unsigned index,
                                              ArrayRef<Type> types,
                                              llvm::function_ref<Attribute(unsigned)> valueOf) {
  // Those of variables mostly follow each other, behind many that have none.
  if (index > 0 && valueOf(index - 1))
    return success();
  for (unsigned i = 0; i < index; ++i)
    if (valueOf(i))
      return success();
  SymbolTableCollection symbols;
  for (auto [i, type] : llvm::enumerate(types))
    if (Attribute value = valueOf(i))
      if (failed(verifyVariableReference(op, name, value, type, symbols)))
        return failure();
  return success();
}

template <typename Kind>
static LogicalResult verifyKind(Operation *op, NamedAttribute attribute, StringRef expected) {
  if (isa<Kind>(attribute.getValue()))
    return success();
  return op->emitOpError() << attribute.getName() << " must be " << expected << ", got "
                           << attribute.getValue();
}

LogicalResult MpcDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned argIndex,
                                                   NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return op->emitOpError() << attribute.getName() << " is for arguments of functions";
  if (attribute.getName() == kVariableAttr)
    return verifyVariableReferences(
        op, kVariableAttr, argIndex, function.getArgumentTypes(),
        [&](unsigned i) { return function.getArgAttr(i, kVariableAttr); });
  if (attribute.getName() == kInputAttr || attribute.getName() == kTargetAttr) {
    if (!isa<StringAttr>(attribute.getValue()))
      return op->emitOpError() << attribute.getName() << " must be a string";
    if (Type type = function.getArgumentTypes()[argIndex]; !isAddressable(type))
      return op->emitOpError() << "argument #" << argIndex << " has more than 2^47 bytes: " << type;
    return success();
  }
  if (attribute.getName() == kIndexLimitAttr) {
    auto limit = dyn_cast<IntegerAttr>(attribute.getValue());
    if (!limit || limit.getInt() <= 0)
      return op->emitOpError() << attribute.getName() << " must be a positive integer";
    return success();
  }
  if (attribute.getName() == kElementTypeAttr)
    return verifyKind<TypeAttr>(op, attribute, "a type");
  if (attribute.getName() == kFormAttr)
    return verifyForms(op, function.getArgumentTypes()[argIndex], attribute.getValue());
  return op->emitOpError() << "unknown argument attribute " << attribute.getName();
}

LogicalResult MpcDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned resultIndex,
                                                      NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return op->emitOpError() << attribute.getName() << " is for results of functions";
  if (attribute.getName() == kUpdatesAttr)
    return verifyVariableReferences(
        op, kUpdatesAttr, resultIndex, function.getResultTypes(),
        [&](unsigned i) { return function.getResultAttr(i, kUpdatesAttr); });
  if (attribute.getName() == kOutputAttr || attribute.getName() == kAddedMetricAttr) {
    if (!isa<StringAttr>(attribute.getValue()))
      return op->emitOpError() << attribute.getName() << " must be a string";
    return success();
  }
  if (llvm::is_contained({kLossTermAttr, kMaskAttr, kStatefulAttr}, attribute.getName()))
    return verifyKind<UnitAttr>(op, attribute, "a unit");
  if (attribute.getName() == kElementTypeAttr)
    return verifyKind<TypeAttr>(op, attribute, "a type");
  if (attribute.getName() == kFormAttr)
    return verifyResultForms(function, resultIndex);
  return op->emitOpError() << "unknown result attribute " << attribute.getName();
}

bool mpc::isAddressable(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped || !shaped.hasRank() || !shaped.getElementType().isIntOrFloat())
    return true;
  // Extents of 0 count as 1: other dimensions are multiplied alone, too.
  int64_t bytes = llvm::divideCeil(shaped.getElementTypeBitWidth(), 8);
  for (int64_t extent : shaped.getShape())
    if (!ShapedType::isDynamic(extent) &&
        (llvm::MulOverflow(bytes, std::max<int64_t>(extent, 1), bytes) || bytes > int64_t(1) << 47))
      return false;
  return true;
}

LogicalResult mpc::verifyAddressable(Operation *op) {
  auto verify = [&](TypeRange types, StringRef kind) -> LogicalResult {
    for (auto [i, type] : llvm::enumerate(types))
      if (!isAddressable(type))
        return op->emitOpError() << kind << " #" << i << " has more than 2^47 bytes: " << type;
    return success();
  };
  if (failed(verify(op->getOperandTypes(), "operand")))
    return failure();
  return verify(op->getResultTypes(), "result");
}

Type mpc::widerOf32(Type elementType) {
  return elementType.isF64() ? elementType : Float32Type::get(elementType.getContext());
}

Type mpc::promoteFloats(Type a, Type b) {
  if (!a || a == b)
    return b;
  if (!b)
    return a;
  unsigned aWidth = a.getIntOrFloatBitWidth(), bWidth = b.getIntOrFloatBitWidth();
  if (aWidth == bWidth)
    return Float32Type::get(a.getContext());
  return aWidth > bWidth ? a : b;
}

FailureOr<SmallVector<int64_t>> mpc::broadcastShapes(ArrayRef<ArrayRef<int64_t>> shapes) {
  size_t rank = 0;
  for (ArrayRef<int64_t> shape : shapes)
    rank = std::max(rank, shape.size());
  SmallVector<int64_t> result(rank, 1);
  for (ArrayRef<int64_t> shape : shapes)
    for (size_t i = 0; i < shape.size(); ++i) {
      int64_t &extent = result[rank - 1 - i];
      int64_t other = shape[shape.size() - 1 - i];
      if (other == 1 || other == extent)
        continue;
      if (extent != 1)
        return failure();
      extent = other;
    }
  return result;
}

LogicalResult mpc::inferElementwise(StringRef opName, std::optional<Location> location,
                                    ValueRange operands, SmallVectorImpl<Type> &types) {
  SmallVector<ArrayRef<int64_t>> shapes;
  for (Value operand : operands)
    shapes.push_back(tensorTypeOf(operand).getShape());
  auto shape = broadcastShapes(shapes);
  if (failed(shape))
    return emitOptionalError(location, "operand shapes do not broadcast");
  // The last operand carries the values (a select's condition comes first).
  Type element = elementTypeOf(operands.back());
  size_t first = opName == SelectOp::getOperationName() ? 1 : 0;
  for (Value operand : operands.drop_front(first))
    if (elementTypeOf(operand) != element)
      return emitOptionalError(location, "operands have element types ", elementTypeOf(operand),
                               " and ", element, "; insert mpc.cast, no op promotes implicitly");
  bool isTest = opName == CompareOp::getOperationName() || opName == IsFiniteOp::getOperationName();
  if (isTest)
    element = IntegerType::get(element.getContext(), 1);
  types.push_back(RankedTensorType::get(*shape, element));
  return success();
}
