// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads IDX through zlib, which passes plain files on as they are.
#include "runtime/data/idx.h"

#include "runtime/data/input_file.h"

#include <algorithm>
#include <memory>
#include <sys/stat.h>
#include <zlib.h>

namespace mpc::data {

namespace {

struct CloseGzip {
  void operator()(gzFile file) const { gzclose(file); }
};

bool readExactly(gzFile file, uint8_t *bytes, uint64_t size) {
  while (size) {
    int count = gzread(file, bytes, static_cast<unsigned>(std::min<uint64_t>(size, 1u << 30)));
    if (count <= 0)
      return false;
    bytes += count;
    size -= static_cast<uint64_t>(count);
  }
  return true;
}

} // namespace

Result<Array> readIdx(const std::string &path) {
  uint64_t fileSize;
  {
    Result<InputFile> file = InputFile::open(path);
    if (!file)
      return file.failure();
    fileSize = file->size();
  }
  auto damaged = [&](const std::string &what) {
    return Failure(path + ": is no sound IDX file: " + what +
                   "; expected MNIST's format, plain or gzipped; fetch it again");
  };
  std::unique_ptr<gzFile_s, CloseGzip> file(gzopen(path.c_str(), "rbe"));
  if (!file)
    return damaged("it cannot be opened");
  gzbuffer(file.get(), static_cast<unsigned>(std::clamp<uint64_t>(fileSize, 1 << 10, 1 << 18)));
  uint8_t magic[4];
  if (!readExactly(file.get(), magic, 4))
    return damaged("it ends within its first 4 bytes");
  static const struct {
    uint8_t code;
    mpc_rt_dtype_t dtype;
  } codes[] = {{0x08, MPC_RT_UINT8}, {0x09, MPC_RT_INT8},    {0x0b, MPC_RT_INT16},
               {0x0c, MPC_RT_INT32}, {0x0d, MPC_RT_FLOAT32}, {0x0e, MPC_RT_FLOAT64}};
  const DtypeInfo *dtype = nullptr;
  for (const auto &row : codes)
    if (row.code == magic[2])
      dtype = dtypeInfo(row.dtype);
  if (magic[0] || magic[1] || !dtype || magic[3] == 0 || magic[3] > 8)
    return damaged("its first 4 bytes name no element type and rank");
  std::vector<int64_t> dims;
  for (int i = 0; i < magic[3]; ++i) {
    uint8_t size[4];
    if (!readExactly(file.get(), size, 4))
      return damaged("it ends within its sizes");
    dims.push_back(int64_t(size[0]) << 24 | size[1] << 16 | size[2] << 8 | size[3]);
  }
  std::optional<uint64_t> bytes = byteSize(dims, dtype->bytes);
  // Deflate cannot do better than 1032:1, so a larger claim is refused before it is allocated.
  if (!bytes || *bytes / 1032 > fileSize)
    return damaged("its shape " + formatShape(dims) + " needs more bytes than it can hold");
  Result<Array> array = Array::allocate(dtype->dtype, dims);
  if (!array)
    return array.failure().within(path);
  if (!readExactly(file.get(), array->data(), array->bytes()))
    return damaged("it ends before its " + std::to_string(array->bytes()) + " bytes of elements");
  uint8_t extra;
  bool ended = gzread(file.get(), &extra, 1) == 0;
  // zlib tells about a missing checksum only here.
  if (gzclose_r(file.release()) != Z_OK || !ended)
    return damaged("it goes on after its elements, or its end is missing");
  if (dtype->bytes > 1)
    for (uint64_t i = 0; i < array->bytes(); i += dtype->bytes)
      std::reverse(array->data() + i, array->data() + i + dtype->bytes);
  return array;
}

std::string findIdx(const std::string &folder, const std::string &name) {
  std::string dotted = name;
  if (size_t dash = dotted.find("-idx"); dash != std::string::npos)
    dotted[dash] = '.';
  for (const std::string &base : {name, dotted})
    for (const char *suffix : {"", ".gz"}) {
      std::string path = folder + "/" + base + suffix;
      struct stat info;
      if (::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode))
        return path;
    }
  return "";
}

} // namespace mpc::data
