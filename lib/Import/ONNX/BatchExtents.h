// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arithmetic of shapes in which the open batch is an extent: multiples of it, and parts of these.
#ifndef MPC_LIB_IMPORT_ONNX_BATCHEXTENTS_H
#define MPC_LIB_IMPORT_ONNX_BATCHEXTENTS_H

#include "lib/Import/ONNX/NodeValue.h"
#include "mpc/Import/ONNX/Model.h"

namespace mpc::onnx {

/// The result of a node that computes with or compares constants among which the batch is; nothing
/// where it is no such node, or what the batch is decides.
std::optional<Literal> computeExtents(const Node &node, llvm::ArrayRef<const NodeValue *> inputs);

} // namespace mpc::onnx

#endif
