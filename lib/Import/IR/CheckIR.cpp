// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The trial of the parser in a guarded child. The child returns a verdict and no module: the parent
// then parses the same bytes, which it knows to come to an end.
#include "mpc/Import/IR/CheckIR.h"
#include "lib/Import/IR/AttributeSize.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mpc/Support/GuardedChild.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/SourceMgr.h"

#include <unistd.h>

using namespace mlir;
using namespace mpc;

/// Runs in the child.
static AttributeSize parse(llvm::MemoryBufferRef file, const DialectRegistry &registry,
                           bool allowsUnregistered) {
  // Threads of another context do not live in the child.
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.allowUnregisteredDialects(allowsUnregistered);
  // The parent process tells what is wrong.
  ScopedDiagnosticHandler silence(&context, [](Diagnostic &) { return success(); });
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBuffer(file, /*RequiresNullTerminator=*/false), llvm::SMLoc());
  Block block;
  if (failed(parseSourceFile(sources, &block, ParserConfig(&context))))
    return {};
  AttributeSize largest;
  for (Operation &operation : block) {
    const AttributeSize size = findLargestAttribute(&operation);
    largest.nodes = std::max(largest.nodes, size.nodes);
    largest.depth = std::max(largest.depth, size.depth);
  }
  return largest;
}

static llvm::Error refuse(llvm::MemoryBufferRef file, const llvm::Twine &what) {
  return llvm::createStringError(llvm::errc::invalid_argument,
                                 file.getBufferIdentifier() + ": " + what +
                                     "; expected IR as mpcc --compile-to prints it");
}

llvm::Error mpc::checkIR(llvm::MemoryBufferRef file, const DialectRegistry &registry,
                         bool allowsUnregistered, const IRLimits &limits) {
  if (!isBytecode(file))
    if (llvm::Error error = checkIRText(file, limits))
      return error;
  const uint64_t bytes = file.getBufferSize();
  ChildLimits childLimits;
  childLimits.memory = (uint64_t(1) << 30) + 64 * bytes;
  childLimits.processorSeconds = unsigned(limits.seconds + bytes / 1'000'000);
  // Processors have others to serve.
  childLimits.wallSeconds = 60 * childLimits.processorSeconds;
  GuardedChild child;
  if (!child.start(childLimits, [&](int pipe) {
        const AttributeSize largest = parse(file, registry, allowsUnregistered);
        return ::write(pipe, &largest, sizeof largest) == sizeof largest;
      }))
    return refuse(file, "cannot be read in a process of its own: the system grants none");
  AttributeSize largest;
  if (!child.read(&largest, sizeof largest) || !child.finish())
    return refuse(file, "damaged IR: the parser crashed or came to no end within " +
                            llvm::Twine(childLimits.processorSeconds) +
                            " s of processor time and " + llvm::Twine(childLimits.memory >> 20) +
                            " MiB");
  if (largest.depth > limits.depth)
    return refuse(file, "attributes, types or locations of the IR are nested deeper than " +
                            llvm::Twine(limits.depth) + " levels");
  if (largest.nodes > limits.nodes + 16 * bytes)
    return refuse(file, "an attribute, type or location of the IR has more than " +
                            llvm::Twine(limits.nodes + 16 * bytes) +
                            " parts when its aliases are written out");
  return llvm::Error::success();
}
