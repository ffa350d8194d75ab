// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stands between an editor and MLIR's language server, which has no place for what a dialect knows:
// adds to its answers, and keeps from it what its parser would not survive.
#ifndef MPC_TOOLS_MPC_LSP_SERVER_SESSION_H
#define MPC_TOOLS_MPC_LSP_SERVER_SESSION_H

#include "tools/mpc-lsp-server/Documents.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/LSP/Protocol.h"

#include <cstdio>
#include <mutex>

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mpc::lsp {

class Session {
public:
  /// `editor` is the descriptor that the editor reads, `server` the one that MLIR's server reads.
  Session(int editor, int server, const mlir::DialectRegistry &registry)
      : editor(editor), server(server), registry(registry) {}

  /// Passes the editor's messages on until its stream ends.
  void followEditor(std::FILE *messages);
  /// Passes the messages of MLIR's server on until it ends; runs on another thread.
  void followServer(std::FILE *messages);

private:
  struct Question {
    std::string uri;
    llvm::lsp::Position position;
  };
  void toServer(std::string message);
  void toEditor(std::string message);
  void publishProblem(llvm::StringRef uri);
  void rememberHover(const llvm::json::Object &message);
  /// The message with what describePrecision() says, where it answers a hover.
  bool completeHover(llvm::json::Object &message);

  const int editor, server;
  const mlir::DialectRegistry &registry;
  std::mutex mutex; // of what follows, and of what is written to the editor
  Documents documents;
  llvm::StringMap<Question> hovers; // by the id as JSON
};

/// Runs the server in a child process, and a session between it and the editor on the standard
/// streams; the exit status.
int runSession(const mlir::DialectRegistry &registry, llvm::function_ref<int()> runServer);

} // namespace mpc::lsp

#endif // MPC_TOOLS_MPC_LSP_SERVER_SESSION_H
