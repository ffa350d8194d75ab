// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// HDF5 files that Keras writes are read; all others end in an error, whatever libhdf5 does.
#include "mpc/Import/Keras/Weights.h"

#include "mpc/Import/Keras/Archive.h"

#include "test/Unit/Fixtures.h"
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <hdf5.h>

using namespace mpc::keras;

namespace {

/// The bytes of an HDF5 file that `fill` fills.
std::string makeImage(const std::function<void(hid_t)> &fill) {
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_core(access, 4096, 0);
  hid_t file = H5Fcreate("test-image", H5F_ACC_TRUNC, H5P_DEFAULT, access);
  fill(file);
  H5Fflush(file, H5F_SCOPE_GLOBAL);
  std::string image(size_t(H5Fget_file_image(file, nullptr, 0)), '\0');
  H5Fget_file_image(file, image.data(), image.size());
  H5Fclose(file);
  H5Pclose(access);
  return image;
}

void addFloats(hid_t parent, const char *name, const std::vector<hsize_t> &dims,
               const std::vector<float> &values, hid_t creation = H5P_DEFAULT, bool write = true) {
  hid_t space = dims.empty() ? H5Screate(H5S_SCALAR)
                             : H5Screate_simple(int(dims.size()), dims.data(), nullptr);
  hid_t set = H5Dcreate2(parent, name, H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  if (write)
    H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  H5Dclose(set);
  H5Sclose(space);
}

std::string errorOf(const std::string &image, const WeightLimits &limits = {}) {
  llvm::Expected<WeightFile> file = readWeights(llvm::MemoryBufferRef(image, "w.h5"), limits);
  return file ? "" : llvm::toString(file.takeError());
}

std::string smallImage() {
  return makeImage([](hid_t file) {
    hid_t group = H5Gcreate2(file, "layers", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    addFloats(group, "0", {2, 3}, {1, 2, 3, 4, 5, 6});
    addFloats(group, "scalar", {}, {7});
    addFloats(group, "empty", {0, 5}, {});
    H5Gclose(group);
  });
}

TEST(ReadWeights, ReadsShapesAndBytes) {
  const std::string image = smallImage();
  llvm::Expected<WeightFile> file = readWeights(llvm::MemoryBufferRef(image, "w.h5"));
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  ASSERT_EQ(file->size(), 3u);
  const StoredTensor &matrix = file->at("layers/0");
  EXPECT_EQ(matrix.dtype, uint32_t(MPC_RT_FLOAT32));
  EXPECT_EQ(matrix.dims, (std::vector<int64_t>{2, 3}));
  float values[6];
  ASSERT_EQ(matrix.bytes.size(), sizeof(values));
  std::memcpy(values, matrix.bytes.data(), sizeof(values));
  EXPECT_EQ(values[5], 6.0f);
  EXPECT_TRUE(file->at("layers/scalar").dims.empty());
  EXPECT_EQ(file->at("layers/empty").bytes.size(), 0u);
}

TEST(ReadWeights, ReadsBfloat16AsKerasWritesIt) {
  const std::string image = makeImage([](hid_t file) {
    hid_t type = H5Tcreate(H5T_OPAQUE, 2);
    const hsize_t count = 2;
    hid_t space = H5Screate_simple(1, &count, nullptr);
    hid_t set = H5Dcreate2(file, "v", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const uint16_t values[2] = {0x3f80, 0x4000};
    H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    hid_t text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, H5T_VARIABLE);
    H5Tset_cset(text, H5T_CSET_UTF8);
    hid_t scalar = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(set, "dtype", text, scalar, H5P_DEFAULT, H5P_DEFAULT);
    const char *name = "bfloat16";
    H5Awrite(attribute, text, &name);
    H5Aclose(attribute);
    H5Dclose(set);
  });
  llvm::Expected<WeightFile> file = readWeights(llvm::MemoryBufferRef(image, "w.h5"));
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  EXPECT_EQ(file->at("v").dtype, uint32_t(MPC_RT_BFLOAT16));
  EXPECT_EQ(file->at("v").bytes, (std::vector<uint8_t>{0x80, 0x3f, 0x00, 0x40}));
}

TEST(ReadWeights, ReadsFixturesOfEveryStoredDtype) {
  const struct {
    const char *fixture;
    uint32_t dtype;
  } rows[] = {{"forward/sequential_mlp__float32", MPC_RT_FLOAT32},
              {"forward/sequential_mlp__mixed_float16", MPC_RT_FLOAT32},
              {"forward/sequential_mlp__float16", MPC_RT_FLOAT16},
              {"forward/sequential_mlp__bfloat16", MPC_RT_BFLOAT16}};
  for (const auto &row : rows) {
    const std::string path =
        mpc::test::fixturePath(std::string("keras/") + row.fixture + "/model.keras");
    auto bytes = llvm::MemoryBuffer::getFile(path);
    ASSERT_TRUE(bool(bytes)) << path;
    llvm::Expected<Archive> archive = readArchive(**bytes);
    ASSERT_TRUE(bool(archive)) << llvm::toString(archive.takeError());
    llvm::Expected<WeightFile> file = readWeights(*archive->weights);
    ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
    ASSERT_TRUE(file->count("layers/dense/vars/0"));
    const StoredTensor &kernel = file->at("layers/dense/vars/0");
    EXPECT_EQ(kernel.dtype, row.dtype) << row.fixture;
    EXPECT_EQ(kernel.dims, (std::vector<int64_t>{8, 10}));
  }
}

TEST(ReadWeights, LinksAreRefused) {
  const std::string external = makeImage([](hid_t file) {
    H5Lcreate_external("/etc/passwd", "/x", file, "secret", H5P_DEFAULT, H5P_DEFAULT);
  });
  EXPECT_EQ(errorOf(external), "w.h5:secret: external links are refused");
  const std::string soft = makeImage(
      [](hid_t file) { H5Lcreate_soft("/nowhere", file, "alias", H5P_DEFAULT, H5P_DEFAULT); });
  EXPECT_EQ(errorOf(soft), "w.h5:alias: soft links are refused");
  const std::string cycle = makeImage([](hid_t file) {
    hid_t group = H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_hard(file, "g", group, "again", H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(group);
  });
  EXPECT_NE(errorOf(cycle).find("w.h5:g/again: a group that has another path"), std::string::npos)
      << errorOf(cycle);
  // Each of these links the next one twice: 2^60 paths.
  const std::string doubled = makeImage([](hid_t file) {
    hid_t group = H5Gopen2(file, "/", H5P_DEFAULT);
    for (unsigned level = 0; level < 60; ++level) {
      hid_t next = H5Gcreate2(group, "a", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
      H5Lcreate_hard(group, "a", group, "b", H5P_DEFAULT, H5P_DEFAULT);
      H5Gclose(group);
      group = next;
    }
    H5Gclose(group);
  });
  EXPECT_NE(errorOf(doubled).find("a group that has another path"), std::string::npos)
      << errorOf(doubled);
}

TEST(ReadWeights, DataElsewhereIsRefused) {
  const std::string external = makeImage([](hid_t file) {
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(creation, "/etc/passwd", 0, 64);
    addFloats(file, "v", {4}, {}, creation, /*write=*/false);
  });
  EXPECT_NE(errorOf(external).find("w.h5:v: virtual or external storage"), std::string::npos)
      << errorOf(external);
  const std::string filtered = makeImage([](hid_t file) {
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t chunk = 4;
    H5Pset_chunk(creation, 1, &chunk);
    H5Pset_shuffle(creation);
    addFloats(file, "v", {4}, {1, 2, 3, 4}, creation);
  });
  EXPECT_NE(errorOf(filtered).find("w.h5:v: filtered"), std::string::npos) << errorOf(filtered);
}

TEST(ReadWeights, DeclaredButUnwrittenDataAreRefused) {
  const std::string small =
      makeImage([](hid_t file) { addFloats(file, "v", {4}, {}, H5P_DEFAULT, /*write=*/false); });
  EXPECT_NE(errorOf(small).find("declares 16 bytes but stores 0"), std::string::npos)
      << errorOf(small);
  const std::string bomb = makeImage([](hid_t file) {
    addFloats(file, "v", {hsize_t(1) << 40}, {}, H5P_DEFAULT, /*write=*/false);
  });
  EXPECT_NE(errorOf(bomb).find("shape bomb"), std::string::npos) << errorOf(bomb);
}

TEST(ReadWeights, UnknownTypesAreRefused) {
  const std::string image = makeImage([](hid_t file) {
    hid_t space = H5Screate(H5S_SCALAR);
    H5Dclose(H5Dcreate2(file, "v", H5T_IEEE_F32BE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  });
  EXPECT_NE(errorOf(image).find("w.h5:v: unknown element type"), std::string::npos);
}

TEST(ReadWeights, EveryTruncationIsAnError) {
  const std::string image = smallImage();
  for (size_t length = 0; length < image.size(); length += 97)
    EXPECT_NE(errorOf(image.substr(0, length)), "") << length;
}

TEST(ReadWeights, FlippedBytesNeverEndTheReader) {
  const std::string image = smallImage();
  for (size_t index = 0; index < image.size(); index += 13) {
    std::string damaged = image;
    damaged[index] = char(~damaged[index]);
    WeightLimits limits;
    limits.maxSeconds = 5;
    errorOf(damaged, limits); // an error or other values; what counts is that it returns
  }
}

TEST(SnakeCase, MatchesKeras) {
  const std::pair<const char *, const char *> rows[] = {
      {"Dense", "dense"},
      {"PReLU", "p_re_lu"},
      {"ReLU", "re_lu"},
      {"LeakyReLU", "leaky_re_lu"},
      {"ELU", "elu"},
      {"Conv2D", "conv2d"},
      {"LSTM", "lstm"},
      {"BatchNormalization", "batch_normalization"},
      {"GlobalAveragePooling2D", "global_average_pooling2d"},
      {"MultiHeadAttention", "multi_head_attention"},
      {"InputLayer", "input_layer"}};
  for (const auto &[className, expected] : rows)
    EXPECT_EQ(snakeCase(className), expected);
}

} // namespace
