// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The common part of layers that change images at random in training. At inference they hand images
// on. Each sample has random numbers of its own, which are ours: equal distributions, never equal
// numbers.
#ifndef MPC_LIB_IMPORT_KERAS_LAYERS_RANDOMIMAGES_H
#define MPC_LIB_IMPORT_KERAS_LAYERS_RANDOMIMAGES_H

#include "lib/Import/Keras/Layers/Spatial.h"

namespace mpc::keras {

/// The images, channels last, and how the layer's input lies.
struct ImageBatch {
  mlir::Value input, images;
  DataFormat format = DataFormat::ChannelsLast;

  /// `changed` in training, the input at inference; null stays.
  mlir::Value finish(LayerBuilder &b, mlir::Value changed) const;
};

/// The only input, integers as the compute dtype; nothing after an error.
std::optional<ImageBatch> getAugmentedImages(LayerBuilder &b);

/// Two numbers of the config, the smaller first.
struct NumberRange {
  double low = 0.0, high = 0.0;
};

/// The config entry `key`: two numbers, or one, which stands for itself to both sides of 0, not
/// below `least`. `otherwise` where it is missing or null. Nothing after an error.
std::optional<NumberRange> getRange(LayerBuilder &b, llvm::StringRef key, double least,
                                    NumberRange otherwise = {});
/// The config entry "value_range".
std::optional<NumberRange> getValueRange(LayerBuilder &b);

/// An element for each sample, [batch, 1, 1], in the images' dtype.
mlir::Value sampleOf(ValueBuilder &b, mlir::Value images);
/// Numbers in [range.low, range.high) of the shape and the type of `like`.
mlir::Value drawLike(LayerBuilder &b, mlir::Value like, NumberRange range);
/// A number in [range.low, range.high) for each sample, [batch, 1, 1], in float32, whatever the
/// layer computes in.
mlir::Value draw(LayerBuilder &b, mlir::Value images, NumberRange range);
/// [batch, 1, 1] as [batch, 1, 1, 1].
mlir::Value withChannel(ValueBuilder &b, mlir::Value samples);
/// For each sample, [batch, 1, 1, 1], whether a number in [0, 1) is below one in `range`: true with
/// a probability that is drawn, too.
mlir::Value drawDecision(LayerBuilder &b, mlir::Value images, NumberRange range);

/// `x` in the images' dtype, but at least float32.
mlir::Value widen(ValueBuilder &b, mlir::Value x, mlir::Value images);
inline mlir::Value widen(ValueBuilder &b, mlir::Value images) { return widen(b, images, images); }

mlir::Value clip(ValueBuilder &b, mlir::Value x, NumberRange range);
/// The numbers of one range as those of another one; the same range leaves them alone.
mlir::Value moveRange(ValueBuilder &b, mlir::Value x, NumberRange from, NumberRange to);

} // namespace mpc::keras

#endif
