// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How a layer quantizes: what its policy and its quantization_config say together.
#ifndef MPC_LIB_IMPORT_KERAS_QUANTIZATION_QUANTIZATION_H
#define MPC_LIB_IMPORT_KERAS_QUANTIZATION_QUANTIZATION_H

#include "mpc/Policy/DTypePolicy.h"

#include "llvm/Support/JSON.h"

namespace mpc::keras {

/// keras/src/quantizers/quantizers.py, AbsMaxQuantizer: one scale for all that share a row.
struct ActivationQuantizer {
  double low = -127, high = 127, epsilon = 1e-7;
};

struct Quantization {
  QuantizationMode mode = QuantizationMode::None;
  /// int4, gptq, awq: numbers along the contracted dimension that share a scale; 0: one scale per
  /// channel.
  int64_t blockSize = 0;
  int64_t weightBits = 4;                        ///< gptq: 2, 3, 4 (two per byte) or 8
  int64_t historyLength = 1024;                  ///< float8
  bool computesInFloat32 = false;                ///< float8 rounds such a layer's bias to bfloat16
  std::optional<ActivationQuantizer> activation; ///< null: only weights are quantized
  /// The file holds the floating kernel, and the import quantizes it as `model.quantize` would.
  bool ofFloats = false;

  explicit operator bool() const { return mode != QuantizationMode::None; }
  /// Whether the integers were found with data of the model's use.
  bool isCalibrated() const { return isCalibratedMode(mode); }
  static bool isCalibratedMode(QuantizationMode mode) {
    return mode == QuantizationMode::GPTQ || mode == QuantizationMode::AWQ;
  }
};

/// Reads a layer's `quantization_config` (null: the mode's default) under its quantized policy, as
/// keras/src/quantizers/quantization_config.py does.
llvm::Expected<Quantization> readQuantization(const DTypePolicy &policy,
                                              const llvm::json::Value *config);

} // namespace mpc::keras

#endif
