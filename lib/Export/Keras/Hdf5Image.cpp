// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Builds an HDF5 file in memory (core driver without a backing store).
#include "lib/Export/Keras/Hdf5Image.h"
#include "lib/Support/Hdf5HalfType.h"

#include <algorithm>
#include <hdf5.h>

namespace mpc::keras {
namespace {

/// An attribute must fit into an object header (keras: HDF5_OBJECT_HEADER_LIMIT).
constexpr size_t kMaxListBytes = 64512;

hid_t makeBoolType() {
  hid_t type = H5Tenum_create(H5T_STD_I8LE);
  int8_t value = 0;
  H5Tenum_insert(type, "FALSE", &value);
  value = 1;
  H5Tenum_insert(type, "TRUE", &value);
  return type;
}

hid_t typeOf(mpc_rt_dtype_t dtype) {
  switch (dtype) {
  case MPC_RT_FLOAT32:
    return H5Tcopy(H5T_IEEE_F32LE);
  case MPC_RT_FLOAT64:
    return H5Tcopy(H5T_IEEE_F64LE);
  case MPC_RT_FLOAT16:
    return makeHalfType();
  case MPC_RT_BFLOAT16:
    return H5Tcreate(H5T_OPAQUE, 2);
  case MPC_RT_INT8:
    return H5Tcopy(H5T_STD_I8LE);
  case MPC_RT_UINT8:
    return H5Tcopy(H5T_STD_U8LE);
  case MPC_RT_INT16:
    return H5Tcopy(H5T_STD_I16LE);
  case MPC_RT_UINT16:
    return H5Tcopy(H5T_STD_U16LE);
  case MPC_RT_INT32:
    return H5Tcopy(H5T_STD_I32LE);
  case MPC_RT_UINT32:
    return H5Tcopy(H5T_STD_U32LE);
  case MPC_RT_INT64:
    return H5Tcopy(H5T_STD_I64LE);
  case MPC_RT_UINT64:
    return H5Tcopy(H5T_STD_U64LE);
  case MPC_RT_BOOL:
    return makeBoolType();
  default:
    return -1;
  }
}

bool writeText(hid_t object, const std::string &name, const std::string &value) {
  hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
  H5Tset_size(type, H5T_VARIABLE);
  H5Tset_cset(type, H5T_CSET_UTF8);
  hid_t attribute = H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT);
  const char *text = value.c_str();
  const bool good = attribute >= 0 && H5Awrite(attribute, type, &text) >= 0;
  H5Aclose(attribute);
  H5Sclose(space);
  H5Tclose(type);
  return good;
}

bool writeList(hid_t object, const std::string &name, const std::string *values, size_t count) {
  size_t width = 1;
  for (size_t index = 0; index < count; ++index)
    width = std::max(width, values[index].size());
  std::string bytes;
  for (size_t index = 0; index < count; ++index) {
    bytes += values[index];
    bytes.resize((index + 1) * width, '\0');
  }
  hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, width);
  H5Tset_strpad(type, H5T_STR_NULLPAD);
  const hsize_t extent = count;
  hid_t space = H5Screate_simple(1, &extent, nullptr);
  hid_t attribute = H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT);
  const bool good = attribute >= 0 && (count == 0 || H5Awrite(attribute, type, bytes.data()) >= 0);
  H5Aclose(attribute);
  H5Sclose(space);
  H5Tclose(type);
  return good;
}

class ImageWriter {
public:
  bool open();
  bool addGroup(const std::string &path);
  bool addDataset(const std::string &path, const StoredTensor &tensor);
  bool addText(const Hdf5Content::Text &text);
  bool addList(const Hdf5Content::List &list);
  std::string finish();

private:
  hid_t openGroup(const std::string &path) {
    return H5Gopen2(file, path.empty() ? "/" : path.c_str(), H5P_DEFAULT);
  }

  hid_t file = -1, links = -1;
};

bool ImageWriter::open() {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_core(access, size_t(1) << 20, /*backing_store=*/0);
  file = H5Fcreate("image", H5F_ACC_TRUNC, H5P_DEFAULT, access);
  links = H5Pcreate(H5P_LINK_CREATE);
  H5Pset_create_intermediate_group(links, 1);
  return file >= 0;
}

bool ImageWriter::addGroup(const std::string &path) {
  if (path.empty())
    return true;
  hid_t group = H5Gopen2(file, path.c_str(), H5P_DEFAULT);
  if (group < 0)
    group = H5Gcreate2(file, path.c_str(), links, H5P_DEFAULT, H5P_DEFAULT);
  return group >= 0 && H5Gclose(group) >= 0;
}

bool ImageWriter::addDataset(const std::string &path, const StoredTensor &tensor) {
  const std::vector<hsize_t> dims(tensor.dims.begin(), tensor.dims.end());
  hid_t space = dims.empty() ? H5Screate(H5S_SCALAR)
                             : H5Screate_simple(int(dims.size()), dims.data(), nullptr);
  hid_t type = typeOf(tensor.dtype), creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_obj_track_times(creation, false); // the same content gives the same bytes
  hid_t set = H5Dcreate2(file, path.c_str(), type, space, links, creation, H5P_DEFAULT);
  bool good = set >= 0;
  if (good && !tensor.bytes.empty())
    good = H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, tensor.bytes.data()) >= 0;
  if (good && tensor.dtype == MPC_RT_BFLOAT16)
    good = writeText(set, "dtype", "bfloat16");
  H5Dclose(set);
  H5Pclose(creation);
  H5Tclose(type);
  H5Sclose(space);
  return good;
}

bool ImageWriter::addText(const Hdf5Content::Text &text) {
  hid_t group = openGroup(text.group);
  return group >= 0 && writeText(group, text.name, text.value) && H5Gclose(group) >= 0;
}

bool ImageWriter::addList(const Hdf5Content::List &list) {
  hid_t group = openGroup(list.group);
  if (group < 0)
    return false;
  size_t width = 1, next = 0, piece = 0;
  for (const std::string &value : list.values)
    width = std::max(width, value.size());
  const size_t most = std::max<size_t>(1, kMaxListBytes / width);
  bool good = true;
  if (list.values.size() <= most)
    good = writeList(group, list.name, list.values.data(), list.values.size());
  else
    for (; good && next < list.values.size(); next += most)
      good = writeList(group, list.name + std::to_string(piece++), &list.values[next],
                       std::min(most, list.values.size() - next));
  H5Gclose(group);
  return good;
}

std::string ImageWriter::finish() {
  if (H5Fflush(file, H5F_SCOPE_GLOBAL) < 0)
    return "";
  const ssize_t size = H5Fget_file_image(file, nullptr, 0);
  std::string image(size > 0 ? size_t(size) : 0, '\0');
  if (size > 0 && H5Fget_file_image(file, image.data(), image.size()) != size)
    image.clear();
  H5Fclose(file);
  return image;
}

} // namespace

std::string makeHdf5Image(const Hdf5Content &content) {
  ImageWriter writer;
  bool good = writer.open();
  for (const std::string &group : content.groups)
    good = good && writer.addGroup(group);
  for (const auto &[path, tensor] : content.datasets)
    good = good && writer.addDataset(path, *tensor);
  for (const Hdf5Content::Text &text : content.texts)
    good = good && writer.addText(text);
  for (const Hdf5Content::List &list : content.lists)
    good = good && writer.addList(list);
  return good ? writer.finish() : "";
}

} // namespace mpc::keras
