// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The window that convolutions and pools move over the spatial dimensions of [batch, channels,
// spatial...].
#ifndef MPC_LIB_IMPORT_ONNX_OPS_WINDOWS_H
#define MPC_LIB_IMPORT_ONNX_OPS_WINDOWS_H

#include "lib/Import/ONNX/NodeBuilder.h"

namespace mpc::onnx {

struct Window {
  llvm::SmallVector<int64_t> kernel, strides, dilations;
  llvm::SmallVector<int64_t> low, high; ///< padding, which may be negative
  bool rounds = false; ///< ceil_mode: the last window may begin before the end only

  /// Reads the attributes of a node with an input of these spatial extents; `kernel`: where the
  /// node has no `kernel_shape`. Nothing after an error.
  static std::optional<Window> read(NodeBuilder &b, llvm::ArrayRef<int64_t> extents,
                                    llvm::ArrayRef<int64_t> kernel = {});

  size_t rank() const { return kernel.size(); }
  int64_t reach(size_t d) const { return (kernel[d] - 1) * dilations[d] + 1; }
  /// The places of the window along dimension `d` of this extent; below 1 where it does not fit.
  int64_t places(size_t d, int64_t extent) const;
};

/// `count` numbers of an attribute that are `least` and more, `otherwise` where it is missing;
/// false after an error.
bool readNumbers(NodeBuilder &b, llvm::StringRef name, size_t count, int64_t otherwise,
                 int64_t least, llvm::SmallVectorImpl<int64_t> &numbers);

/// [batch, channels, spatial...] with the channels last, and back.
mlir::Value toChannelsLast(NodeBuilder &b, mlir::Value x);
mlir::Value fromChannelsLast(NodeBuilder &b, mlir::Value x);

/// Numbers in files beyond this are errors: sums of them stay exact.
inline constexpr int64_t kMostSpatial = int64_t(1) << 30;

} // namespace mpc::onnx

#endif
