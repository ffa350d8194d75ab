// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Discrete Fourier transforms as products with constant matrices (docs/decisions/0052).
#ifndef MPC_LIB_IMPORT_KERAS_FOURIER_H
#define MPC_LIB_IMPORT_KERAS_FOURIER_H

#include "ValueBuilder.h"

namespace mpc::keras {

/// Real and imaginary parts; null after an error.
struct Spectrum {
  mlir::Value real, imaginary;

  explicit operator bool() const { return bool(real); }
};

/// The first `bins` elements of the transform of the last axis, sum of x[n] e^(-2 pi i n k / N), in
/// float32, which `x` must be, too.
Spectrum transformReal(ValueBuilder &b, mlir::Value x, int64_t bins);

/// Pieces of `length` elements of the last axis, one every `stride` elements: a new axis before it.
/// The axis has at least `length` elements.
mlir::Value cutFrames(ValueBuilder &b, mlir::Value x, int64_t length, int64_t stride);

/// A window of tf.signal as it is called by tf.signal.stft, "hann" or "hamming", periodic; nothing
/// for another name.
std::optional<llvm::SmallVector<double>> makeWindow(llvm::StringRef name, int64_t length);

/// keras.ops.stft (keras/src/backend/tensorflow/math.py): x float32 [..., samples], transformed
/// [..., frames, length / 2 + 1].
struct ShortTimeFourier {
  int64_t sequenceLength = 0, sequenceStride = 0, length = 0;
  std::string window = "hann"; ///< empty: none
  bool center = true;          ///< reflected at both ends by half a length

  Spectrum transform(ValueBuilder &b, mlir::Value x) const;
};

} // namespace mpc::keras

#endif
