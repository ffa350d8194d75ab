// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Binding arrays to a model's tensors, and gathering rows.
#include "runtime/data/bind.h"
#include "runtime/data/gather.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace mpc::data;

static Signature imageModel() {
  Signature signature;
  signature.inputs.push_back({"image", {"x0"}, MPC_RT_FLOAT32, {2, 1}, 0});
  signature.targets.push_back({"y0", {"label"}, MPC_RT_INT32, {}, 3});
  signature.sampleWeights.push_back({"sample_weight", {}, MPC_RT_FLOAT32, {}, 0});
  return signature;
}

static Source images() {
  float pixels[] = {1, 2, 3, 4, 5, 6};
  int64_t labels[] = {0, 1, 2};
  Source source;
  source.path = "d";
  source.arrays.emplace("image", Array::copyOf(MPC_RT_FLOAT32, {3, 2, 1}, pixels));
  source.arrays.emplace("label", Array::copyOf(MPC_RT_INT64, {3}, labels));
  source.order = {"image", "label"};
  return source;
}

static std::string firstMessage(const Result<Dataset> &data) {
  return data ? "" : data.failure().messages[0];
}

TEST(Bind, NamesAliasesAndDefaultWeights) {
  Result<Dataset> data = bindSource(images(), imageModel(), true);
  ASSERT_TRUE(data) << firstMessage(data);
  EXPECT_EQ(data->rows, 3);
  EXPECT_EQ(data->columns.size(), 3u);
  int64_t rows[] = {2, 0};
  float weights[2] = {};
  int32_t labels[2] = {};
  float pixels[4] = {};
  gatherRows(data->columns[2], rows, 2, weights);
  gatherRows(data->columns[1], rows, 2, labels);
  gatherRows(data->columns[0], rows, 2, pixels);
  EXPECT_EQ(weights[1], 1.0f);
  EXPECT_EQ(labels[0], 2);
  EXPECT_EQ(labels[1], 0);
  EXPECT_EQ(pixels[0], 5);
  EXPECT_EQ(pixels[3], 2);
  Dataset part = data->slice(1, 2);
  gatherRows(part.columns[1], rows + 1, 1, labels);
  EXPECT_EQ(labels[0], 1);
}

TEST(Bind, ArraysWithoutRowsAreTakenAsAWhole) {
  float table[] = {1, 2, 3, 4}, number[] = {7};
  Source source;
  source.path = "d";
  source.arrays.emplace("table", Array::copyOf(MPC_RT_FLOAT32, {4}, table));
  source.arrays.emplace("number", Array::copyOf(MPC_RT_FLOAT32, {1}, number));
  source.order = {"table", "number"};
  Signature signature;
  signature.inputs.push_back({"table", {}, MPC_RT_FLOAT32, {4}, 0, /*isWhole=*/true});
  signature.inputs.push_back({"number", {}, MPC_RT_FLOAT32, {}, 0, /*isWhole=*/true});
  Result<Dataset> data = bindSource(source, signature, false);
  ASSERT_TRUE(data) << firstMessage(data);
  EXPECT_EQ(data->rows, 1);
  const int64_t first = 0;
  float values[4] = {};
  gatherRows(data->columns[0], &first, 1, values);
  EXPECT_EQ(values[3], 4);
  signature.inputs[0].dims = {2, 2};
  EXPECT_EQ(firstMessage(bindSource(source, signature, false)),
            "d:table: has shape [4]; expected [2, 2] for input 'table'");
}

TEST(Bind, ThreadsShareLongBatches) {
  constexpr int64_t rows = 1500, width = 1000;
  std::vector<uint8_t> bytes(rows * width);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<uint8_t>(i * 7 + i / width);
  std::vector<int64_t> order(rows);
  for (int64_t i = 0; i < rows; ++i)
    order[static_cast<size_t>(i)] = i % 3 ? i : (i * 7) % rows;
  Source source;
  source.path = "d";
  source.arrays.emplace("x", Array::copyOf(MPC_RT_UINT8, {rows, width}, bytes.data()));
  source.order = {"x"};
  Signature wide;
  wide.inputs.push_back({"x", {}, MPC_RT_FLOAT32, {width}, 0});
  Result<Dataset> data = bindSource(source, wide, false);
  ASSERT_TRUE(data) << firstMessage(data);
  std::vector<float> alone(rows * width), shared(rows * width);
  gatherRows(data->columns[0], order.data(), rows, alone.data());
  for (unsigned threads : {2u, 3u, 100u}) {
    std::fill(shared.begin(), shared.end(), -1.0f);
    gatherRows(data->columns[0], order.data(), rows, shared.data(), threads);
    EXPECT_EQ(alone, shared) << threads;
  }
}

