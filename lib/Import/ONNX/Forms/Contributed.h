// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// onnxruntime's own operations that ONNX's express, as those: forms and the importer see only them.
#ifndef MPC_LIB_IMPORT_ONNX_FORMS_CONTRIBUTED_H
#define MPC_LIB_IMPORT_ONNX_FORMS_CONTRIBUTED_H

#include "mpc/Import/ONNX/Model.h"

namespace mpc::onnx {

/// In the graph and in those inside of its nodes, which other models may share: they are copied.
void expandContributed(Graph &graph);

/// Puts nodes behind those whose results they read, as onnxruntime does: its own tools append
/// nodes. The file's order stays where it is one, and where there is none.
void sortNodes(Graph &graph);

} // namespace mpc::onnx

#endif
