// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tensors in other files: where these may lie, and what the model may say of them.
#include "test/Unit/lib/Import/ONNX/ModelBytes.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>

using namespace mpc::onnx;
namespace fs = std::filesystem;

namespace {

class ExternalDataTest : public testing::Test {
protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "mpc-onnx-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root = name;
    folder = root / "model";
    fs::create_directories(folder / "sub");
    write(folder / "w.bin", "0123456789abcdef");
    write(folder / "sub/w.bin", "fedcba9876543210");
    write(root / "secret", "0123456789abcdef");
  }
  void TearDown() override { fs::remove_all(root); }

  static void write(const fs::path &path, const std::string &content) {
    std::ofstream(path, std::ios::binary) << content;
  }

  using Keys = std::vector<std::pair<std::string, std::string>>;
  static file::ModelProto make(const Keys &keys) {
    file::ModelProto model = makeModel();
    file::TensorProto &tensor = *model.mutable_graph()->add_initializer();
    tensor.set_name("w");
    tensor.set_data_type(1);
    tensor.add_dims(2);
    tensor.set_data_location(1);
    for (const auto &[key, value] : keys) {
      file::Entry &entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    return model;
  }
  std::string error(const Keys &keys) { return errorOf(make(keys), folder.string()); }
  std::string errorAt(const std::string &location) { return error({{"location", location}}); }
  std::string bytes(const Keys &keys) {
    llvm::Expected<Model> model = readBytes(make(keys).SerializeAsString(), folder.string());
    if (!model)
      return llvm::toString(model.takeError());
    const Tensor &tensor = model->graph.initializers.at(0);
    return {tensor.bytes.begin(), tensor.bytes.end()};
  }

  fs::path root, folder;
};

bool contains(const std::string &text, const char *part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_F(ExternalDataTest, Read) {
  EXPECT_EQ(bytes({{"location", "w.bin"}}), "01234567");
  EXPECT_EQ(bytes({{"location", "./sub//w.bin"}}), "fedcba98");
  EXPECT_EQ(bytes({{"location", "w.bin"}, {"offset", "3"}, {"length", "8"}}), "3456789a");
  EXPECT_EQ(bytes({{"location", "w.bin"}, {"offset", "8"}, {"checksum", "unknown"}}), "89abcdef");
}

TEST_F(ExternalDataTest, ReadByPath) {
  write(folder / "m.onnx", make({{"location", "w.bin"}}).SerializeAsString());
  llvm::Expected<Model> model = readModel((folder / "m.onnx").string());
  ASSERT_TRUE(bool(model)) << llvm::toString(model.takeError());
  const Tensor &tensor = model->graph.initializers.at(0);
  EXPECT_EQ(std::string(tensor.bytes.begin(), tensor.bytes.end()), "01234567");
}

TEST_F(ExternalDataTest, OutsideOfTheFolder) {
  fs::create_symlink(root / "secret", folder / "link");
  fs::create_symlink("w.bin", folder / "inner-link");
  fs::create_directory_symlink(root, folder / "up");
  fs::create_hard_link(root / "secret", folder / "hard");
  EXPECT_TRUE(contains(errorAt((root / "secret").string()), "has an absolute path"));
  EXPECT_TRUE(contains(errorAt("../secret"), "has '..' in its path"));
  EXPECT_TRUE(contains(errorAt("sub/../../secret"), "has '..' in its path"));
  EXPECT_TRUE(contains(errorAt("link"), "reached through a link"));
  EXPECT_TRUE(contains(errorAt("inner-link"), "reached through a link"));
  EXPECT_TRUE(contains(errorAt("up/secret"), "reached through a link"));
  EXPECT_TRUE(contains(errorAt("hard"), "more than one name"));
}

TEST_F(ExternalDataTest, NoRegularFile) {
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  EXPECT_TRUE(contains(errorAt("fifo"), "no regular file"));
  EXPECT_TRUE(contains(errorAt("sub"), "no regular file"));
  EXPECT_TRUE(contains(errorAt("."), "no regular file"));
  EXPECT_TRUE(contains(errorAt("missing"), "No such file"));
  EXPECT_TRUE(contains(errorAt("w.bin/x"), "m.onnx: tensor 'w' external data 'w.bin/x'"));
}

TEST_F(ExternalDataTest, Names) {
  EXPECT_TRUE(contains(errorAt(""), "has no file name"));
  EXPECT_TRUE(contains(errorAt(std::string("w.bin\0x", 7)), "has no file name"));
  EXPECT_TRUE(contains(errorAt(std::string(5000, 'a')), "has no file name"));
  EXPECT_TRUE(contains(error({{"location", "w.bin"}, {"location", "secret"}}), "twice"));
}

TEST_F(ExternalDataTest, Ranges) {
  const auto at = [&](const char *offset) {
    return error({{"location", "w.bin"}, {"offset", offset}});
  };
  EXPECT_EQ(at("8"), "");
  EXPECT_TRUE(contains(at("9"), "lies at bytes 9 to 17 of external data 'w.bin', which have 16"));
  EXPECT_TRUE(contains(at("18446744073709551615"), "lies at bytes"));
  for (const char *offset : {"-1", "1e3", "18446744073709551616", " 1", ""})
    EXPECT_TRUE(contains(at(offset), "expected a number of bytes")) << offset;
  EXPECT_TRUE(contains(error({{"location", "w.bin"}, {"length", "7"}}),
                       "external data have 7 bytes; its shape and type take 8"));
  write(folder / "empty", "");
  EXPECT_TRUE(contains(errorAt("empty"), "which have 0"));
}

TEST_F(ExternalDataTest, InMemory) {
  const std::string model = make({{"location", "w.bin"}}).SerializeAsString();
  EXPECT_TRUE(contains(errorOf(model), "a model in memory has no folder"));
}

TEST_F(ExternalDataTest, ManyTensorsOfOneFile) {
  file::ModelProto model = make({{"location", "w.bin"}});
  for (int i = 0; i < 1000; ++i) {
    file::TensorProto &tensor = *model.mutable_graph()->add_initializer();
    tensor = model.graph().initializer(0);
    tensor.set_name("w" + std::to_string(i));
  }
  EXPECT_EQ(errorOf(model, folder.string()), "");
  ReadLimits limits;
  limits.externalBytes = 8000;
  EXPECT_TRUE(contains(errorOf(model, folder.string(), limits), "take more than 8000 bytes"));
  limits = {};
  limits.externalFiles = 1;
  model.mutable_graph()->mutable_initializer(5)->mutable_external_data(0)->set_value("sub/w.bin");
  EXPECT_TRUE(contains(errorOf(model, folder.string(), limits), "in more than 1 files"));
}

TEST_F(ExternalDataTest, BesideElementsInTheModel) {
  file::ModelProto model = make({{"location", "w.bin"}});
  model.mutable_graph()->mutable_initializer(0)->add_float_data(1);
  EXPECT_TRUE(contains(errorOf(model, folder.string()), "and in another file"));
  model = make({{"location", "w.bin"}});
  model.mutable_graph()->mutable_initializer(0)->set_data_type(8);
  EXPECT_TRUE(contains(errorOf(model, folder.string()), "is of strings"));
}
