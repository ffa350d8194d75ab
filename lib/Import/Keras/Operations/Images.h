// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The operand that operations of keras.ops.image have in common.
#ifndef MPC_LIB_IMPORT_KERAS_OPERATIONS_IMAGES_H
#define MPC_LIB_IMPORT_KERAS_OPERATIONS_IMAGES_H

#include "lib/Import/Keras/Layers/Spatial.h"
#include "lib/Import/Keras/Operations/OperationBuilder.h"

namespace mpc::keras {

/// A batch of images and its axes.
struct Images {
  mlir::Value x;
  DataFormat format = DataFormat::ChannelsLast;
  int64_t height = 0, width = 0, channels = 0; ///< axes

  int64_t extent(int64_t axis) const { return tensorTypeOf(x).getDimSize(axis); }

  /// Nothing after an error.
  static std::optional<Images> read(OperationBuilder &b, llvm::StringRef name = "images",
                                    unsigned position = 0);
  /// Floating images, channels last; nothing after an error.
  static std::optional<Images> readFloats(OperationBuilder &b, llvm::StringRef name = "images",
                                          unsigned position = 0);
  /// Gives a result, computed channels last, the data format of the images.
  mlir::Value restore(OperationBuilder &b, mlir::Value y) const {
    return fromChannelsLast(b, format, y);
  }
};

} // namespace mpc::keras

#endif
