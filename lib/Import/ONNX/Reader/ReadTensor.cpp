// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each type has raw bytes and one field of numbers, of which some are wider than its elements.
#include "lib/Import/ONNX/Reader/ReadTensor.h"
#include "lib/Import/ONNX/Reader/Onnx.pb.h"
#include "lib/Import/ONNX/Reader/Refuse.h"
#include "mpc/Import/ONNX/DataTypes.h"
#include "llvm/ADT/StringSet.h"

#include <algorithm>
#include <cstring>

using namespace mpc::onnx;

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "elements are little-endian");

/// The fields that hold elements, by their order in kFieldNames.
enum class Field : unsigned { Raw, Float, Int32, Int64, Double, UInt64, Strings };
static constexpr const char *kFieldNames[] = {"raw_data",   "float_data",  "int32_data",
                                              "int64_data", "double_data", "uint64_data",
                                              "string_data"};

static Field fieldOf(DataType type) {
  switch (type) {
  case DataType::Float:
  case DataType::Complex64:
    return Field::Float;
  case DataType::Int64:
    return Field::Int64;
  case DataType::Double:
  case DataType::Complex128:
    return Field::Double;
  case DataType::UInt32:
  case DataType::UInt64:
    return Field::UInt64;
  case DataType::String:
    return Field::Strings;
  default:
    return Field::Int32;
  }
}

static uint64_t entriesOf(const file::TensorProto &from, unsigned field) {
  const int entries[] = {int(from.has_raw_data()), from.float_data_size(),  from.int32_data_size(),
                         from.int64_data_size(),   from.double_data_size(), from.uint64_data_size(),
                         from.string_data_size()};
  return uint64_t(entries[field]);
}

/// The numbers that an entry of int32_data may have.
static std::pair<int64_t, int64_t> rangeOf(DataType type) {
  switch (type) {
  case DataType::UInt16:
    return {0, 65535};
  case DataType::Int16:
    return {-32768, 32767};
  case DataType::UInt8:
    return {0, 255};
  case DataType::Int8:
    return {-128, 127};
  case DataType::Bool:
    return {0, 1};
  case DataType::Float6E2M3:
  case DataType::Float6E3M2:
    return {0, 63};
  default: // Bits, which some writers extend by their sign.
    return elementBits(type) == 16 ? std::pair<int64_t, int64_t>{-32768, 65535}
                                   : std::pair<int64_t, int64_t>{-128, 255};
  }
}

template <class Values> static llvm::ArrayRef<char> bytesOf(const Values &values) {
  return {reinterpret_cast<const char *>(values.data()),
          size_t(values.size()) * sizeof(*values.data())};
}

std::vector<char> &TensorReader::allocate(uint64_t bytes) {
  return storage.converted.emplace_back(size_t(bytes));
}

static llvm::Expected<uint64_t> countElements(const google::protobuf::RepeatedField<int64_t> &dims,
                                              const ReadLimits &limits) {
  if (dims.size() > int(limits.rank))
    return refuse("has " + llvm::Twine(dims.size()) + " dimensions; expected at most " +
                  llvm::Twine(limits.rank));
  uint64_t elements = 1, nonzero = 1;
  for (int64_t extent : dims) {
    if (extent < 0)
      return refuse("has the extent " + llvm::Twine(extent) + "; expected none below 0");
    // An empty tensor, too, has extents whose product is a number.
    if (extent &&
        (__builtin_mul_overflow(nonzero, uint64_t(extent), &nonzero) || nonzero > limits.elements))
      return refuse("has more than " + llvm::Twine(limits.elements) + " elements");
    elements *= uint64_t(extent);
  }
  return elements;
}

llvm::Error TensorReader::readStrings(const file::TensorProto &from, uint64_t elements,
                                      Tensor &to) {
  if (uint64_t(from.string_data_size()) != elements)
    return refuse("has " + llvm::Twine(from.string_data_size()) + " strings; its shape has " +
                  llvm::Twine(elements));
  to.strings.assign(from.string_data().begin(), from.string_data().end());
  return llvm::Error::success();
}

