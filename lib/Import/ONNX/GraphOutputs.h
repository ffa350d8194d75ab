// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The results of @forward: the graph's outputs, and behind them how much of bounded ones there is.
#ifndef MPC_LIB_IMPORT_ONNX_GRAPHOUTPUTS_H
#define MPC_LIB_IMPORT_ONNX_GRAPHOUTPUTS_H

#include "lib/Import/ONNX/GraphImporter.h"

namespace mpc::onnx {

class GraphOutputs {
public:
  GraphOutputs(GraphImporter &importer, const Graph &graph) : importer(importer), graph(graph) {}

  /// The importer has their names then.
  llvm::SmallVector<ForwardOutput> import(const Scope &scope);

private:
  /// Whether the library may have an output's batch elsewhere than the file; false after an error.
  bool isTakenBatchFirst(llvm::StringRef name, const NodeValue &output);
  bool isNameOfOutput(llvm::StringRef name) const;
  void add(const std::string &name, const NodeValue &value);
  void addExtents();

  GraphImporter &importer;
  const Graph &graph;
  llvm::SmallVector<ForwardOutput> outputs;
};

} // namespace mpc::onnx

#endif
