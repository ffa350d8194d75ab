// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mpc/Analysis/EntrySignature.h"
#include "dialects/mpc/IR/Mpc.h"
#include "dialects/mpcrt/IR/Mpcrt.h"

using namespace mlir;
using namespace mpc;
using mpcrt::MpcrtDialect;

LogicalResult mpc::verifyEntrySignature(func::FuncOp entry) {
  auto fail = [&]() -> InFlightDiagnostic {
    return entry.emitOpError() << "@" << entry.getSymName() << " is an entry (mpc.entry) ";
  };
  if (entry.isExternal() || !llvm::hasSingleElement(entry.getBody()))
    return fail() << "and must have a body of one block";
  if (entry.getNumResults() != 0)
    return fail() << "and must have no results after the phase buffers";
  for (StringRef size : {MpcrtDialect::kArenaFixedAttr, MpcrtDialect::kArenaPerSampleAttr})
    if (!entry->getAttrOfType<IntegerAttr>(size))
      return fail() << "and does not say how large its arena is; expected the integer " << size;
  unsigned batches = 0, arenas = 0;
  for (auto [index, type] : llvm::enumerate(entry.getArgumentTypes())) {
    auto has = [&, i = index](StringRef name) { return entry.getArgAttr(i, name) != nullptr; };
    bool isBatch = has(MpcrtDialect::kBatchAttr);
    unsigned roles = has(MpcDialect::kInputAttr) + has(MpcDialect::kTargetAttr) +
                     has(MpcDialect::kVariableAttr) + has(MpcrtDialect::kOutputAttr) + isBatch +
                     has(MpcrtDialect::kArenaAttr) + has(MpcrtDialect::kPreparedAttr);
    batches += isBatch;
    arenas += has(MpcrtDialect::kArenaAttr);
    if (roles != 1)
      return fail() << "and its argument " << index
                    << " must be one of input, target, variable, output, batch, arena and "
                       "prepared, but is "
                    << roles << " of them";
    auto memref = dyn_cast<MemRefType>(type);
    if (isBatch ? !type.isIndex() : !memref)
      return fail() << "and its argument " << index << " must be "
                    << (isBatch ? "an index" : "a buffer") << ", but is " << type;
    if (memref && !memref.getLayout().isIdentity())
      return fail() << "and its argument " << index << " must be dense";
  }
  if (batches != 1 || arenas != 1)
    return fail() << "and must have one argument mpcrt.batch and one mpcrt.arena";
  return success();
}
