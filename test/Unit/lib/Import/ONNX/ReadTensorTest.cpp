// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every element type in every form in which a file may store it.
#include "lib/Import/ONNX/Reader/ReadTensor.h"
#include "mpc/Import/ONNX/DataTypes.h"
#include "test/Unit/lib/Import/ONNX/ModelBytes.h"

#include <gtest/gtest.h>

using namespace mpc::onnx;

namespace {

struct Result {
  std::string bytes, error;
  std::vector<std::string> strings;
};

template <class Proto> Result readTensor(const Proto &from) {
  const ReadLimits limits;
  Storage storage(nullptr, "", limits);
  TensorReader reader(storage, limits);
  llvm::Expected<Tensor> tensor = reader.read(from);
  if (!tensor)
    return {"", llvm::toString(tensor.takeError()), {}};
  return {std::string(tensor->bytes.begin(), tensor->bytes.end()), "", tensor->strings};
}

file::TensorProto makeTensor(DataType type, std::initializer_list<int64_t> shape) {
  file::TensorProto tensor;
  tensor.set_name("w");
  tensor.set_data_type(int32_t(type));
  for (int64_t extent : shape)
    tensor.add_dims(extent);
  return tensor;
}

template <class T> std::string bytesOf(std::initializer_list<T> values) {
  return {reinterpret_cast<const char *>(values.begin()), values.size() * sizeof(T)};
}

struct OfInt32 {
  DataType type;
  std::vector<int32_t> entries; ///< of a tensor of three elements
  std::string bytes;
};

const OfInt32 kOfInt32[] = {
    {DataType::Int32, {1, -2, 3}, bytesOf<int32_t>({1, -2, 3})},
    {DataType::Int16, {1, -2, 32767}, bytesOf<int16_t>({1, -2, 32767})},
    {DataType::UInt16, {1, 2, 65535}, bytesOf<uint16_t>({1, 2, 65535})},
    {DataType::Int8, {1, -128, 127}, bytesOf<int8_t>({1, -128, 127})},
    {DataType::UInt8, {1, 2, 255}, bytesOf<uint8_t>({1, 2, 255})},
    {DataType::Bool, {1, 0, 1}, bytesOf<uint8_t>({1, 0, 1})},
    {DataType::Float16, {0x3c00, 0xc000, -32768}, bytesOf<uint16_t>({0x3c00, 0xc000, 0x8000})},
    {DataType::BFloat16, {0x3f80, 0xc000, 0}, bytesOf<uint16_t>({0x3f80, 0xc000, 0})},
    {DataType::Float8E4M3FN, {0x38, 0xff, -1}, bytesOf<uint8_t>({0x38, 0xff, 0xff})},
    {DataType::Float8E4M3FNUZ, {1, 2, 0x80}, bytesOf<uint8_t>({1, 2, 0x80})},
    {DataType::Float8E5M2, {1, 2, 3}, bytesOf<uint8_t>({1, 2, 3})},
    {DataType::Float8E5M2FNUZ, {1, 2, 3}, bytesOf<uint8_t>({1, 2, 3})},
    {DataType::Float8E8M0, {0, 127, 255}, bytesOf<uint8_t>({0, 127, 255})},
    // Two elements in a byte, then one.
    {DataType::UInt4, {0x21, 0x03}, bytesOf<uint8_t>({0x21, 0x03})},
    {DataType::Int4, {0xf1, 0x07}, bytesOf<uint8_t>({0xf1, 0x07})},
    {DataType::Float4E2M1, {0x21, 0x03}, bytesOf<uint8_t>({0x21, 0x03})},
    {DataType::UInt2, {0x39}, bytesOf<uint8_t>({0x39})},
    {DataType::Int2, {0x39}, bytesOf<uint8_t>({0x39})},
    // One element of six bits in an entry: 1, 63, 32 become 0x01 | 0xfc0 | 0x20000.
    {DataType::Float6E2M3, {1, 63, 32}, bytesOf<uint8_t>({0xc1, 0x0f, 0x02})},
    {DataType::Float6E3M2, {1, 63, 32}, bytesOf<uint8_t>({0xc1, 0x0f, 0x02})},
};

} // namespace

