// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations that exporters write out as several nodes, formed again before a policy sees the
// nodes: a normalisation then has its statistics in float32, an integer product its integers.
#ifndef MPC_LIB_IMPORT_ONNX_FORMS_RESTOREFORMS_H
#define MPC_LIB_IMPORT_ONNX_FORMS_RESTOREFORMS_H

#include "lib/Import/ONNX/Forms/GraphIndex.h"

namespace mpc::onnx {

/// The domain of operations that no file has.
inline constexpr llvm::StringLiteral kFormDomain = "mpc.form";

/// A node that stands for several: what it is, and of what it is made.
struct RestoredForm {
  std::string path, text;
};

/// `trains`: whether an initializer is to train, and so is no part of a form's definition.
std::vector<RestoredForm> restoreForms(Graph &graph,
                                       llvm::function_ref<bool(llvm::StringRef)> trains);

/// A node that takes the place of others, and these; no node where they are not of this form.
struct FoundForm {
  std::vector<Node> made;
  llvm::SmallVector<const Node *> parts;
};

// Each looks at the node whose value the form has.
FoundForm findLayerNormalization(const GraphIndex &index, const Node &last);
FoundForm findRMSNormalization(const GraphIndex &index, const Node &last);
FoundForm findAttention(const GraphIndex &index, const Node &last);
FoundForm findGelu(const GraphIndex &index, const Node &last);
FoundForm findSwish(const GraphIndex &index, const Node &last);
/// Products and convolutions of dequantized tensors that are quantized again, and products that are
/// not.
FoundForm findQuantized(GraphIndex &index, const Node &last);
FoundForm findDequantizedProduct(GraphIndex &index, const Node &last);

/// A node of ONNX as `opset` defines it, with the name and the result of `last`.
Node makeForm(const Node &last, llvm::StringRef op, int64_t opset, std::vector<std::string> inputs);
void setAttribute(Node &node, llvm::StringRef name, float value);
void setAttribute(Node &node, llvm::StringRef name, int64_t value);
void setAttribute(Node &node, llvm::StringRef name, llvm::StringRef value);

} // namespace mpc::onnx

#endif
