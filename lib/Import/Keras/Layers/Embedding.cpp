// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/core/embedding.py and reversible_embedding.py: rows of a table by integer ids,
// and back from rows to the ids' scores.
#include "lib/Import/Keras/Dtype.h"
#include "lib/Import/Keras/LayerRegistry.h"
#include "lib/Import/Keras/Layers/EmbeddingTable.h"

namespace mpc::keras {
namespace {

using mlir::Value;

struct EmbeddingSettings {
  int64_t rows, width;
  Quantization quantization;
  LowRank lowRank;
};

EmbeddingSettings readSettings(LayerBuilder &b) {
  const int64_t rows = b.getInteger("input_dim", 0), width = b.getInteger("output_dim", 0);
  if (rows <= 0 || width <= 0)
    b.error("'input_dim' and 'output_dim' of " + b.layer.className + " must be positive integers");
  return {rows, width, b.getQuantization({QuantizationMode::Int8, QuantizationMode::Int4}),
          readLowRank(b, "embeddings_constraint", /*readsAlpha=*/false)};
}

Value importRows(LayerBuilder &b, const EmbeddingSettings &settings, bool isUntied) {
  b.precision().autocast = PrecisionWishes::Autocast::KeepsTypes;
  Value ids = b.getInput();
  if (!ids || b.hasFailed())
    return {};
  if (b.getFlag("mask_zero", false))
    b.setMask(0, b.makeBool(ids));
  Value index = makeIndex(b, ids, settings.rows);
  EmbeddingTable table(b, settings.rows, settings.width, settings.quantization, settings.lowRank);
  return table.addVariables(isUntied) ? table.gather(index) : Value();
}

Value importEmbedding(LayerBuilder &b) {
  return importRows(b, readSettings(b), /*isUntied=*/false);
}

/// Called with reverse=True: scores of all ids. Keras leaves the dtypes of its input and its result
/// as they come; here the input is cast to the compute dtype, as other layers' are, which is the
/// dtype that Keras declares for the result.
Value importReversibleEmbedding(LayerBuilder &b) {
  EmbeddingSettings settings = readSettings(b);
  const bool isUntied = !b.getFlag("tie_weights", true);
  if (!b.getCallFlag(1, "reverse", false))
    return importRows(b, settings, isUntied);
  Value x = b.getFloatInput(/*castIntegers=*/true);
  if (!x || b.hasFailed())
    return {};
  if (b.shapeOf(x).back() != settings.width)
    return b.error("the input of the projection has " + llvm::Twine(b.shapeOf(x).back()) +
                   " features; the table has " + llvm::Twine(settings.width));
  // Without a config the layer quantizes the input even of int4; `quantize` always gives it one.
  const llvm::json::Value *config = b.layer.config.get("quantization_config");
  if (settings.quantization.mode == QuantizationMode::Int4 && !settings.quantization.ofFloats &&
      (!config || config->kind() == llvm::json::Value::Null))
    settings.quantization.activation = ActivationQuantizer();
  mlir::Type element;
  if (const std::string dtype = b.getString("reverse_dtype", ""); !dtype.empty()) {
    element = dtypeElement(b.builder, dtype);
    if (!mlir::isa_and_nonnull<mlir::FloatType>(element))
      return b.error("'reverse_dtype' must be a floating dtype, not \"" + dtype + "\"");
  }
  EmbeddingTable table(b, settings.rows, settings.width, settings.quantization, settings.lowRank);
  if (!table.addVariables(isUntied))
    return {};
  Value logits = table.project(x, element);
  if (std::optional<double> cap = b.getOptionalNumber("logit_soft_cap"))
    logits = b.make<MultiplyOp>(b.make<TanhOp>(b.make<DivideOp>(logits, b.makeConstant(*cap))),
                                b.makeConstant(*cap));
  return logits;
}

constexpr LayerEntry kEmbeddingLayers[] = {
    {"Embedding", importEmbedding, Masking::Stops, nullptr, /*onLastAxis=*/true},
    {"ReversibleEmbedding", importReversibleEmbedding}};

} // namespace

llvm::ArrayRef<LayerEntry> embeddingLayers() { return kEmbeddingLayers; }

} // namespace mpc::keras
