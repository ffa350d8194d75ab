// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras_hub/src/layers/modeling: TokenAndPositionEmbedding, PositionEmbedding,
// SinePositionEncoding.
#include "lib/Import/Keras/Hub/Positions.h"
#include "lib/Import/Keras/LayerRegistry.h"
#include "lib/Import/Keras/Layers/EmbeddingTable.h"

namespace mpc::keras {
namespace {

using mlir::Value;

/// The literal argument `start_index`; an error for one that is computed.
int64_t readStart(LayerBuilder &b) {
  const llvm::json::Value *literal = b.getLiteral(1, "start_index");
  std::optional<int64_t> start = literal ? literal->getAsInteger() : int64_t(0);
  if (!start || *start < 0 || *start > INT32_MAX || !b.getArgument(1, "start_index").empty()) {
    b.error("'start_index' of " + b.layer.className +
            " must be a constant that is not negative; pass 'positions' instead");
    return 0;
  }
  return *start;
}

/// The first argument, [batch..., places, features].
Value readTokens(LayerBuilder &b) {
  llvm::ArrayRef<Value> given = b.getArgument(0, "inputs");
  if (given.size() != 1 || !mlir::isa<mlir::FloatType>(elementTypeOf(given.front())) ||
      b.rankOf(given.front()) < 3)
    return b.error(b.layer.className +
                   " takes one floating tensor [batch, places, features] of at least 3 dimensions");
  // Bounded before anybody lists them.
  for (int64_t extent : b.shapeOf(given.front()).take_back(2))
    if (extent > int64_t(1) << 24)
      return b.error(b.layer.className + " of more than 2^24 places or features is not supported");
  return given.front();
}

Value importPositionEmbedding(LayerBuilder &b) {
  Value tokens = readTokens(b);
  const int64_t rows = b.getInteger("sequence_length", 0), start = readStart(b);
  if (rows <= 0)
    b.error("'sequence_length' of PositionEmbedding must be a positive integer");
  if (!tokens || b.hasFailed())
    return {};
  const int64_t places = b.shapeOf(tokens)[b.rankOf(tokens) - 2];
  Value positions = readPositions(b, places);
  if (!b.hasFailed() && !positions && start + places > rows)
    b.error("the input has " + llvm::Twine(places) + " places from " + llvm::Twine(start) +
            "; PositionEmbedding has 'sequence_length' " + llvm::Twine(rows));
  if (b.hasFailed())
    return {};
  Value table = b.addVariable({"embeddings",
                               {rows, b.shapeOf(tokens).back()},
                               "initializer",
                               "",
                               "",
                               {},
                               "glorot_uniform"});
  if (!table)
    return {};
  if (positions)
    table = b.make<GatherOp>(table, makeIndex(b, positions, rows), int64_t(0), int64_t(0));
  else if (places != rows)
    table = b.make<SliceOp>(table, int64_t(0), start, places);
  return b.make<BroadcastLikeOp>(table, tokens);
}

/// Every step in the compute dtype, which is part of the result.
Value importSinePositionEncoding(LayerBuilder &b) {
  Value tokens = readTokens(b);
  const double wavelength = b.getNumber("max_wavelength", 10000.0);
  const int64_t start = readStart(b);
  if (!(wavelength > 0.0))
    b.error("'max_wavelength' of SinePositionEncoding must be positive");
  if (!tokens || b.hasFailed())
    return {};
  const int64_t places = b.shapeOf(tokens)[b.rankOf(tokens) - 2], width = b.shapeOf(tokens).back();
  Value positions = readPositions(b, places);
  if (b.hasFailed())
    return {};
  auto strong = [&](Value value) { return b.makeCastLike(value, tokens); };
  if (positions) {
    positions = b.makeReshape(strong(mlir::isa<mlir::FloatType>(elementTypeOf(positions))
                                         ? positions
                                         : b.makeCastToFloat(positions)),
                              {b.shapeOf(positions)[0], places, 1});
  } else {
    llvm::SmallVector<double> numbers;
    for (int64_t place = 0; place < places; ++place)
      numbers.push_back(double(start + place));
    positions = strong(b.makeConstant({1, places, 1}, numbers));
  }
  llvm::SmallVector<double> exponents;
  llvm::SmallVector<bool> isCosine;
  for (int64_t feature = 0; feature < width; ++feature) {
    exponents.push_back(double(feature - feature % 2));
    isCosine.push_back(feature % 2);
  }
  Value scales = b.make<DivideOp>(strong(b.makeConstant({width}, exponents)),
                                  strong(b.makeConstant(double(width))));
  scales = b.make<PowerOp>(strong(b.makeConstant(1.0 / wavelength)), scales);
  Value angles = b.make<MultiplyOp>(positions, scales);
  Value encoding =
      b.makeSelect(b.makeMask({width}, isCosine), b.make<CosOp>(angles), b.make<SinOp>(angles));
  return b.make<BroadcastLikeOp>(encoding, tokens);
}

bool importTokenAndPosition(CompositeBuilder &c, llvm::SmallVectorImpl<Value> &outputs) {
  using C = CompositeBuilder;
  Value ids = c.getTensor(0, "inputs"), positions = c.getTensor(2, "positions");
  if (!ids || c.rankOf(ids) < 2) {
    c.error("TokenAndPositionEmbedding takes ids of the shape [batch, places]");
    return false;
  }
  C::Part token{"token_embedding", "ReversibleEmbedding", "token_embedding", {}, /*built=*/true, 1};
  C::Part position{"position_embedding", "PositionEmbedding",
                   "position_embedding", {},
                   /*built=*/true,       2,
                   "keras_hub"};
  auto copy = [&](llvm::StringRef from, C::Part &to, llvm::StringRef key) {
    if (const llvm::json::Value *value = c.own.layer.config.get(from))
      to.config[key] = *value;
  };
  copy("vocabulary_size", token, "input_dim");
  copy("embedding_dim", token, "output_dim");
  copy("tie_weights", token, "tie_weights");
  copy("mask_zero", token, "mask_zero");
  copy("embeddings_initializer", token, "embeddings_initializer");
  copy("sequence_length", position, "sequence_length");
  copy("embeddings_initializer", position, "initializer");
  if (!position.config.get("initializer"))
    position.config["initializer"] = "uniform";
  Value embedded = c.callPart(std::move(token), ids);
  if (!embedded)
    return false;
  C::Given start{"start_index", c.getTensor(1, "start_index")};
  if (const llvm::json::Value *literal = c.own.getLiteral(1, "start_index"))
    start.literal = *literal;
  llvm::SmallVector<Value> places =
      c.callPart(std::move(position), {{"", embedded}, start, {"positions", positions}});
  if (places.size() != 1)
    return false;
  outputs.push_back(c.make<AddOp>(embedded, places.front()));
  if (Value mask = c.getMaskOfResult(embedded))
    c.setMask(outputs.front(), mask);
  return true;
}

constexpr LayerEntry kHubEmbeddingLayers[] = {
    {"PositionEmbedding", importPositionEmbedding},
    {"SinePositionEncoding", importSinePositionEncoding},
    compositeLayer("TokenAndPositionEmbedding", importTokenAndPosition),
};

} // namespace

llvm::ArrayRef<LayerEntry> hubEmbeddingLayers() { return kHubEmbeddingLayers; }

} // namespace mpc::keras