TEST(ReadTensor, Int32Data) {
  for (const OfInt32 &row : kOfInt32) {
    file::TensorProto tensor = makeTensor(row.type, {3});
    for (int32_t entry : row.entries)
      tensor.add_int32_data(entry);
    const Result result = readTensor(tensor);
    EXPECT_EQ(result.error, "") << dataTypeName(row.type).str();
    EXPECT_EQ(result.bytes, row.bytes) << dataTypeName(row.type).str();
    // The same bytes as raw ones.
    tensor.clear_int32_data();
    tensor.set_raw_data(row.bytes);
    EXPECT_EQ(readTensor(tensor).bytes, row.bytes) << dataTypeName(row.type).str();
    // One entry more, one byte less.
    tensor.clear_raw_data();
    for (int32_t entry : row.entries)
      tensor.add_int32_data(entry);
    tensor.add_int32_data(0);
    EXPECT_NE(readTensor(tensor).error.find("numbers in int32_data"), std::string::npos);
    tensor.clear_int32_data();
    tensor.set_raw_data(row.bytes.substr(1));
    EXPECT_NE(readTensor(tensor).error, "") << dataTypeName(row.type).str();
  }
}

TEST(ReadTensor, OtherFields) {
  file::TensorProto tensor = makeTensor(DataType::Float, {2, 1});
  tensor.add_float_data(1.5f);
  tensor.add_float_data(-2);
  EXPECT_EQ(readTensor(tensor).bytes, bytesOf<float>({1.5f, -2}));
  tensor = makeTensor(DataType::Complex64, {1});
  tensor.add_float_data(1.5f);
  tensor.add_float_data(-2);
  EXPECT_EQ(readTensor(tensor).bytes, bytesOf<float>({1.5f, -2}));
  tensor = makeTensor(DataType::Double, {1});
  tensor.add_double_data(1.5);
  EXPECT_EQ(readTensor(tensor).bytes, bytesOf<double>({1.5}));
  tensor = makeTensor(DataType::Complex128, {1});
  tensor.add_double_data(1.5);
  tensor.add_double_data(2);
  EXPECT_EQ(readTensor(tensor).bytes, bytesOf<double>({1.5, 2}));
  tensor = makeTensor(DataType::Int64, {});
  tensor.add_int64_data(-5);
  EXPECT_EQ(readTensor(tensor).bytes, bytesOf<int64_t>({-5}));
  tensor = makeTensor(DataType::UInt64, {1});
  tensor.add_uint64_data(UINT64_MAX);
  EXPECT_EQ(readTensor(tensor).bytes, bytesOf<uint64_t>({UINT64_MAX}));
  tensor = makeTensor(DataType::UInt32, {2});
  tensor.add_uint64_data(7);
  tensor.add_uint64_data(UINT32_MAX);
  EXPECT_EQ(readTensor(tensor).bytes, bytesOf<uint32_t>({7, UINT32_MAX}));
  tensor = makeTensor(DataType::String, {2});
  tensor.add_string_data("a");
  tensor.add_string_data(std::string("\0\xff", 2));
  EXPECT_EQ(readTensor(tensor).strings, (std::vector<std::string>{"a", std::string("\0\xff", 2)}));
}

TEST(ReadTensor, EveryTypeWithoutElements) {
  for (int type = 1; type <= 28; ++type) {
    file::TensorProto tensor = makeTensor(DataType(type), {0, 3});
    EXPECT_EQ(readTensor(tensor).error, "") << type;
    // An empty field of raw bytes is how some writers say it.
    tensor.set_raw_data("");
    EXPECT_EQ(readTensor(tensor).error, "") << type;
    EXPECT_NE(readTensor(makeTensor(DataType(type), {1})).error, "") << type;
  }
  EXPECT_NE(readTensor(makeTensor(DataType(0), {0})).error, "");
  EXPECT_NE(readTensor(makeTensor(DataType(29), {0})).error, "");
  EXPECT_NE(readTensor(makeTensor(DataType(-1), {0})).error, "");
}

TEST(ReadTensor, RawBool) {
  file::TensorProto tensor = makeTensor(DataType::Bool, {3});
  tensor.set_raw_data(bytesOf<uint8_t>({0, 2, 255}));
  EXPECT_EQ(readTensor(tensor).bytes, bytesOf<uint8_t>({0, 1, 1}));
}

