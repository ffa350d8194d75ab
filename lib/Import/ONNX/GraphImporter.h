// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Builds @forward of a model: walks its nodes in their order and gives each an mpc.layer, unless
// its result is a constant.
#ifndef MPC_LIB_IMPORT_ONNX_GRAPHIMPORTER_H
#define MPC_LIB_IMPORT_ONNX_GRAPHIMPORTER_H

#include "lib/Import/ONNX/Forward.h"
#include "lib/Import/ONNX/OpTable.h"
#include "mpc/Import/ONNX/Import.h"

namespace mpc::onnx {

class GraphImporter {
public:
  /// `trainable`: a pattern of initializers that are to train.
  GraphImporter(mlir::MLIRContext &context, const Model &model, llvm::StringRef fileName,
                const ImportOptions &options, const std::optional<PathPattern> &trainable);

  /// Null after errors, which takeErrors gives.
  mlir::OwningOpRef<mlir::ModuleOp> run();

  void error(llvm::StringRef path, const llvm::Twine &message);
  /// An error where a batch of a stated size would do: the message says how one states it, and
  /// others, of inputs, where it is open.
  void errorOfOpenBatch(llvm::StringRef path, const llvm::Twine &message);
  llvm::Error takeErrors() { return std::move(errors); }
  bool hasErrors() const { return failed; }

  // ---- For operations that no layer computes --------------------------------------------------

  /// The nodes of a graph inside of a node, whose names see those around it, and the values of its
  /// outputs. False after an error.
  bool importSubgraph(const Graph &graph, Scope &inner, llvm::StringRef path,
                      llvm::SmallVectorImpl<NodeValue> &outputs);
  /// The value that the node's input `i` stands for; null where it is left out, and after an error
  /// where nothing computes it.
  const NodeValue *read(const Node &node, unsigned i, const Scope &scope, llvm::StringRef path);
  /// The elements, where they are known.
  std::shared_ptr<const Literal> getLiteral(const NodeValue &value);
  llvm::SmallVector<int64_t> getShape(const NodeValue &value);
  /// Gives the node's output `i` its value.
  void setOutput(const Node &node, unsigned i, Scope &scope, NodeValue value);
  int64_t getOpset(const Node &node) const;
  /// A layer path that no other node has.
  std::string makePath(const Node &node, llvm::StringRef prefix);
  /// The shape that the file states for a value of the model's graph; nothing where it states none,
  /// or one that is not known but for the batch.
  std::optional<llvm::SmallVector<int64_t>> getStatedShape(llvm::StringRef name) const;
  void warn(llvm::StringRef path, const llvm::Twine &message);
  /// Runs `import`, which says whether it succeeds; after a failure nothing of it is left but the
  /// text of its errors.
  std::optional<std::string> attempt(llvm::function_ref<bool()> import);
  llvm::ArrayRef<std::string> getWarnings() const { return warnings; }

  Forward forward;
  std::vector<std::string> outputNames; ///< of what @forward returns
  const ImportOptions &options;

private:
  void importInitializers(const Graph &graph, Scope &scope);
  bool importNodes(llvm::ArrayRef<Node> nodes, Scope &scope, llvm::StringRef prefix);
  bool importNode(const Node &node, Scope &scope, llvm::StringRef prefix);
  /// True, with an error, where a count of values says the shape of an input.
  bool refuseBounded(const Node &node, const Scope &scope, llvm::StringRef path);
  /// False where there are some: the node's numbers could depend on them.
  bool refuseUnread(const Node &node, llvm::StringRef path,
                    llvm::ArrayRef<llvm::StringRef> attributes);
  bool importFunction(const Function &function, const Node &node, Scope &scope,
                      llvm::StringRef path);
  const Function *findOwnFunction(const Node &node) const;

  const Model &model;
  const std::string fileName;
  llvm::ArrayRef<OpsetImport> opsets; ///< of the model, or of the function that is expanded
  llvm::StringSet<> paths;
  unsigned depth = 0; ///< of graphs and functions inside of each other
  uint64_t nodeCount = 0;
  llvm::Error errors = llvm::Error::success();
  std::vector<std::string> warnings;
  bool failed = false;
  bool asksForBatch = false; ///< some error does
};

/// One node as an mpc.layer, or as constants where all that it reads is constant. False after an
/// error.
bool emitNode(GraphImporter &importer, const OpEntry &entry, const Node &node, Scope &scope,
              llvm::StringRef path);

/// An mpc.layer that hands `value`, a constant or a value of @forward, on as it is; behind the
/// count of a bounded dimension are zeros.
mlir::Value emitCopy(GraphImporter &importer, const NodeValue &value, llvm::StringRef path,
                     llvm::StringRef kind);

} // namespace mpc::onnx

#endif
