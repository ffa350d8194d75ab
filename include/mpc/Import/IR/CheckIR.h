// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether a file of IR, text or bytecode, can be given to MLIR's parser: that recurses, takes
// quadratic time over some literals, and trusts bytecode in places.
#ifndef MPC_IMPORT_IR_CHECKIR_H
#define MPC_IMPORT_IR_CHECKIR_H

#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBufferRef.h"

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mpc {

struct IRLimits {
  /// The depth of brackets in text, and of attributes, types and locations in each other.
  unsigned depth = 256;
  /// The digits of a literal in text.
  unsigned digits = 4096;
  /// Nodes of one attribute, type or location, counted as often as it is printed: aliases make few
  /// bytes many. Besides these, sixteen for each byte of the file.
  uint64_t nodes = 1'000'000;
  /// Seconds of processor time, for the parser in a child process. Besides these, one for each
  /// megabyte.
  unsigned seconds = 5;
};

/// "FILE[:LINE]: …" where a limit is passed, or where the parser, tried in a guarded child process,
/// crashes or does not end. What the parser itself refuses passes: it says so better when it is
/// called. `allowsUnregistered`: as mlir-opt's --allow-unregistered-dialect.
llvm::Error checkIR(llvm::MemoryBufferRef file, const mlir::DialectRegistry &registry,
                    bool allowsUnregistered, const IRLimits &limits = {});

/// The part of it that text needs before any parser: nesting and literals.
llvm::Error checkIRText(llvm::MemoryBufferRef text, const IRLimits &limits = {});

} // namespace mpc

#endif // MPC_IMPORT_IR_CHECKIR_H
