// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Discrete Fourier transforms as products with constant matrices (docs/decisions/0052).
#ifndef MPC_LIB_IMPORT_COMMON_FOURIER_H
#define MPC_LIB_IMPORT_COMMON_FOURIER_H

#include "lib/Import/Common/ValueBuilder.h"

namespace mpc {

/// Real and imaginary parts; null after an error.
struct Spectrum {
  mlir::Value real, imaginary;

  explicit operator bool() const { return bool(real); }
};

/// The first `bins` elements of the transform of the last axis, sum of x[n] e^(-2 pi i n k / N), in
/// float32, which `x` must be, too.
Spectrum transformReal(ValueBuilder &b, mlir::Value x, int64_t bins);

/// The transform of the last axis of complex numbers in float32, and its inverse.
Spectrum transformComplex(ValueBuilder &b, const Spectrum &x);
Spectrum invertComplex(ValueBuilder &b, const Spectrum &x);

/// The `length` real numbers whose transform begins with `x`, which has `length` / 2 + 1 elements.
mlir::Value invertReal(ValueBuilder &b, const Spectrum &x, int64_t length);

/// Pieces of `length` elements of the last axis, one every `stride` elements: a new axis before it.
/// The axis has at least `length` elements.
mlir::Value cutFrames(ValueBuilder &b, mlir::Value x, int64_t length, int64_t stride);

/// A window of tf.signal as it is called by tf.signal.stft, "hann" or "hamming", periodic; nothing
/// for another name.
std::optional<llvm::SmallVector<double>> makeWindow(llvm::StringRef name, int64_t length);

/// keras.ops.stft and istft (keras/src/backend/tensorflow/math.py): x float32 [..., samples],
/// transformed [..., frames, length / 2 + 1].
struct ShortTimeFourier {
  int64_t sequenceLength = 0, sequenceStride = 0, length = 0;
  std::string window = "hann"; ///< empty: none
  bool center = true;          ///< reflected at both ends by half a length

  Spectrum transform(ValueBuilder &b, mlir::Value x) const;
  /// `samples` of the signal; without, all that all frames cover. Null after an error.
  mlir::Value invert(ValueBuilder &b, const Spectrum &x, std::optional<int64_t> samples) const;

private:
  bool verify(ValueBuilder &b) const;
  /// The window in the middle of `length` elements.
  llvm::SmallVector<double> weights() const;
};

} // namespace mpc

#endif
