// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The policies of layers as far as the import needs them: the file's, which mpc.layer carries, and
// which layers are imported in a quantized form.
#ifndef MPC_LIB_IMPORT_KERAS_LAYERPOLICIES_H
#define MPC_LIB_IMPORT_KERAS_LAYERPOLICIES_H

#include "dialects/mpc/IR/Mpc.h"
#include "lib/Import/Keras/ImportReport.h"
#include "lib/Import/Keras/Quantization/Quantization.h"
#include "mpc-rt/dtype.h"
#include "mpc/Policy/PolicySource.h"

#include "llvm/ADT/DenseMap.h"

#include <memory>
#include <optional>

namespace mpc::keras {

class LayerPolicies {
public:
  /// `option`: the policies that replace the file's; null: none.
  LayerPolicies(mlir::MLIRContext &context, const PolicySource *option, ImportReport &report)
      : context(&context), option(option), report(report) {}

  /// The policy of the layer as mpc.layer spells it; null for the default.
  mlir::StringAttr getName(const LayerConfig &layer, llvm::StringRef path);
  void setName(const LayerConfig &layer, mlir::StringAttr policy) { names[&layer] = policy; }
  /// The policy that a layer of this path has: the option's, else the file's.
  const DTypePolicy &getDecided(const LayerConfig &layer, llvm::StringRef path);
  /// Whether both layers of one path compute in the same dtype.
  bool computeAlike(const LayerConfig &layer, const LayerConfig &other, llvm::StringRef path) {
    return getDecided(layer, path).getComputeDType() == getDecided(other, path).getComputeDType();
  }
  /// The dtype that the layer's policy stores floating variables in.
  mpc_rt_dtype_t getVariableDType(const LayerConfig &layer, llvm::StringRef path);
  /// Nothing after an error. `forms`: the modes that the layer's class has; `isWhole`: the layer
  /// has an mpc.layer of its own.
  std::optional<Quantization> decideQuantization(const LayerConfig &layer, llvm::StringRef path,
                                                 llvm::ArrayRef<QuantizationMode> forms,
                                                 bool isWhole);
  /// Tells mpc-apply-policy how the body was imported: with this quantization mode, or none.
  void markQuantization(LayerOp op, const LayerConfig &layer, llvm::StringRef path,
                        llvm::StringRef mode);

private:
  /// The policy that the file says; float32 without one and after an error.
  const DTypePolicy &getStored(const LayerConfig &layer, llvm::StringRef path);

  mlir::MLIRContext *const context;
  const PolicySource *const option;
  ImportReport &report;
  llvm::DenseMap<const LayerConfig *, mlir::StringAttr> names;
  llvm::DenseMap<const LayerConfig *, std::unique_ptr<DTypePolicy>> storedOf, decidedOf;
};

} // namespace mpc::keras

#endif