TEST(Bind, OneTrailingOneMoreOrLess) {
  Source source = images();
  source.arrays["image"] = source.arrays["image"].reshaped({3, 2});
  source.arrays["label"] = source.arrays["label"].reshaped({3, 1});
  EXPECT_TRUE(bindSource(source, imageModel(), true));
  source.arrays["image"] = source.arrays["image"].reshaped({3, 2, 1, 1});
  EXPECT_TRUE(bindSource(source, imageModel(), true));
  source.arrays["image"] = source.arrays["image"].reshaped({3, 1, 2});
  EXPECT_EQ(firstMessage(bindSource(source, imageModel(), true)),
            "d:image: has shape [3, 1, 2]; expected [batch, 2, 1] for input 'image'; reshape it");
  source.arrays["image"] = source.arrays["image"].reshaped({1, 3, 2});
  source.arrays["label"] = source.arrays["label"].reshaped({1, 3});
  EXPECT_EQ(
      firstMessage(bindSource(source, imageModel(), true)),
      "d:image: has shape [1, 3, 2]; expected [batch, 2, 1] for input 'image'; pad or crop it");
}

TEST(Bind, MissingArraysListWhatIsThere) {
  Source source = images();
  source.arrays.erase("label");
  source.order = {"image"};
  EXPECT_EQ(
      firstMessage(bindSource(source, imageModel(), true)),
      "d: has no array for target 'y0' or 'label'; expected it under that name; it has: image");
  EXPECT_TRUE(bindSource(source, imageModel(), false)) << "predict needs no targets";
}

TEST(Bind, WeightsThatTheModelCannotTake) {
  Source source = images();
  source.arrays["sample_weight"] = Array::copyOf(MPC_RT_FLOAT32, {3}, "abcdefghijkl");
  EXPECT_TRUE(bindSource(source, imageModel(), true));
  Signature signature = imageModel();
  signature.sampleWeights.clear();
  EXPECT_NE(firstMessage(bindSource(source, signature, true)).find("takes no sample weights"),
            std::string::npos);
  EXPECT_TRUE(bindSource(source, signature, false));
}

/// Three rows, two outputs with losses of 2 x 3 and of one element per row.
static Signature twoOutputs() {
  Signature signature = imageModel();
  signature.targets.push_back({"y1", {"box"}, MPC_RT_INT32, {}, 3});
  signature.sampleWeights = {
      {"sample_weight0", {"sample_weight_label"}, MPC_RT_FLOAT32, {2, 3}, 0},
      {"sample_weight1", {"sample_weight_box"}, MPC_RT_FLOAT32, {}, 0},
  };
  return signature;
}

static Source boxes() {
  Source source = images();
  source.arrays["box"] = source.arrays["label"];
  source.order.push_back("box");
  return source;
}

