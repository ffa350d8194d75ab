// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The only file that calls libhdf5; it runs in a child process (Weights.cpp says why).
#include "lib/Import/Keras/Hdf5Child.h"
#include "lib/Support/Hdf5HalfType.h"

#include <hdf5.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <unistd.h>
#include <utility>

namespace mpc::keras {
namespace {

class Walker {
public:
  Walker(int pipe, const WeightLimits &limits) : pipe(pipe), limits(limits) {}

  bool visitGroup(hid_t group, const std::string &path, unsigned depth);
  bool visitLink(hid_t group, const char *name, const H5L_info_t &link);
  bool visitAttribute(hid_t object, llvm::StringRef name);
  bool send(Hdf5Record record, const std::string &path, const std::vector<hsize_t> &dims,
            const void *data);
  bool refuse(const std::string &path, const std::string &what) {
    Hdf5Record record = {Hdf5Record::Error, 0, 0, uint32_t(path.size()), what.size()};
    send(record, path, {}, what.data());
    return false;
  }

private:
  bool visitDataset(hid_t dataset, const std::string &path);
  bool writeAll(const void *data, uint64_t bytes);

  int pipe;
  const WeightLimits &limits;
  std::string groupPath;
  unsigned groupDepth = 0;
  std::set<haddr_t> groups; ///< where those lie that were visited
  uint64_t objects = 0, total = 0, textTotal = 0;
};

bool Walker::writeAll(const void *data, uint64_t bytes) {
  const char *next = static_cast<const char *>(data);
  while (bytes) {
    const ssize_t done = ::write(pipe, next, bytes);
    if (done < 0)
      _exit(1); // the parent is gone, or has seen enough
    next += done;
    bytes -= uint64_t(done);
  }
  return true;
}

bool Walker::send(Hdf5Record record, const std::string &path, const std::vector<hsize_t> &dims,
                  const void *data) {
  std::vector<uint64_t> extents(dims.begin(), dims.end());
  return writeAll(&record, sizeof(record)) && writeAll(path.data(), record.pathBytes) &&
         writeAll(extents.data(), extents.size() * sizeof(uint64_t)) &&
         writeAll(data, record.dataBytes);
}

/// The strings of an attribute, at most `budget` bytes of them; nothing when it holds something
/// else. NumPy writes an empty list as no elements of float64.
std::optional<std::vector<std::string>> readStrings(hid_t attribute, uint64_t budget) {
  hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
  const hssize_t count = H5Sget_simple_extent_npoints(space);
  std::vector<std::string> result;
  if (count == 0)
    return result;
  if (count < 0 || H5Tget_class(type) != H5T_STRING || uint64_t(count) > budget)
    return std::nullopt;
  if (H5Tis_variable_str(type) > 0) {
    hid_t memory = H5Tcopy(H5T_C_S1);
    H5Tset_size(memory, H5T_VARIABLE);
    H5Tset_cset(memory, H5Tget_cset(type));
    std::vector<char *> texts(static_cast<size_t>(count), nullptr);
    if (H5Aread(attribute, memory, texts.data()) < 0)
      return std::nullopt;
    for (const char *text : texts) {
      const uint64_t length = text ? std::strlen(text) : 0;
      if (length > budget)
        return std::nullopt;
      budget -= length;
      result.emplace_back(text ? text : "");
    }
    H5Dvlen_reclaim(memory, space, H5P_DEFAULT, texts.data());
    return result;
  }
  const size_t size = H5Tget_size(type);
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(uint64_t(size), uint64_t(count), &bytes) || bytes > budget)
    return std::nullopt;
  std::vector<char> texts(bytes);
  if (H5Aread(attribute, type, texts.data()) < 0)
    return std::nullopt;
  for (uint64_t start = 0; start < bytes; start += size)
    result.emplace_back(&texts[start], strnlen(&texts[start], size));
  return result;
}

/// The attribute dtype = "bfloat16" that Keras puts on two opaque bytes.
bool isMarkedBfloat16(hid_t dataset) {
  if (H5Aexists(dataset, "dtype") <= 0)
    return false;
  hid_t attribute = H5Aopen(dataset, "dtype", H5P_DEFAULT);
  const auto strings = readStrings(attribute, /*budget=*/64);
  return strings && strings->size() == 1 && strings->front() == "bfloat16";
}

/// Where Keras keeps an architecture and the order of weights. Long lists are cut into pieces,
/// weight_names0, weight_names1, …
bool isReadAttribute(llvm::StringRef name) {
  if (name == "model_config" || name == "training_config" || name == "keras_version")
    return true;
  return name.starts_with("layer_names") || name.starts_with("weight_names");
}

/// h5py's spelling of NumPy's bool: an enumeration of int8 with FALSE = 0 and TRUE = 1.
bool isBool(hid_t type) {
  if (H5Tget_class(type) != H5T_ENUM || H5Tget_size(type) != 1 || H5Tget_nmembers(type) != 2)
    return false;
  int8_t value = -1;
  return H5Tenum_valueof(type, "FALSE", &value) >= 0 && value == 0 &&
         H5Tenum_valueof(type, "TRUE", &value) >= 0 && value == 1;
}

/// The dtype of a stored type, or nothing.
bool identify(hid_t type, hid_t dataset, uint32_t &dtype) {
  const struct {
    hid_t type;
    uint32_t dtype;
  } table[] = {{H5T_IEEE_F32LE, MPC_RT_FLOAT32}, {makeHalfType(), MPC_RT_FLOAT16},
               {H5T_IEEE_F64LE, MPC_RT_FLOAT64}, {H5T_STD_I8LE, MPC_RT_INT8},
               {H5T_STD_U8LE, MPC_RT_UINT8},     {H5T_STD_I16LE, MPC_RT_INT16},
               {H5T_STD_U16LE, MPC_RT_UINT16},   {H5T_STD_I32LE, MPC_RT_INT32},
               {H5T_STD_U32LE, MPC_RT_UINT32},   {H5T_STD_I64LE, MPC_RT_INT64},
               {H5T_STD_U64LE, MPC_RT_UINT64}};
  const bool twoBytes = H5Tget_size(type) == 2 &&
                        (H5Tget_class(type) == H5T_OPAQUE || H5Tequal(type, H5T_STD_U16LE) > 0);
  if (twoBytes && isMarkedBfloat16(dataset)) {
    dtype = MPC_RT_BFLOAT16;
    return true;
  }
  for (const auto &row : table)
    if (H5Tequal(type, row.type) > 0) {
      dtype = row.dtype;
      return true;
    }
  if (isBool(type)) {
    dtype = MPC_RT_BOOL;
    return true;
  }
  return false;
}

bool Walker::visitDataset(hid_t dataset, const std::string &path) {
  hid_t properties = H5Dget_create_plist(dataset);
  const H5D_layout_t layout = H5Pget_layout(properties);
  if (layout == H5D_VIRTUAL || H5Pget_external_count(properties) != 0)
    return refuse(path, "virtual or external storage is refused; a model file holds its own data");
  if (H5Pget_nfilters(properties) != 0)
    return refuse(path, "filtered (compressed) data are refused; save the weights uncompressed, "
                        "as Keras does");
  hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
  Hdf5Record record = {Hdf5Record::Dataset, 0, 0, uint32_t(path.size()), 0};
  if (!identify(type, dataset, record.dtype))
    return refuse(path, "unknown element type; expected little-endian float16, float32, float64, "
                        "bfloat16, bool or an integer type, as Keras writes");
  const int rank = H5Sget_simple_extent_ndims(space);
  if (H5Sget_simple_extent_type(space) == H5S_NULL || rank < 0 || rank > int(kMaxHdf5Rank))
    return refuse(path, "dataset without a shape, or of more than 32 dimensions");
  std::vector<hsize_t> dims(static_cast<size_t>(rank));
  H5Sget_simple_extent_dims(space, dims.data(), nullptr);
  uint64_t bytes = dtypeBytes(record.dtype);
  for (hsize_t extent : dims)
    if (__builtin_mul_overflow(bytes, uint64_t(extent), &bytes))
      return refuse(path, "the declared shape overflows 64 bits; refused as a shape bomb");
  if (bytes > limits.maxTotalBytes || total > limits.maxTotalBytes - bytes)
    return refuse(path, "the declared shapes hold more bytes than the file; refused as a shape "
                        "bomb");
  total += bytes;
  // Without chunks and filters each byte is stored once; less means values that nobody wrote.
  if (layout != H5D_COMPACT && H5Dget_storage_size(dataset) < bytes)
    return refuse(path, "the dataset declares " + std::to_string(bytes) + " bytes but stores " +
                            std::to_string(H5Dget_storage_size(dataset)));
  record.rank = uint32_t(rank);
  record.dataBytes = bytes;
  std::vector<uint8_t> data(bytes);
  if (bytes && H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data.data()) < 0)
    return refuse(path, "damaged HDF5: the dataset cannot be read");
  H5Tclose(type);
  H5Sclose(space);
  H5Pclose(properties);
  return send(record, path, dims, data.data());
}

