// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/mpc-lsp-server/PrecisionHover.h"
#include "dialects/mpc/IR/Mpc.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/TypeUtilities.h"
#include "mpc/Analysis/LayerPath.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace mpc::lsp {

static bool isAt(llvm::SMRange range, llvm::SMLoc place) {
  return range.isValid() && range.Start.getPointer() <= place.getPointer() &&
         place.getPointer() < range.End.getPointer();
}

static bool isAt(const AsmParserState::SMDefinition &definition, llvm::SMLoc place) {
  return isAt(definition.loc, place) ||
         llvm::any_of(definition.uses, [&](llvm::SMRange use) { return isAt(use, place); });
}

static Operation *findOperation(const AsmParserState &state, llvm::SMLoc place) {
  for (const AsmParserState::OperationDefinition &definition : state.getOpDefs())
    if (isAt(definition.loc, place) ||
        llvm::any_of(definition.resultGroups,
                     [&](const auto &group) { return isAt(group.definition, place); }))
      return definition.op;
  return nullptr;
}

/// "bf16, f32": the element types, each once, in order.
static std::string listElementTypes(TypeRange types) {
  llvm::SetVector<Type> elements;
  for (Type type : types)
    elements.insert(getElementTypeOrSelf(type));
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::interleaveComma(elements, stream);
  return text;
}

static std::string textOf(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

static void describeLayer(LayerOp layer, llvm::raw_ostream &os) {
  os << "Layer `" << layer.getPath() << "`, a " << layer.getKind();
  if (PrecisionAttr precision = layer.getPrecisionAttr())
    os << ": computes in `" << textOf(precision.getCompute()) << "`, variables in `"
       << textOf(precision.getVariable()) << "`, sums in `" << textOf(precision.getAccumulate())
       << "`, decided by `" << precision.getRule().getValue() << "`";
  else if (layer.getPolicy())
    os << ": policy `" << *layer.getPolicy() << "`, not applied yet";
  os << "\n\n";
}

static void describe(Operation *op, llvm::raw_ostream &os) {
  if (auto variable = dyn_cast<VariableOp>(op)) {
    os << "Variable, stored in `" << textOf(getElementTypeOrSelf(variable.getType())) << "`, role `"
       << stringifyVariableRole(variable.getRole()) << "`";
    if (variable.getLayer())
      os << ", of layer `" << *variable.getLayer() << "`";
    os << "\n\n";
    return;
  }
  auto layer = dyn_cast<LayerOp>(op);
  if (!layer)
    layer = op->getParentOfType<LayerOp>();
  // Behind mpc-insert-casts layers are the locations of their ops.
  const StringRef path = layer ? StringRef() : layerPathOf(op->getLoc());
  if (layer)
    describeLayer(layer, os);
  else if (!path.empty())
    os << "Layer `" << path << "`\n\n";
  if (op->getNumOperands())
    os << "Reads `" << listElementTypes(op->getOperandTypes()) << "`\n\n";
  if (op->getNumResults())
    os << "Gives `" << listElementTypes(op->getResultTypes()) << "`\n\n";
}

std::string describePrecision(llvm::StringRef text, llvm::lsp::Position position,
                              const DialectRegistry &registry) {
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.allowUnregisteredDialects();
  ScopedDiagnosticHandler silence(&context, [](Diagnostic &) { return success(); });
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, "document"), {});
  const llvm::SMLoc place = position.getAsSMLoc(sources);
  AsmParserState state;
  Block block;
  if (!place.isValid() ||
      failed(parseAsmSourceFile(sources, &block, ParserConfig(&context, /*verifyAfterParse=*/false),
                                &state)))
    return "";
  std::string described;
  llvm::raw_string_ostream stream(described);
  if (Operation *op = findOperation(state, place))
    describe(op, stream);
  return described;
}

} // namespace mpc::lsp
