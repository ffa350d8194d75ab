// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/core/embedding.py: rows of a table by integer ids.
#include "../LayerRegistry.h"

namespace mpc::keras {
namespace {

using mlir::Value;

/// The table is gathered in the dtype that it is stored in and the rows are cast, so gradients add
/// up in float32. Ids that are neither int32 nor int64 become int32, floating ones truncate.
Value importEmbedding(LayerBuilder &b) {
  b.setKeepsTypes();
  Value ids = b.getInput();
  const int64_t rows = b.getInteger("input_dim", 0), width = b.getInteger("output_dim", 0);
  if (rows <= 0 || width <= 0)
    b.error("'input_dim' and 'output_dim' of Embedding must be positive integers");
  for (llvm::StringRef key : {"quantization_config", "lora_rank"})
    if (const llvm::json::Value *value = b.layer.config.get(key);
        value && value->kind() != llvm::json::Value::Null)
      b.error("'" + key + "' is not supported; save the model without quantization and LoRA");
  if (!ids || b.hasFailed())
    return {};
  VariableRequest request{"embeddings",
                          {rows, width},
                          "embeddings_initializer",
                          "embeddings_regularizer",
                          "embeddings_constraint"};
  request.defaultInitializer = "uniform";
  Value table = b.addVariable(request);
  if (!table)
    return {};
  if (b.getFlag("mask_zero", false))
    b.setMask(0, b.makeBool(ids));
  Value index = ids;
  if (!elementTypeOf(ids).isInteger(32) && !elementTypeOf(ids).isInteger(64))
    index =
        b.make<CastOp>(mlir::RankedTensorType::get(b.shapeOf(ids), b.builder.getI32Type()), ids);
  else
    b.limitIndices(ids, rows);
  return b.make<GatherOp>(table, index, /*axis=*/int64_t(0), /*batch_dims=*/int64_t(0));
}

constexpr LayerEntry kEmbeddingLayers[] = {{"Embedding", importEmbedding}};

} // namespace

llvm::ArrayRef<LayerEntry> embeddingLayers() { return kEmbeddingLayers; }

} // namespace mpc::keras
