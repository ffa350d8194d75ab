// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/preprocessing/integer_lookup.py: the place of an integer in a vocabulary, found
// by halving the sorted vocabulary; the integers stay int64 all the way.
#include "lib/Import/Keras/Layers/Categories.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"

#include <numeric>

namespace mpc::keras {
namespace {

using mlir::Value;

/// The settings of the config.
struct Lookup {
  llvm::SmallVector<int64_t> tokens; ///< without mask and unknown tokens
  size_t written = 0;                ///< how many there are with those that the vocabulary names
  std::optional<int64_t> mask;
  int64_t unknownToken = -1, unknowns = 1; ///< unknowns: indices of values outside the vocabulary
  int64_t maskIndices = 0;                 ///< 1 where index 0 is the mask's
  bool invert = false;
  std::string mode;

  int64_t firstIndex() const { return maskIndices + unknowns; }
  int64_t size() const { return firstIndex() + int64_t(tokens.size()); }
  static std::optional<Lookup> read(LayerBuilder &b);
};

/// Reads the vocabulary that an adapted layer wrote beside the weights, a number a line.
bool readWrittenTokens(LayerBuilder &b, llvm::StringRef text,
                       llvm::SmallVectorImpl<int64_t> &tokens) {
  for (llvm::StringRef line : llvm::split(text, '\n')) {
    int64_t token = 0;
    if (line.rtrim('\r').getAsInteger(10, token) || int64_t(tokens.size()) >= kMostCategories) {
      b.error("the vocabulary.txt of IntegerLookup must hold at most " +
              llvm::Twine(kMostCategories) + " integers, one a line");
      return false;
    }
    tokens.push_back(token);
  }
  return true;
}

bool readTokens(LayerBuilder &b, llvm::SmallVectorImpl<int64_t> &tokens) {
  const llvm::json::Value *configured = b.layer.config.get("vocabulary");
  const bool isNone = !configured || configured->kind() == llvm::json::Value::Null;
  if (const std::string *text = isNone ? b.findVocabulary() : nullptr)
    return readWrittenTokens(b, *text, tokens);
  const llvm::json::Array *array = configured ? configured->getAsArray() : nullptr;
  if (!array || array->empty() || int64_t(array->size()) > kMostCategories) {
    b.error("IntegerLookup has no 'vocabulary', neither in its config nor in the file's assets; "
            "save the model as .keras once the layer is adapted, or give the layer "
            "vocabulary=layer.get_vocabulary()");
    return false;
  }
  for (const llvm::json::Value &item : *array) {
    if (!item.getAsInteger()) {
      b.error("'vocabulary' of IntegerLookup must be a list of integers");
      return false;
    }
    tokens.push_back(*item.getAsInteger());
  }
  return true;
}

std::optional<Lookup> Lookup::read(LayerBuilder &b) {
  Lookup result;
  result.invert = b.getFlag("invert", false);
  result.mode = b.getString("output_mode", "int");
  result.unknowns = b.getInteger("num_oov_indices", 1);
  result.unknownToken = b.getInteger("oov_token", -1);
  if (const llvm::json::Value *mask = b.layer.config.get("mask_token");
      mask && mask->getAsInteger())
    result.mask = *mask->getAsInteger();
  result.maskIndices = result.mask && result.mode == "int";
  if (b.hasFailed() || !readTokens(b, result.tokens))
    return std::nullopt;
  if (result.mode == "tf-idf")
    result.mode = "tf_idf";
  if (b.getString("oov_method", "floormod") != "floormod")
    b.error("'oov_method' of IntegerLookup is not 'floormod', which is not supported");
  else if (result.unknowns < (result.invert ? 0 : 1) || result.unknowns > kMostCategories)
    b.error(
        "'num_oov_indices' of IntegerLookup is " + llvm::Twine(result.unknowns) +
        ", where values outside of the vocabulary end the program in Keras; expected 1 or more");
  if (b.hasFailed())
    return std::nullopt;
  // As Layer.get_vocabulary returns it, the vocabulary begins with the special tokens.
  llvm::SmallVector<int64_t> special(result.maskIndices, result.mask.value_or(0));
  special.append(result.unknowns, result.unknownToken);
  llvm::ArrayRef<int64_t> tokens = result.tokens;
  result.written = tokens.size();
  if (tokens.size() > special.size() && tokens.take_front(special.size()).equals(special))
    result.tokens.erase(result.tokens.begin(), result.tokens.begin() + special.size());
  llvm::SmallVector<int64_t> sorted(result.tokens);
  llvm::sort(sorted);
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    b.error("'vocabulary' of IntegerLookup names a token twice");
    return std::nullopt;
  }
  return result;
}

Value makeLongs(LayerBuilder &b, llvm::ArrayRef<int64_t> values) {
  auto type = mlir::RankedTensorType::get({int64_t(values.size())}, b.builder.getI64Type());
  return b.make<ConstantOp>(
      llvm::cast<mlir::ElementsAttr>(mlir::DenseElementsAttr::get(type, values)));
}

Value makeLong(LayerBuilder &b, int64_t value) {
  auto type = mlir::RankedTensorType::get({}, b.builder.getI64Type());
  return b.make<ConstantOp>(
      llvm::cast<mlir::ElementsAttr>(mlir::DenseElementsAttr::get(type, value)));
}

/// The value of each key, `otherwise` where there is none.
Value mapKeys(LayerBuilder &b, Value ids, llvm::ArrayRef<std::pair<int64_t, int64_t>> sorted,
              Value otherwise) {
  llvm::SmallVector<int64_t> keys, values;
  for (const auto &[key, value] : sorted) {
    keys.push_back(key);
    values.push_back(value);
  }
  const auto count = int64_t(keys.size());
  Value keyTable = makeLongs(b, keys), last = makeLong(b, count - 1);
  auto keyAt = [&](Value place) {
    return b.make<GatherOp>(keyTable, place, int64_t(0), int64_t(0));
  };
  // The last key that is not larger, or the first.
  Value place = b.make<BroadcastLikeOp>(makeLong(b, 0), ids);
  for (auto step = int64_t(llvm::bit_floor(uint64_t(count))); step; step /= 2) {
    Value next = b.make<MinimumOp>(b.make<AddOp>(place, makeLong(b, step)), last);
    place = b.makeSelect(b.makeCompare(ComparePredicate::LE, keyAt(next), ids), next, place);
  }
  Value found = b.makeCompare(ComparePredicate::EQ, keyAt(place), ids);
  Value mapped = b.make<GatherOp>(makeLongs(b, values), place, int64_t(0), int64_t(0));
  return b.makeSelect(found, mapped, otherwise);
}

/// The weight of each category, float32: what the config says, else what an adapted layer saved.
/// Keras's files hold them in both cases, and a file that mpc-convert writes must. Null after an
/// error.
Value readWeights(LayerBuilder &b, const Lookup &lookup, int64_t categories) {
  VariableRequest request;
  request.name = request.nameInFile = "idf_weights";
  request.shape = {categories};
  request.trainable = request.autocast = false;
  request.ownType = b.builder.getF32Type();
  Value saved = b.addVariable(request);
  const llvm::json::Array *array = b.layer.config.getArray("idf_weights");
  if (!array || !saved)
    return saved;
  llvm::SmallVector<double> weights;
  for (const llvm::json::Value &item : *array)
    if (std::optional<double> number = item.getAsNumber())
      weights.push_back(*number);
  if (weights.size() != array->size() || weights.size() != lookup.written)
    return b.error("'idf_weights' of IntegerLookup must be as many numbers as 'vocabulary' has");
  // Without special tokens in the vocabulary these have the mean of all weights.
  if (lookup.written == lookup.tokens.size())
    weights.insert(weights.begin(), size_t(lookup.firstIndex()),
                   std::accumulate(weights.begin(), weights.end(), 0.0) / double(weights.size()));
  weights.resize(size_t(categories));
  return b.makeConstant({categories}, weights);
}

} // namespace

