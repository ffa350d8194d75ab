// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Written files are read back: every dtype, empty groups, long lists of names, texts.
#include "mpc/Export/Keras/Hdf5Content.h"

#include <gtest/gtest.h>

using namespace mpc::keras;

namespace {

TEST(WriteHdf5, EveryDtypeComesBack) {
  std::vector<StoredTensor> tensors;
#define MPC_RT_DTYPE(name, value, size, keras, mlir, safetensors, numpy)                           \
  tensors.push_back({value, {2, 3}, std::vector<uint8_t>(6 * size, uint8_t(value % 2))});
#include "mpc-rt/dtype.inc"
#undef MPC_RT_DTYPE
  tensors.push_back({MPC_RT_FLOAT32, {}, {0, 0, 128, 63}});
  tensors.push_back({MPC_RT_FLOAT32, {0, 4}, {}});
  Hdf5Content content;
  for (size_t index = 0; index < tensors.size(); ++index)
    content.datasets.emplace_back("layers/a/vars/" + std::to_string(index), &tensors[index]);
  content.groups.push_back("layers/empty/vars");
  llvm::Expected<std::string> image = writeHdf5(content);
  ASSERT_TRUE(bool(image)) << llvm::toString(image.takeError());
  llvm::Expected<WeightFile> file = readWeights(llvm::MemoryBufferRef(*image, "w.h5"));
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  ASSERT_EQ(file->size(), tensors.size());
  for (const auto &[path, tensor] : content.datasets) {
    EXPECT_EQ(file->at(path).dtype, tensor->dtype) << path;
    EXPECT_EQ(file->at(path).dims, tensor->dims) << path;
    EXPECT_EQ(file->at(path).bytes, tensor->bytes) << path;
  }
  llvm::Expected<std::string> again = writeHdf5(content);
  ASSERT_TRUE(bool(again));
  EXPECT_EQ(*image, *again);
}

TEST(WriteHdf5, TextsAndListsComeBack) {
  Hdf5Content content;
  content.groups.push_back("model_weights");
  const std::string config(200000, 'x');
  content.texts.push_back({"", "model_config", config});
  Hdf5Content::List names{"model_weights", "layer_names", {}};
  for (int index = 0; index < 5000; ++index)
    names.values.push_back("a_layer_with_a_long_name_" + std::to_string(index));
  content.lists.push_back(names);
  content.lists.push_back({"model_weights", "weight_names", {}});
  llvm::Expected<std::string> image = writeHdf5(content);
  ASSERT_TRUE(bool(image)) << llvm::toString(image.takeError());
  llvm::Expected<Hdf5File> file = readHdf5(llvm::MemoryBufferRef(*image, "w.h5"));
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  EXPECT_EQ(file->textAt("", "model_config"), config);
  EXPECT_EQ(file->listAt("model_weights", "layer_names"), names.values);
  EXPECT_EQ(file->strings.count("model_weights@layer_names0"), 1u); // cut into pieces
  EXPECT_TRUE(file->listAt("model_weights", "weight_names").empty());
}

TEST(WriteHdf5, TwoValuesOfOneNameAreAnError) {
  StoredTensor scalar = {MPC_RT_FLOAT32, {}, {0, 0, 0, 0}};
  Hdf5Content content;
  content.datasets = {{"a", &scalar}, {"a", &scalar}};
  llvm::Expected<std::string> image = writeHdf5(content);
  EXPECT_FALSE(bool(image));
  llvm::consumeError(image.takeError());
}

} // namespace
