// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/mpc-lsp-server/Documents.h"
#include "mpc/Import/IR/CheckIR.h"
#include "llvm/Support/LSP/Protocol.h"

using llvm::StringRef;

namespace mpc::lsp {

const std::string &Documents::check(StringRef uri, Text &text) {
  static const std::string none;
  llvm::Error error = checkIRText(llvm::MemoryBufferRef(text.text, uri));
  text.problem = error ? llvm::toString(std::move(error)) : "";
  return text.problem.empty() ? text.text : none;
}

void Documents::open(llvm::json::Object &parameters) {
  llvm::json::Object *document = parameters.getObject("textDocument");
  const auto uri = document ? document->getString("uri") : std::nullopt;
  const auto given = document ? document->getString("text") : std::nullopt;
  if (!uri || !given)
    return;
  Text &text = texts[*uri];
  text.text = given->str();
  (*document)["text"] = check(*uri, text);
}

void Documents::change(llvm::json::Object &parameters) {
  const llvm::json::Object *document = parameters.getObject("textDocument");
  const auto uri = document ? document->getString("uri") : std::nullopt;
  const llvm::json::Array *changes = parameters.getArray("contentChanges");
  if (!uri || !changes)
    return;
  Text &text = texts[*uri];
  for (const llvm::json::Value &value : *changes) {
    llvm::lsp::TextDocumentContentChangeEvent change;
    llvm::json::Path::Root root;
    if (fromJSON(value, change, root))
      (void)change.applyTo(text.text); // one of no place in the text changes nothing
  }
  parameters["contentChanges"] = llvm::json::Array{llvm::json::Object{{"text", check(*uri, text)}}};
}

std::string Documents::textOf(StringRef uri) const {
  auto found = texts.find(uri);
  return found == texts.end() || !found->second.problem.empty() ? "" : found->second.text;
}

std::string Documents::problemOf(StringRef uri) const {
  auto found = texts.find(uri);
  return found == texts.end() ? "" : found->second.problem;
}

} // namespace mpc::lsp
