// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reading .npz through libzip and writing it through ZipWriter.
#include "data/npz.h"

#include "data/convert.h"
#include "data/input_file.h"
#include "data/npy.h"
#include "data/zip_writer.h"

#include <memory>
#include <zip.h>

namespace mpc::data {

namespace {

constexpr zip_int64_t maximumMembers = 1 << 20;
// Deflate cannot do better than 1032:1 (zlib's technical notes); a larger claim is a lie.
constexpr uint64_t maximumRatio = 1032;

struct CloseArchive {
  void operator()(zip_t *archive) const { zip_discard(archive); }
};
struct CloseMember {
  void operator()(zip_file_t *member) const { zip_fclose(member); }
};

Result<Array> readMember(zip_t *archive, zip_uint64_t index, const zip_stat_t &info,
                         const std::string &place, uint64_t archiveSize) {
  if (!(info.valid & ZIP_STAT_SIZE) || !(info.valid & ZIP_STAT_COMP_SIZE) ||
      !(info.valid & ZIP_STAT_COMP_METHOD))
    return Failure(place + ": has no size in the archive; expected a sound .npz; save it again");
  if (info.comp_method != ZIP_CM_STORE && info.comp_method != ZIP_CM_DEFLATE)
    return Failure(place + ": is compressed by method " + std::to_string(info.comp_method) +
                   "; expected stored or deflate, as numpy.savez writes; save it again");
  if (info.comp_size > archiveSize || info.size / maximumRatio > info.comp_size + 64)
    return Failure(place + ": claims " + std::to_string(info.size) + " bytes out of " +
                   std::to_string(info.comp_size) +
                   " compressed ones; expected at most 1032:1; the archive is damaged");
  std::unique_ptr<zip_file_t, CloseMember> member(zip_fopen_index(archive, index, 0));
  if (!member)
    return Failure(place + ": cannot be opened: " + zip_strerror(archive) +
                   "; expected a sound, unencrypted .npz");
  auto source = [&](void *data, uint64_t size) -> Status {
    uint8_t *bytes = static_cast<uint8_t *>(data);
    while (size) {
      zip_int64_t count = zip_fread(member.get(), bytes, size);
      if (count < 0)
        return Failure(place + ": cannot be read: " + zip_file_strerror(member.get()) +
                       "; the archive is damaged");
      if (count == 0)
        return Failure(place + ": is cut off; " + std::to_string(size) + " bytes are missing");
      bytes += count;
      size -= static_cast<uint64_t>(count);
    }
    return Status();
  };
  Result<Array> array = readNpy(source, info.size, place);
  if (!array)
    return array;
  // libzip compares the checksum when it meets the end of the member.
  char extra;
  zip_int64_t rest = zip_fread(member.get(), &extra, 1);
  if (rest != 0)
    return Failure(place + ": " +
                   (rest < 0 ? zip_file_strerror(member.get()) : "is longer than it says") +
                   "; expected a sound .npz; the archive is damaged");
  return array;
}

} // namespace

Result<NamedArrays> readNpz(const std::string &path) {
  uint64_t archiveSize;
  { // libzip would block on a pipe
    Result<InputFile> file = InputFile::open(path);
    if (!file)
      return file.failure();
    archiveSize = file->size();
  }
  int code = 0;
  std::unique_ptr<zip_t, CloseArchive> archive(
      zip_open(path.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &code));
  if (!archive) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    Failure failure(path + ": is no readable .npz: " + zip_error_strerror(&error) +
                    "; expected a zip archive of .npy members; save it again with numpy.savez");
    zip_error_fini(&error);
    return failure;
  }
  zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  if (count < 0 || count > maximumMembers)
    return Failure(path + ": has " + std::to_string(count) + " members; expected at most " +
                   std::to_string(maximumMembers));
  NamedArrays arrays;
  Failure failure;
  for (zip_uint64_t i = 0; i < static_cast<zip_uint64_t>(count); ++i) {
    zip_stat_t info;
    zip_stat_init(&info);
    if (zip_stat_index(archive.get(), i, ZIP_FL_ENC_RAW, &info) != 0 || !info.name)
      return Failure(path + ": member " + std::to_string(i) +
                     " cannot be read: " + zip_strerror(archive.get()));
    std::string name = info.name;
    if (name.size() > 4 && name.compare(name.size() - 4, 4, ".npy") == 0)
      name.resize(name.size() - 4);
    else {
      failure.append(Failure(path + ":" + name +
                             ": is no .npy member; expected only arrays; "
                             "save it again with numpy.savez"));
      continue;
    }
    Result<Array> array = readMember(archive.get(), i, info, path + ":" + name, archiveSize);
    if (!array)
      failure.append(array.failure());
    else if (!arrays.emplace(name, *array).second)
      failure.append(Failure(path + ":" + name + ": is there twice; expected one array per name"));
  }
  if (!failure.empty())
    return failure;
  return arrays;
}

Status writeNpz(const std::string &path, const NamedArrays &arrays) {
  ZipWriter writer(path);
  if (Status status = writer.open(); !status)
    return status;
  for (const auto &[name, array] : arrays) {
    Array wide = widenForNpz(array);
    writer.add(name + ".npy", npyHeader(wide), wide.data(), wide.bytes());
  }
  return writer.finish();
}

} // namespace mpc::data