TEST(Bind, WeightsOfEachOutputAreRepeatedOverItsElements) {
  Source source = boxes();
  float rows[] = {1, 2, 3}, columns[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  source.arrays["sample_weight"] = Array::copyOf(MPC_RT_FLOAT32, {3}, rows);
  source.arrays["sample_weight_label"] = Array::copyOf(MPC_RT_FLOAT32, {3, 1, 3, 1}, columns);
  Result<Dataset> data = bindSource(source, twoOutputs(), true);
  ASSERT_TRUE(data) << firstMessage(data);
  ASSERT_EQ(data->weightCount, 2u);
  int64_t chosen[] = {2, 1};
  float elements[12], single[2];
  gatherRows(data->columns[3], chosen, 2, elements);
  const float expected[] = {7, 8, 9, 7, 8, 9, 4, 5, 6, 4, 5, 6};
  EXPECT_TRUE(std::equal(elements, elements + 12, expected));
  gatherRows(data->columns[4], chosen, 2, single);
  EXPECT_EQ(single[0], 3);
  EXPECT_EQ(single[1], 2);
  // One value per row goes with every element.
  source.arrays.erase("sample_weight_label");
  data = bindSource(source, twoOutputs(), true);
  ASSERT_TRUE(data) << firstMessage(data);
  gatherRows(data->columns[3], chosen, 2, elements);
  EXPECT_EQ(elements[0], 3);
  EXPECT_EQ(elements[5], 3);
  EXPECT_EQ(elements[6], 2);
  // None at all: ones.
  source.arrays.erase("sample_weight");
  data = bindSource(source, twoOutputs(), true);
  ASSERT_TRUE(data) << firstMessage(data);
  gatherRows(data->columns[3], chosen, 2, elements);
  EXPECT_TRUE(std::all_of(elements, elements + 12, [](float weight) { return weight == 1; }));
}

TEST(Bind, WeightsOfOtherShapes) {
  auto message = [](std::vector<int64_t> dims) {
    Source source = boxes();
    source.arrays["sample_weight_label"] = *Array::allocate(MPC_RT_FLOAT32, dims);
    return firstMessage(bindSource(source, twoOutputs(), true));
  };
  EXPECT_EQ(message({3, 2, 3}), "");
  EXPECT_EQ(message({3, 1, 1}), "");
  EXPECT_EQ(message({3, 3}), "d:sample_weight_label: has shape [3, 3]; expected [batch] or "
                             "[batch, 2, 3], a weight per row or per element of the loss, for "
                             "weights 'sample_weight0'; reshape it");
  EXPECT_NE(message({3, 3, 2}).find("has shape [3, 3, 2]; expected [batch] or [batch, 2, 3]"),
            std::string::npos);
  EXPECT_EQ(message({4, 2, 3}), "d:sample_weight_label: has 4 rows; expected 3 as 'image'");
}

TEST(Bind, BytesOfImagesAreScaled) {
  uint8_t pixels[] = {0, 51, 255, 1, 2, 3};
  uint8_t labels[] = {0, 1, 2};
  Source source;
  source.path = "mnist";
  source.kind = Source::Kind::IdxFolder;
  source.arrays.emplace("images", Array::copyOf(MPC_RT_UINT8, {3, 1, 2}, pixels));
  source.arrays.emplace("labels", Array::copyOf(MPC_RT_UINT8, {3}, labels));
  Result<Dataset> data = bindSource(source, imageModel(), true);
  ASSERT_TRUE(data) << firstMessage(data);
  int64_t rows[] = {0, 1};
  float scaled[4];
  gatherRows(data->columns[0], rows, 2, scaled);
  EXPECT_EQ(scaled[1], 51 / 255.0f);
  EXPECT_EQ(scaled[2], 1.0f);
}

static Source numbered(const std::vector<std::string> &names) {
  Source source;
  source.path = "d";
  source.kind = Source::Kind::Csv;
  source.order = names;
  for (size_t i = 0; i < names.size(); ++i) {
    const int64_t value = static_cast<int64_t>(i);
    source.arrays.emplace(names[i], Array::copyOf(MPC_RT_INT64, {1}, &value));
  }
  return source;
}

TEST(Bind, ColumnsNumberedAsThePositionalName) {
  Result<Dataset> data = bindSource(numbered({"x1", "label", "id", "x0"}), imageModel(), true);
  ASSERT_TRUE(data) << firstMessage(data);
  EXPECT_EQ(data->columns[0].array.as<int64_t>()[0], 3);
  EXPECT_EQ(data->columns[0].array.as<int64_t>()[1], 0);
  // With several inputs nobody knows whose x1 is.
  Signature two = imageModel();
  two.inputs.push_back({"mask", {"x1"}, MPC_RT_FLOAT32, {2, 1}, 0});
  EXPECT_FALSE(bindSource(numbered({"x0", "x1", "x2", "x3", "label"}), two, true));
  // The only target's values, too.
  Signature wide = imageModel();
  wide.targets[0] = {"y0", {"label"}, MPC_RT_FLOAT32, {3}, 0};
  data = bindSource(numbered({"y0", "a", "y1", "b", "y2"}), wide, true);
  ASSERT_TRUE(data) << firstMessage(data);
  EXPECT_EQ(data->columns[1].array.as<int64_t>()[2], 4);
  EXPECT_EQ(data->columns[0].array.as<int64_t>()[1], 3);
}

TEST(Bind, ArraysWithoutNamesAreForModelsOfOneInput) {
  const float pixels[] = {1, 2};
  const int64_t label = 1;
  Source source;
  source.path = "d";
  source.arrays.emplace("arr_0", Array::copyOf(MPC_RT_FLOAT32, {1, 2, 1}, pixels));
  source.arrays.emplace("arr_1", Array::copyOf(MPC_RT_INT64, {1}, &label));
  source.order = {"arr_0", "arr_1"};
  EXPECT_TRUE(bindSource(source, imageModel(), true));
  Signature two = imageModel();
  two.inputs.push_back({"mask", {"x1"}, MPC_RT_FLOAT32, {2, 1}, 0});
  EXPECT_FALSE(bindSource(source, two, true));
  EXPECT_TRUE(namesOf({two})("arr_1"));
  EXPECT_FALSE(namesOf({two})("arr_2"));
}

// ---- Texts --------------------------------------------------------------------------------------

static Array words(std::vector<int64_t> shape, const std::vector<std::string> &all, int64_t width) {
  shape.push_back(width);
  Array array = *Array::allocate(MPC_RT_INT32, shape);
  array.setText();
  for (size_t i = 0; i < all.size(); ++i)
    std::copy(all[i].begin(), all[i].end(), array.as<int32_t>() + static_cast<int64_t>(i) * width);
  return array;
}

static Result<Dataset> bindWords(const Array &array, int64_t width, bool isText = true) {
  Signature signature;
  TensorSpec spec{"words", {}, MPC_RT_INT32, {2, width}, 0};
  spec.isText = isText;
  signature.inputs.push_back(spec);
  Source source;
  source.path = "d";
  source.arrays.emplace("words", array);
  source.order = {"words"};
  return bindSource(source, signature, false);
}

TEST(Bind, TextsGetTheModelsWidth) {
  Result<Dataset> data = bindWords(words({1, 2}, {"ab", "c"}, 3), 5);
  ASSERT_TRUE(data) << firstMessage(data);
  const Array &column = data->columns[0].array;
  EXPECT_EQ(column.dims(), (std::vector<int64_t>{1, 2, 5}));
  EXPECT_EQ(std::vector<int32_t>(column.as<int32_t>(), column.as<int32_t>() + 10),
            (std::vector<int32_t>{'a', 'b', 0, 0, 0, 'c', 0, 0, 0, 0}));
  // A wide array of short texts fits.
  EXPECT_TRUE(bindWords(words({1, 2}, {"ab", "c"}, 300), 2));
  EXPECT_TRUE(bindWords(words({1, 2}, {"", ""}, 0), 2));
}

TEST(Bind, TextsThatDoNotFitAreRefused) {
  EXPECT_EQ(firstMessage(bindWords(words({2, 2}, {"ab", "c", "d", "efgh"}, 4), 3)),
            "d:words: the text [1, 1] has 4 characters; expected at most 3 for input 'words'; "
            "shorten it, or compile the model with --text-width=4");
  EXPECT_NE(firstMessage(bindWords(words({1, 2}, {"a", "b"}, 3), 3, false))
                .find("is text; expected int32 for input 'words'"),
            std::string::npos);
  int32_t numbers[] = {1, 2, 3, 4, 5, 6};
  EXPECT_NE(firstMessage(bindWords(Array::copyOf(MPC_RT_INT32, {1, 2, 3}, numbers), 3))
                .find("is int32; expected text for input 'words'"),
            std::string::npos);
  EXPECT_NE(firstMessage(bindWords(words({2}, {"a", "b"}, 3), 3)).find("has shape"),
            std::string::npos);
}