llvm::Error TensorReader::readExternal(const file::TensorProto &from, uint64_t bytes, Tensor &to) {
  if (to.type == DataType::String)
    return refuse("is of strings, which cannot be external data");
  llvm::StringRef location;
  uint64_t offset = 0, length = bytes;
  llvm::StringSet<> keys;
  for (const file::Entry &entry : from.external_data()) {
    const llvm::StringRef key = entry.key(), value = entry.value();
    if (!keys.insert(key).second)
      return refuse("external data have the key '" + key + "' twice");
    if (key == "location")
      location = value;
    else if ((key == "offset" && value.getAsInteger(10, offset)) ||
             (key == "length" && value.getAsInteger(10, length)))
      return refuse("external data have the " + key + " '" + value +
                    "'; expected a number of bytes");
  }
  if (length != bytes)
    return refuse("external data have " + llvm::Twine(length) + " bytes; its shape and type take " +
                  llvm::Twine(bytes));
  if (__builtin_add_overflow(externalBytes, bytes, &externalBytes) ||
      externalBytes > limits.externalBytes)
    return refuse("external data of all tensors take more than " +
                  llvm::Twine(limits.externalBytes) + " bytes");
  llvm::Expected<llvm::ArrayRef<char>> file = storage.external.map(location);
  if (!file)
    return file.takeError();
  if (offset > file->size() || bytes > file->size() - offset)
    return refuse("lies at bytes " + llvm::Twine(offset) + " to " + llvm::Twine(offset + bytes) +
                  " of external data '" + location + "', which have " + llvm::Twine(file->size()) +
                  "; the file is cut short or of "
                  "another model");
  to.bytes = file->slice(size_t(offset), size_t(bytes));
  return llvm::Error::success();
}

/// From numbers that are wider than the elements.
llvm::Error TensorReader::narrow(const file::TensorProto &from, uint64_t elements, Tensor &to) {
  const unsigned bits = elementBits(to.type);
  const auto outside = [&](const llvm::Twine &value) {
    return refuse("has the number " + value + ", which is no " + dataTypeName(to.type));
  };
  std::vector<char> &out = allocate(*packedBytes(to.type, elements));
  to.bytes = out;
  if (to.type == DataType::UInt32) {
    for (size_t i = 0; i < elements; ++i) {
      const uint64_t value = from.uint64_data(int(i));
      if (value > UINT32_MAX)
        return outside(llvm::Twine(value));
      const auto narrowed = uint32_t(value);
      std::memcpy(&out[4 * i], &narrowed, 4);
    }
    return llvm::Error::success();
  }
  const auto [least, most] = rangeOf(to.type);
  size_t i = 0;
  for (int32_t value : from.int32_data()) {
    if (value < least || value > most)
      return outside(llvm::Twine(value));
    if (bits == 16) {
      std::memcpy(&out[2 * i], &value, 2);
    } else if (bits == 6) {
      const size_t byte = i * 6 / 8, shift = i * 6 % 8;
      out[byte] = char(out[byte] | (value << shift));
      if (shift > 2)
        out[byte + 1] = char(value >> (8 - shift));
    } else {
      out[i] = char(value);
    }
    ++i;
  }
  return llvm::Error::success();
}

llvm::Error TensorReader::readField(const file::TensorProto &from, uint64_t elements, Tensor &to) {
  const Field field = fieldOf(to.type);
  const unsigned bits = elementBits(to.type);
  uint64_t entries = elements;
  if (bits < 6) // Entries are bytes.
    entries = *packedBytes(to.type, elements);
  else if (to.type == DataType::Complex64 || to.type == DataType::Complex128)
    entries *= 2;
  if (entriesOf(from, unsigned(field)) != entries)
    return refuse("has " + llvm::Twine(entriesOf(from, unsigned(field))) + " numbers in " +
                  kFieldNames[unsigned(field)] + "; its shape and type take " +
                  llvm::Twine(entries));
  switch (field) {
  case Field::Float:
    to.bytes = bytesOf(from.float_data());
    return llvm::Error::success();
  case Field::Double:
    to.bytes = bytesOf(from.double_data());
    return llvm::Error::success();
  case Field::Int64:
    to.bytes = bytesOf(from.int64_data());
    return llvm::Error::success();
  default:
    if (to.type == DataType::UInt64)
      to.bytes = bytesOf(from.uint64_data());
    else if (to.type == DataType::Int32)
      to.bytes = bytesOf(from.int32_data());
    else
      return narrow(from, elements, to);
    return llvm::Error::success();
  }
}

/// Raw bytes that are true in any way become 1.
void TensorReader::normalizeBool(Tensor &tensor) {
  const auto isBool = [](char byte) { return byte == 0 || byte == 1; };
  if (std::all_of(tensor.bytes.begin(), tensor.bytes.end(), isBool))
    return;
  std::vector<char> &out = allocate(tensor.bytes.size());
  std::transform(tensor.bytes.begin(), tensor.bytes.end(), out.begin(),
                 [](char byte) { return char(byte != 0); });
  tensor.bytes = out;
}