TEST(ReadTensor, NumbersOutsideOfTheType) {
  const std::tuple<DataType, int32_t, const char *> rows[] = {
      {DataType::Int8, 128, "the number 128, which is no int8"},
      {DataType::UInt8, -1, "the number -1, which is no uint8"},
      {DataType::UInt16, 65536, "which is no uint16"},
      {DataType::Int16, -32769, "which is no int16"},
      {DataType::Bool, 2, "which is no bool"},
      {DataType::Float16, 65536, "which is no float16"},
      {DataType::Float8E5M2, 256, "which is no float8e5m2"},
      {DataType::Float6E2M3, 64, "which is no float6e2m3"},
      {DataType::UInt4, 256, "which is no uint4"}};
  for (const auto &[type, number, text] : rows) {
    file::TensorProto tensor = makeTensor(type, {1});
    tensor.add_int32_data(number);
    EXPECT_NE(readTensor(tensor).error.find(text), std::string::npos) << readTensor(tensor).error;
  }
  file::TensorProto tensor = makeTensor(DataType::UInt32, {1});
  tensor.add_uint64_data(uint64_t{1} << 32);
  EXPECT_NE(readTensor(tensor).error.find("4294967296, which is no uint32"), std::string::npos);
}

TEST(ReadTensor, Contradictions) {
  file::TensorProto tensor = makeTensor(DataType::Float, {1});
  tensor.add_int32_data(1);
  EXPECT_EQ(readTensor(tensor).error, "has elements in int32_data; expected those of float in "
                                      "raw_data or in float_data");
  tensor.add_float_data(1);
  EXPECT_NE(readTensor(tensor).error.find("in several fields"), std::string::npos);
  tensor = makeTensor(DataType::Float, {2});
  tensor.set_raw_data("1234");
  EXPECT_EQ(readTensor(tensor).error, "has 4 bytes in raw_data; its shape and type take 8");
  tensor = makeTensor(DataType::Float, {1});
  tensor.set_raw_data("1234");
  tensor.set_segment("");
  EXPECT_NE(readTensor(tensor).error.find("segments"), std::string::npos);
  EXPECT_NE(readTensor(makeTensor(DataType::Float, {-1})).error.find("extent -1"),
            std::string::npos);
  EXPECT_NE(readTensor(makeTensor(DataType::String, {3})).error.find("0 strings"),
            std::string::npos);
}

TEST(ReadTensor, ShapesThatOverflow) {
  const int64_t large = int64_t{1} << 32, huge = INT64_MAX;
  for (auto shape : {std::vector<int64_t>{large, large},
                     {huge, huge},
                     {huge},
                     {0, large, large},
                     {large, large, 0},
                     {large, large, large, large}}) {
    file::TensorProto tensor = makeTensor(DataType::Int2, {});
    for (int64_t extent : shape)
      tensor.add_dims(extent);
    EXPECT_NE(readTensor(tensor).error.find("more than 1099511627776 elements"), std::string::npos);
  }
  file::TensorProto tensor = makeTensor(DataType::Float, {});
  for (int i = 0; i < 65; ++i)
    tensor.add_dims(1);
  EXPECT_NE(readTensor(tensor).error.find("65 dimensions"), std::string::npos);
}

TEST(ReadTensor, Sparse) {
  file::SparseTensorProto sparse;
  sparse.add_dims(2);
  sparse.add_dims(3);
  *sparse.mutable_values() = makeTensor(DataType::Float, {2});
  sparse.mutable_values()->add_float_data(5);
  sparse.mutable_values()->add_float_data(7);
  *sparse.mutable_indices() = makeTensor(DataType::Int64, {2});
  sparse.mutable_indices()->add_int64_data(1);
  sparse.mutable_indices()->add_int64_data(5);
  const std::string dense = bytesOf<float>({0, 5, 0, 0, 0, 7});
  EXPECT_EQ(readTensor(sparse).bytes, dense);
  *sparse.mutable_indices() = makeTensor(DataType::Int64, {2, 2});
  for (int64_t index : {0, 1, 1, 2})
    sparse.mutable_indices()->add_int64_data(index);
  EXPECT_EQ(readTensor(sparse).bytes, dense);
  sparse.mutable_indices()->set_int64_data(3, 3);
  EXPECT_EQ(readTensor(sparse).error, "is sparse and has the index 3 of an extent of 3");
  sparse.mutable_indices()->set_int64_data(3, -1);
  EXPECT_NE(readTensor(sparse).error.find("index -1"), std::string::npos);
  sparse.mutable_indices()->set_dims(0, 1);
  EXPECT_NE(readTensor(sparse).error, "");
  sparse.mutable_indices()->set_dims(0, 2);
  sparse.set_dims(0, int64_t{1} << 36);
  EXPECT_NE(readTensor(sparse).error.find("when they are dense"), std::string::npos);
}