/// One string attribute of the group at `groupPath`; others are not looked at.
bool Walker::visitAttribute(hid_t object, llvm::StringRef name) {
  if (!isReadAttribute(name))
    return true;
  const std::string path = groupPath + "@" + name.str();
  if (path.size() > kMaxHdf5PathBytes || ++objects > limits.maxTensors)
    return refuse(path.substr(0, 64), "too many or too long attribute names; refused");
  hid_t attribute = H5Aopen(object, name.str().c_str(), H5P_DEFAULT);
  if (attribute < 0)
    return refuse(path, "damaged HDF5: the attribute cannot be opened");
  const auto strings = readStrings(attribute, limits.maxTotalBytes);
  if (!strings)
    return refuse(path, "the attribute holds something else than strings, or more than the file; "
                        "expected what Keras writes");
  H5Aclose(attribute);
  std::string data;
  for (const std::string &text : *strings) {
    const uint64_t length = text.size();
    textTotal += length + sizeof(length);
    data.append(reinterpret_cast<const char *>(&length), sizeof(length));
    data += text;
  }
  // Each string may be short, and its length is not in the file.
  if (textTotal > 2 * limits.maxTotalBytes)
    return refuse(path, "the attributes hold more than the file; refused as a shape bomb");
  Hdf5Record record = {Hdf5Record::Strings, 0, 0, uint32_t(path.size()), data.size()};
  return send(record, path, {}, data.data());
}

