// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations that give texts another shape or order: those on numbers, with a dimension more.
#ifndef MPC_LIB_IMPORT_ONNX_OPS_TEXTMOVEMENT_H
#define MPC_LIB_IMPORT_ONNX_OPS_TEXTMOVEMENT_H

#include "lib/Import/ONNX/GraphImporter.h"
#include "lib/Import/ONNX/NodeAttributes.h"

namespace mpc::onnx {

/// Imports the node as the one that moves all code points of the texts. False after an error.
bool moveTexts(GraphImporter &importer, const Node &node, Scope &scope, llvm::StringRef path,
               const NodeAttributes &attributes);

} // namespace mpc::onnx

#endif
