// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A permutation of a tensor's dimensions, there and back, that puts one of them last.
#ifndef MPC_LIB_IMPORT_ONNX_OPS_LASTAXIS_H
#define MPC_LIB_IMPORT_ONNX_OPS_LASTAXIS_H

#include "lib/Import/ONNX/NodeBuilder.h"

namespace mpc::onnx {

class LastAxis {
public:
  LastAxis(int64_t axis, int64_t rank) : back(size_t(rank)), moves(axis != rank - 1) {
    for (int64_t d = 0; d < rank; ++d)
      if (d != axis)
        there.push_back(d);
    there.push_back(axis);
    for (const auto &[place, d] : llvm::enumerate(there))
      back[size_t(d)] = int64_t(place);
  }
  mlir::Value move(NodeBuilder &b, mlir::Value x) const {
    return moves ? b.make<TransposeOp>(x, there) : x;
  }
  mlir::Value restore(NodeBuilder &b, mlir::Value x) const {
    return moves ? b.make<TransposeOp>(x, back) : x;
  }

private:
  llvm::SmallVector<int64_t> there, back;
  bool moves;
};

} // namespace mpc::onnx

#endif