herr_t visitAttributeOf(hid_t object, const char *name, const H5A_info_t *, void *walker) {
  return static_cast<Walker *>(walker)->visitAttribute(object, name) ? 0 : -1;
}

herr_t visitLinkOf(hid_t group, const char *name, const H5L_info_t *link, void *walker) {
  return static_cast<Walker *>(walker)->visitLink(group, name, *link) ? 0 : -1;
}

bool Walker::visitLink(hid_t group, const char *name, const H5L_info_t &link) {
  const std::string path = groupPath.empty() ? name : groupPath + "/" + name;
  if (path.size() > kMaxHdf5PathBytes)
    return refuse(path.substr(0, 64), "object names longer than 4096 bytes are refused");
  if (++objects > limits.maxTensors)
    return refuse(path, "more than " + std::to_string(limits.maxTensors) + " objects; refused");
  if (link.type != H5L_TYPE_HARD)
    return refuse(path, link.type == H5L_TYPE_SOFT ? "soft links are refused"
                                                   : "external links are refused");
  hid_t object = H5Oopen(group, name, H5P_DEFAULT);
  if (object < 0)
    return refuse(path, "damaged HDF5: the object cannot be opened");
  bool good = true;
  switch (H5Iget_type(object)) {
  case H5I_GROUP:
    good = visitGroup(object, path, groupDepth + 1);
    break;
  case H5I_DATASET:
    good = visitDataset(object, path);
    break;
  default:
    good = refuse(path, "neither a group nor a dataset");
  }
  H5Oclose(object);
  return good;
}

bool Walker::visitGroup(hid_t group, const std::string &path, unsigned depth) {
  if (depth > limits.maxDepth)
    return refuse(path, "groups are nested deeper than " + std::to_string(limits.maxDepth) +
                            " levels; refused");
  // A few groups that link each other twice have more paths than any file has objects.
  H5O_info_t info;
  if (H5Oget_info2(group, &info, H5O_INFO_BASIC) < 0)
    return refuse(path, "damaged HDF5: the group cannot be read");
  if (!groups.insert(info.addr).second)
    return refuse(path,
                  "a group that has another path already; expected one link to each group, as "
                  "Keras writes; save the model again");
  const std::string outerPath = std::exchange(groupPath, path);
  const unsigned outerDepth = std::exchange(groupDepth, depth);
  herr_t status = H5Aiterate2(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, visitAttributeOf, this);
  if (status >= 0)
    status = H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, visitLinkOf, this);
  groupPath = outerPath;
  groupDepth = outerDepth;
  return status >= 0;
}

} // namespace

uint64_t dtypeBytes(uint32_t dtype) {
  switch (dtype) {
#define MPC_RT_DTYPE(name, value, bytes, keras, mlir, safetensors, numpy)                          \
  case value:                                                                                      \
    return bytes;
#include "mpc-rt/dtype.inc"
#undef MPC_RT_DTYPE
  default:
    return 0;
  }
}

bool writeHdf5Records(int pipe, llvm::StringRef image, const WeightLimits &limits) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  Walker walker(pipe, limits);
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  // No backing store: the core driver then opens no file for the image.
  H5Pset_fapl_core(access, size_t(1) << 20, /*backing_store=*/0);
  H5Pset_file_image(access, const_cast<char *>(image.data()), image.size());
  hid_t file = H5Fopen("image", H5F_ACC_RDONLY, access);
  if (file < 0)
    return walker.refuse("", "damaged HDF5: the file cannot be opened");
  hid_t root = H5Gopen2(file, "/", H5P_DEFAULT);
  if (root < 0)
    return walker.refuse("", "damaged HDF5: no root group");
  if (!walker.visitGroup(root, "", 0))
    return walker.refuse("", "damaged HDF5: a group cannot be read");
  Hdf5Record end = {Hdf5Record::End, 0, 0, 0, 0};
  return walker.send(end, "", {}, nullptr);
}

} // namespace mpc::keras
