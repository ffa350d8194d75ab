// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The larger operations on texts.
#ifndef MPC_LIB_IMPORT_ONNX_OPS_TEXTPIECES_H
#define MPC_LIB_IMPORT_ONNX_OPS_TEXTPIECES_H

#include "lib/Import/ONNX/NodeBuilder.h"

namespace mpc::onnx {

// ---- Labels.cpp: texts and numbers for each other -----------------------------------------------

void encodeLabels(NodeBuilder &b);
void mapCategories(NodeBuilder &b);

// ---- TextNormalizer.cpp -------------------------------------------------------------------------

void normalizeTexts(NodeBuilder &b);

// ---- TextSplit.cpp ------------------------------------------------------------------------------

void splitTexts(NodeBuilder &b);

} // namespace mpc::onnx

#endif
