// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel of a Dense or EinsumDense layer, in whatever form its policy gives it, and the product
// of an input with it.
#ifndef MPC_LIB_IMPORT_KERAS_QUANTIZATION_QUANTIZEDKERNEL_H
#define MPC_LIB_IMPORT_KERAS_QUANTIZATION_QUANTIZEDKERNEL_H

#include "lib/Import/Keras/LayerBuilder.h"
#include "lib/Import/Keras/Quantization/KernelQuantizer.h"
#include "lib/Import/Keras/Quantization/LowRank.h"
#include "lib/Import/Keras/Quantization/Quantization.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace mpc::keras {

/// The kernel as the layer's class describes it.
struct KernelShape {
  VariableRequest request;                ///< the floating kernel
  llvm::SmallVector<int64_t> reducedAxes; ///< of the kernel: contracted with the input
  llvm::SmallVector<int64_t> scaleAxes;   ///< the others, in the order of the output
  llvm::SmallVector<int64_t> scaleShape;  ///< int8: broadcasts to the output
  llvm::SmallVector<int64_t> inputAxes;   ///< of the input: contracted with the kernel
  bool isMatrix = false;                  ///< Dense; EinsumDense makes int4 kernels matrices
  /// input x kernel, both of one element type.
  llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> multiply;
  /// Brings a tensor with the input's dimensions but those of inputAxes, which have extent 1, to
  /// the output's.
  llvm::function_ref<mlir::Value(mlir::Value)> alignInput;
  LowRank lowRank = {};
};

class QuantizedKernel {
public:
  QuantizedKernel(LayerBuilder &b, const Quantization &quantization, const KernelShape &shape)
      : b(b), quantization(quantization), shape(shape) {}

  /// Variables in the order of Keras's files: the kernel, `addBias`'s, what belongs to the kernel.
  /// False after an error.
  bool addVariables(llvm::function_ref<bool()> addBias);
  /// The product with `x` in the compute dtype.
  mlir::Value multiply(mlir::Value x);
  /// The bias as the layer adds it.
  mlir::Value prepareBias(mlir::Value bias);

private:
  void addKernel();
  void addScales();
  void addFloat8State();
  bool addCalibrated(llvm::function_ref<bool()> addBias);
  /// Rows (what is contracted) and columns of the matrix that gptq and awq make of the kernel.
  std::optional<std::pair<int64_t, int64_t>> findCalibratedMatrix();
  mlir::Value multiplyFloat8(mlir::Value x);
  mlir::Value multiplyIntegers(mlir::Value x);
  mlir::Value multiplyDequantized(mlir::Value x);
  mlir::Value dequantizeCalibrated();
  /// Adds LoRA's part to the product with x.
  mlir::Value addLowRank(mlir::Value y, mlir::Value x);
  /// The floating kernel, in its own shape.
  mlir::Value dequantize();
  mlir::Value unpack();
  mlir::Value alignScale();
  bool multipliesInt4(mlir::Value x) const;

  LayerBuilder &b;
  const Quantization &quantization;
  const KernelShape &shape;
  std::shared_ptr<KernelQuantizer> quantizer; ///< of int8 and int4
  mlir::Value kernel, scale, zero, groups, inputFactors;
  LowRankFactors factors;
  llvm::SmallVector<mlir::Value, 6> float8; ///< scale and history of inputs, kernel, gradient
};

/// A tensor in int8 and its scale, which multiplied: abs_max_quantize over `axes`.
std::pair<mlir::Value, mlir::Value> quantizeActivation(LayerBuilder &b, mlir::Value x,
                                                       llvm::ArrayRef<int64_t> axes,
                                                       const ActivationQuantizer &quantizer);

/// (values - zero) scale of numbers with blocks along `axis` of the scale: `groups` holds the block
/// of each place.
mlir::Value dequantizeBlocks(LayerBuilder &b, mlir::Value values, mlir::Value scale,
                             mlir::Value zero, mlir::Value groups, int64_t axis);

/// A variable of a quantized layer, which no optimizer updates: its integers, or what belongs to
/// them. `type` is what it is stored in; null: the policy's variable dtype. `isDerived`: the
/// quantizer of the integers gives its value.
VariableRequest requestPart(llvm::StringRef name, llvm::ArrayRef<int64_t> dims,
                            llvm::StringRef initializer, mlir::Type type, bool isDerived);

} // namespace mpc::keras

#endif
