// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Registration of the mpcrt dialect and verification of its discardable attributes.
#include "dialects/mpcrt/IR/Requantization.h"
#include "dialects/mpcrt/IR/ServicesSize.h"
#include "dialects/mpcrt/IR/Turn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace mpc::mpcrt;

#include "dialects/mpcrt/IR/MpcrtDialect.cpp.inc"

void MpcrtDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/mpcrt/IR/MpcrtOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/mpcrt/IR/MpcrtTurnOp.cpp.inc"
      >();
}

LogicalResult MpcrtDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned argIndex,
                                                     NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return op->emitOpError() << attribute.getName() << " is for arguments of functions";
  Type type = function.getArgumentTypes()[argIndex];
  if (attribute.getName() == kOutputAttr) {
    if (!isa<StringAttr>(attribute.getValue()))
      return op->emitOpError() << kOutputAttr << " must be a string";
    if (!isa<MemRefType>(type))
      return op->emitOpError() << kOutputAttr << " is for memrefs, but the argument has type "
                               << type;
    return success();
  }
  if (attribute.getName() == kBatchAttr) {
    if (!type.isIndex())
      return op->emitOpError() << kBatchAttr << " is for an index, but the argument has type "
                               << type;
    return success();
  }
  if (attribute.getName() == kArenaAttr || attribute.getName() == kPreparedAttr) {
    auto arena = dyn_cast<MemRefType>(type);
    if (!arena || arena.getRank() != 1 || !arena.getElementType().isInteger(8))
      return op->emitOpError() << attribute.getName().strref()
                               << " is for memref<?xi8>, but the argument has type " << type;
    return success();
  }
  return op->emitOpError() << "unknown argument attribute " << attribute.getName();
}

LogicalResult MpcrtDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == kArenaFixedAttr || attribute.getName() == kArenaPerSampleAttr) {
    auto bytes = dyn_cast<IntegerAttr>(attribute.getValue());
    if (!bytes || bytes.getInt() < 0)
      return op->emitOpError() << attribute.getName() << " must be a number of bytes";
    return success();
  }
  if (attribute.getName() == kKernelAttr) {
    auto function = dyn_cast<FunctionOpInterface>(op);
    if (!function)
      return op->emitOpError() << kKernelAttr << " is for functions";
    ArrayRef<Type> types = function.getArgumentTypes();
    if (types.size() < 2 || !types[types.size() - 1].isIndex() ||
        !types[types.size() - 2].isIndex())
      return op->emitOpError() << "a kernel's last two arguments are the indices begin and end";
    if (function.getNumResults() != 0)
      return op->emitOpError() << "a kernel has no results";
    return success();
  }
  // Tables for the emission of the library: kernel symbols in order, what each entry takes and
  // gives.
  if (attribute.getName() == kKernelsAttr || attribute.getName() == kEntryTableAttr ||
      attribute.getName() == kAbiVersionAttr || attribute.getName() == kServicesSizeAttr ||
      attribute.getName() == kDistributedAttr)
    return success();
  if (attribute.getName() == kTurnsAttr || attribute.getName() == kTurnedLhsAttr ||
      attribute.getName() == kTurnedRhsAttr)
    return verifyTurned(op, attribute);
  if (attribute.getName() == kIndependentAttr) {
    if (!isa<LoopLikeOpInterface>(op))
      return op->emitOpError() << kIndependentAttr << " is for loops";
    return success();
  }
  if (attribute.getName() == kElseNumberAttr) {
    if (!isa<arith::SelectOp>(op) || !isa<FloatType>(op->getResult(0).getType()))
      return op->emitOpError() << kElseNumberAttr << " is for arith.select of floats";
    return success();
  }
  if (attribute.getName() == kRequantizationAttr) { // the op's verifier reads the numbers
    if (!isa<InterleaveOp>(op) || !isa<DenseI64ArrayAttr>(attribute.getValue()))
      return op->emitOpError() << kRequantizationAttr << " is numbers of mpcrt.interleave";
    return success();
  }
  return op->emitOpError() << "unknown attribute " << attribute.getName();
}
