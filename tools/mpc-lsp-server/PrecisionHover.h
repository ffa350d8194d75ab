// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tells an editor of an op, besides MLIR's text, the layer that it came from and in which precision
// it computes.
#ifndef MPC_TOOLS_MPC_LSP_SERVER_PRECISION_HOVER_H
#define MPC_TOOLS_MPC_LSP_SERVER_PRECISION_HOVER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LSP/Protocol.h"

#include <string>

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mpc::lsp {

/// Markdown about the op whose name, or one of whose results, stands at the position of the text;
/// "" where there is none, and for text that is no IR.
std::string describePrecision(llvm::StringRef text, llvm::lsp::Position position,
                              const mlir::DialectRegistry &registry);

} // namespace mpc::lsp

#endif // MPC_TOOLS_MPC_LSP_SERVER_PRECISION_HOVER_H
