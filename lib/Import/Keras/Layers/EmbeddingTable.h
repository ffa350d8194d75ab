// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of an Embedding layer in whatever form its policy gives it: rows by ids, and the
// product with the transposed table.
#ifndef MPC_LIB_IMPORT_KERAS_LAYERS_EMBEDDINGTABLE_H
#define MPC_LIB_IMPORT_KERAS_LAYERS_EMBEDDINGTABLE_H

#include "lib/Import/Keras/Quantization/LowRank.h"
#include "lib/Import/Keras/Quantization/Quantization.h"

namespace mpc::keras {

class EmbeddingTable {
public:
  EmbeddingTable(LayerBuilder &b, int64_t rows, int64_t width, const Quantization &quantization,
                 const LowRank &lowRank)
      : b(b), rows(rows), width(width), quantization(quantization), lowRank(lowRank) {}

  /// The variables in the order of Keras's files; with `isUntied` those of the way back, too.
  /// False after an error.
  bool addVariables(bool isUntied);
  /// Rows of the table in the compute dtype; `index` is int32 or int64.
  mlir::Value gather(mlir::Value index);
  /// x times the transposed table, or the way back's own. `element`: the dtype that both are cast
  /// to in a floating layer; null for none.
  mlir::Value project(mlir::Value x, mlir::Type element);

private:
  /// A table as it is stored, and what belongs to it.
  struct Form {
    mlir::Value values, scale, zero;
  };
  Form addForm(llvm::StringRef name, bool isReverse);
  mlir::Value gatherQuantized(mlir::Value index);
  mlir::Value projectIntegers(mlir::Value x);

  LayerBuilder &b;
  const int64_t rows, width;
  const Quantization &quantization;
  const LowRank lowRank;
  bool untied = false;
  Form forward, reverse;
  mlir::Value groups;
  LowRankFactors factors;
};

/// Ids as int32 or int64: others are cast, floating ones truncate.
mlir::Value makeIndex(LayerBuilder &b, mlir::Value ids, int64_t rows);

} // namespace mpc::keras

#endif
