// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Binding arrays to a model's tensors, and gathering rows.
#include "data/bind.h"
#include "data/gather.h"

#include <gtest/gtest.h>

using namespace mpc::data;

static Signature imageModel() {
  Signature signature;
  signature.inputs.push_back({"image", {"x0"}, MPC_RT_FLOAT32, {2, 1}, 0});
  signature.targets.push_back({"y0", {"label"}, MPC_RT_INT32, {}, 3});
  signature.sampleWeight = TensorSpec{"sample_weight", {}, MPC_RT_FLOAT32, {}, 0};
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
  EXPECT_FALSE(data->weightsGiven);
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
  signature.sampleWeight.reset();
  EXPECT_NE(firstMessage(bindSource(source, signature, true)).find("takes no sample weights"),
            std::string::npos);
  EXPECT_TRUE(bindSource(source, signature, false));
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