Value importIntegerLookup(LayerBuilder &b) {
  b.precision().autocast = PrecisionWishes::Autocast::KeepsTypes;
  Value ids = b.getInput();
  std::optional<Lookup> lookup = ids ? Lookup::read(b) : std::nullopt;
  if (!lookup)
    return {};
  const mlir::Type i64 = b.builder.getI64Type();
  if (elementTypeOf(ids) != i64)
    ids = b.make<CastOp>(mlir::RankedTensorType::get(b.shapeOf(ids), i64), ids);
  llvm::SmallVector<std::pair<int64_t, int64_t>> pairs;
  for (const auto &[place, token] : llvm::enumerate(lookup->tokens)) {
    const int64_t index = lookup->firstIndex() + int64_t(place);
    pairs.push_back(lookup->invert ? std::pair(index, token) : std::pair(token, index));
  }
  llvm::sort(pairs);
  Value otherwise = makeLong(b, lookup->invert ? lookup->unknownToken : lookup->maskIndices);
  if (!lookup->invert && lookup->unknowns > 1)
    otherwise = b.make<AddOp>(
        b.make<IntegerOp>(IntegerKind::Modulo, ids, makeLong(b, lookup->unknowns)), otherwise);
  Value y = mapKeys(b, ids, pairs, otherwise);
  const bool isInt = lookup->mode == "int";
  if (lookup->mask) {
    // An index outside of all categories counts nowhere.
    Value isMask =
        b.makeCompare(ComparePredicate::EQ, ids, makeLong(b, lookup->invert ? 0 : *lookup->mask));
    y = b.makeSelect(isMask, makeLong(b, lookup->invert ? *lookup->mask : isInt ? 0 : -1), y);
  }
  if (isInt)
    return y;
  const int64_t most = b.getInteger("max_tokens", lookup->size());
  if (most < lookup->size())
    return b.error("'vocabulary' of IntegerLookup has more tokens than 'max_tokens'");
  const int64_t categories = b.getFlag("pad_to_max_tokens", false) ? most : lookup->size();
  if (lookup->mode != "tf_idf")
    return encodeCategories(b, y, lookup->mode, categories);
  b.precision().ignoresPolicy = true;
  Value counts = encodeCategories(b, y, "count", categories);
  Value weights = counts ? readWeights(b, *lookup, categories) : Value();
  return weights ? b.make<MultiplyOp>(counts, weights) : Value();
}

} // namespace mpc::keras
