// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The texts that an editor has open. MLIR's parser recurses: a text that nests too deep, or has an
// endless literal, is kept from it.
#ifndef MPC_TOOLS_MPC_LSP_SERVER_DOCUMENTS_H
#define MPC_TOOLS_MPC_LSP_SERVER_DOCUMENTS_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

#include <string>

namespace mpc::lsp {

class Documents {
public:
  /// Notes what `textDocument/didOpen` or `didChange` says, and makes it what MLIR's server is to
  /// get: the whole text, or none where it is refused.
  void open(llvm::json::Object &parameters);
  void change(llvm::json::Object &parameters);
  void close(llvm::StringRef uri) { texts.erase(uri); }

  /// The text, "" of one that is not open or refused.
  std::string textOf(llvm::StringRef uri) const;
  /// Why the text is refused, "" where it is not.
  std::string problemOf(llvm::StringRef uri) const;

private:
  struct Text {
    std::string text, problem;
  };
  /// The text that MLIR's server gets: none where this one is refused.
  const std::string &check(llvm::StringRef uri, Text &text);
  llvm::StringMap<Text> texts;
};

} // namespace mpc::lsp

#endif // MPC_TOOLS_MPC_LSP_SERVER_DOCUMENTS_H
