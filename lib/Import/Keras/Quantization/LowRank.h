// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LoRA: the product of two small trainable factors, added to a kernel that is frozen.
#ifndef MPC_LIB_IMPORT_KERAS_QUANTIZATION_LOWRANK_H
#define MPC_LIB_IMPORT_KERAS_QUANTIZATION_LOWRANK_H

#include "lib/Import/Keras/LayerBuilder.h"
#include "lib/Import/Keras/Quantization/KernelQuantizer.h"
#include "mpc/Import/Keras/Weights.h"

namespace mpc::keras {

/// The arguments of `enable_lora`, as a layer's config has them.
struct LowRank {
  int64_t rank = 0; ///< 0: the layer has no factors
  double scale = 1; ///< of the product

  explicit operator bool() const { return rank > 0; }
};

/// The variables `lora_KERNEL_a` (the kernel's shape, with the rank in place of the last extent)
/// and `lora_KERNEL_b` (rank x last extent); always float32.
struct LowRankFactors {
  mlir::Value a, b;

  explicit operator bool() const { return a && b; }
};

/// An error, with Keras's words, for a kernel with a constraint. `readsAlpha`: layers other than
/// EinsumDense and convolutions forget lora_alpha when they are built from a file, and their scale
/// is 1.
LowRank readLowRank(LayerBuilder &b, llvm::StringRef constraintKey, bool readsAlpha);

/// Keras's files do not hold the factors: the kernel in the file is the sum, and the factors are
/// zero after loading. A model without a file starts from he_uniform and zeros.
LowRankFactors addLowRankFactors(LayerBuilder &b, const LowRank &lowRank, llvm::StringRef kernel,
                                 llvm::ArrayRef<int64_t> shape, llvm::StringRef regularizerKey);

/// scale (x b), x being a product with the factor a; or a itself.
mlir::Value multiplyLowRank(LayerBuilder &b, const LowRank &lowRank, mlir::Value x,
                            mlir::Value factor);

/// The merge of the factors that Keras does when it saves: it adds their product to the kernel, and
/// quantizes the sum anew.
struct LowRankMerge {
  double scale = 1;
  std::shared_ptr<const KernelQuantizer> quantizer; ///< null: the kernel is floating

  /// `values` holds all that is named; replaces the kernel and what belongs to it. `zero` may be
  /// empty.
  void apply(WeightFile &values, const std::string &kernel, const std::string &kernelScale,
             const std::string &zero, const std::string &a, const std::string &b) const;
};

/// Null without LoRA.
inline std::shared_ptr<const LowRankMerge>
makeMerge(const LowRank &lowRank, std::shared_ptr<const KernelQuantizer> quantizer) {
  return lowRank ? std::make_shared<LowRankMerge>(LowRankMerge{lowRank.scale, std::move(quantizer)})
                 : nullptr;
}

} // namespace mpc::keras

#endif