llvm::Expected<Tensor> TensorReader::read(const file::TensorProto &from) {
  Tensor to;
  to.name = from.name();
  to.type = static_cast<DataType>(from.data_type());
  if (dataTypeName(to.type) == "undefined")
    return refuse("has the element type " + llvm::Twine(from.data_type()) +
                  "; expected one of ONNX's, 1 to 28");
  llvm::Expected<uint64_t> elements = countElements(from.dims(), limits);
  if (!elements)
    return elements.takeError();
  to.shape.assign(from.dims().begin(), from.dims().end());
  if (from.has_segment())
    return refuse("is stored in segments, which no version of ONNX has defined");
  constexpr auto raw = unsigned(Field::Raw);
  const auto own = unsigned(fieldOf(to.type));
  unsigned filled = 0, last = own;
  for (unsigned field = 0; field < std::size(kFieldNames); ++field)
    if (entriesOf(from, field) && !(field == raw && from.raw_data().empty())) {
      ++filled;
      last = field;
    }
  // 2^40 elements at most, so that their bytes are a number.
  const uint64_t bytes = *packedBytes(to.type, *elements);
  if (from.data_location() == 1) {
    if (filled)
      return refuse(llvm::Twine("has elements in ") + kFieldNames[last] + " and in another file");
    if (llvm::Error error = readExternal(from, bytes, to))
      return error;
  } else if (filled > 1 || (last != raw && last != own)) {
    return refuse(
        "has elements in " + (filled > 1 ? "several fields" : llvm::Twine(kFieldNames[last])) +
        "; expected those of " + dataTypeName(to.type) + " in raw_data or in " + kFieldNames[own]);
  } else if (to.type == DataType::String) {
    if (llvm::Error error = readStrings(from, *elements, to))
      return error;
  } else if (last == raw) {
    to.bytes = {from.raw_data().data(), from.raw_data().size()};
    if (to.bytes.size() != bytes)
      return refuse("has " + llvm::Twine(to.bytes.size()) +
                    " bytes in raw_data; its shape and type take " + llvm::Twine(bytes));
  } else if (llvm::Error error = readField(from, *elements, to)) {
    return error;
  }
  if (to.type == DataType::Bool)
    normalizeBool(to);
  return to;
}

llvm::Expected<Tensor> TensorReader::read(const file::SparseTensorProto &from) {
  llvm::Expected<Tensor> values = read(from.values());
  if (!values)
    return values.takeError();
  llvm::Expected<Tensor> indices = read(from.indices());
  if (!indices)
    return indices.takeError();
  llvm::Expected<uint64_t> elements = countElements(from.dims(), limits);
  if (!elements)
    return elements.takeError();
  const unsigned bits = elementBits(values->type);
  if (bits < 8 || bits % 8)
    return refuse("is sparse and of " + dataTypeName(values->type) +
                  "; expected elements of whole bytes");
  const uint64_t size = bits / 8, bytes = *elements * size, rank = uint64_t(from.dims_size());
  sparseBytes += bytes;
  if (sparseBytes > limits.sparseBytes)
    return refuse("is one of sparse tensors that take more than " +
                  llvm::Twine(limits.sparseBytes) + " bytes when they are dense");
  const uint64_t count = values->shape.size() == 1 ? uint64_t(values->shape[0]) : 0;
  const bool isLinear = indices->shape.size() == 1;
  const std::vector<int64_t> expected = isLinear
                                            ? std::vector<int64_t>{int64_t(count)}
                                            : std::vector<int64_t>{int64_t(count), int64_t(rank)};
  if (values->shape.size() != 1 || indices->type != DataType::Int64 || indices->shape != expected)
    return refuse("is sparse, and its indices do not fit its values; expected int64 indices of the "
                  "shape [values] or [values, rank]");
  std::vector<char> &out = allocate(bytes);
  const uint64_t steps = isLinear ? 1 : rank;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t place = 0;
    for (uint64_t axis = 0; axis < steps; ++axis) {
      int64_t index = 0;
      std::memcpy(&index, indices->bytes.data() + 8 * (i * steps + axis), 8);
      const uint64_t extent = isLinear ? *elements : uint64_t(from.dims(int(axis)));
      if (index < 0 || uint64_t(index) >= extent)
        return refuse("is sparse and has the index " + llvm::Twine(index) + " of an extent of " +
                      llvm::Twine(extent));
      place = place * extent + uint64_t(index);
    }
    std::memcpy(&out[place * size], values->bytes.data() + i * size, size);
  }
  Tensor to;
  to.name = values->name;
  to.type = values->type;
  to.shape.assign(from.dims().begin(), from.dims().end());
  to.bytes = out;
  return to;
}
