// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reading .npz through libzip, once its directory is found sound, and writing it through ZipWriter.
#include "runtime/data/npz.h"

#include "runtime/data/convert.h"
#include "runtime/data/input_file.h"
#include "runtime/data/npy.h"
#include "runtime/data/zip_writer.h"
#include "runtime/untrusted/zip_directory.h"

#include <memory>
#include <zip.h>

namespace mpc::data {

namespace {

constexpr uint64_t maximumMembers = 1 << 20;
constexpr const char *soundArchive =
    "expected a zip archive of .npy members; save it again with numpy.savez";
// Deflate cannot do better than 1032:1 (zlib's technical notes); a larger claim is a lie.
constexpr uint64_t maximumRatio = 1032;

struct CloseArchive {
  void operator()(zip_t *archive) const { zip_discard(archive); }
};
struct CloseMember {
  void operator()(zip_file_t *member) const { zip_fclose(member); }
};

Result<Array> readMember(zip_t *archive, zip_uint64_t index, uint64_t size,
                         const std::string &place) {
  std::unique_ptr<zip_file_t, CloseMember> member(zip_fopen_index(archive, index, 0));
  if (!member)
    return Failure(place + ": cannot be opened: " + zip_strerror(archive) +
                   "; expected a sound, unencrypted .npz");
  auto source = [&](void *data, uint64_t left) -> Status {
    uint8_t *bytes = static_cast<uint8_t *>(data);
    while (left) {
      zip_int64_t count = zip_fread(member.get(), bytes, left);
      if (count < 0)
        return Failure(place + ": cannot be read: " + zip_file_strerror(member.get()) +
                       "; the archive is damaged");
      if (count == 0)
        return Failure(place + ": is cut off; " + std::to_string(left) + " bytes are missing");
      bytes += count;
      left -= static_cast<uint64_t>(count);
    }
    return Status();
  };
  Result<Array> array = readNpy(source, size, place);
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

/// An open archive whose directory is sound.
class Npz {
public:
  Status open(const std::string &path) {
    path_ = path;
    Result<InputFile> file = InputFile::open(path); // libzip would block on a pipe
    if (!file)
      return file.failure();
    size_ = file->size();
    untrusted::ZipDirectory directory = untrusted::readZipDirectory(
        [&](uint64_t offset, void *to, size_t size) {
          return bool(file->readAt(offset, to, size));
        },
        size_, maximumMembers);
    if (!directory.fault.empty())
      return Failure(path +
                     (directory.faultyMember.empty() ? ": is no readable .npz: it "
                                                     : ":" + directory.faultyMember + ": ") +
                     directory.fault + "; " + soundArchive);
    members_ = std::move(directory.members);
    int code = 0;
    archive_.reset(zip_open(path.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &code));
    if (archive_)
      return compareDirectories();
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    Failure failure(path + ": is no readable .npz: " + zip_error_strerror(&error) + "; " +
                    soundArchive);
    zip_error_fini(&error);
    return failure;
  }

  const std::vector<untrusted::ZipMember> &members() const { return members_; }

  Result<Array> read(size_t index, const std::string &place) {
    const untrusted::ZipMember &member = members_[index];
    if (Status status = charge(member, place); !status)
      return status.failure();
    return readMember(archive_.get(), index, member.size, place);
  }

private:
  /// libzip must read the directory that was checked.
  Status compareDirectories() {
    bool same = zip_get_num_entries(archive_.get(), 0) == static_cast<zip_int64_t>(members_.size());
    for (size_t i = 0; same && i < members_.size(); ++i) {
      zip_stat_t info;
      zip_stat_init(&info);
      same = zip_stat_index(archive_.get(), i, ZIP_FL_ENC_RAW, &info) == 0 &&
             untrusted::isSame(members_[i], info.name, info.size, info.comp_size, info.comp_method);
    }
    return same ? Status() : Failure(path_ + ": has two directories; " + soundArchive);
  }

  Status charge(const untrusted::ZipMember &member, const std::string &place) {
    if (member.method != ZIP_CM_STORE && member.method != ZIP_CM_DEFLATE)
      return Failure(place + ": is compressed by method " + std::to_string(member.method) +
                     "; expected stored or deflate, as numpy.savez writes; save it again");
    if (member.size / maximumRatio > member.compressedSize + 64)
      return Failure(place + ": claims " + std::to_string(member.size) + " bytes out of " +
                     std::to_string(member.compressedSize) +
                     " compressed ones; expected at most 1032:1; the archive is damaged");
    const uint64_t budget = size_ > UINT64_MAX / maximumRatio ? UINT64_MAX : size_ * maximumRatio;
    if (member.size > budget - inflated_)
      return Failure(
          place + ": makes the archive's arrays larger than " + std::to_string(budget) +
          " bytes, 1032 times its size, which deflate cannot do; the archive is damaged");
    inflated_ += member.size;
    return Status();
  }

  std::string path_;
  uint64_t size_ = 0, inflated_ = 0;
  std::vector<untrusted::ZipMember> members_;
  std::unique_ptr<zip_t, CloseArchive> archive_;
};

} // namespace

Result<NpzContent> readNpz(const std::string &path, const WantedNames &isWanted) {
  Npz archive;
  if (Status status = archive.open(path); !status)
    return status.failure();
  Failure failure;
  std::map<std::string, size_t> indices;
  for (size_t i = 0; i < archive.members().size(); ++i) {
    std::string name = archive.members()[i].name;
    const std::string place = path + ":" + name;
    if (name.size() <= 4 || name.compare(name.size() - 4, 4, ".npy") != 0) {
      failure.append(Failure(
          place + ": is no .npy member; expected only arrays; save it again with numpy.savez"));
      continue;
    }
    name.resize(name.size() - 4);
    if (!indices.emplace(name, i).second)
      failure.append(Failure(place + ": is there twice; expected one array per name"));
  }
  if (!failure.empty())
    return failure;
  NpzContent content;
  for (const auto &[name, index] : indices) {
    content.names.push_back(name);
    if (isWanted && !isWanted(name))
      continue;
    Result<Array> array = archive.read(index, path + ":" + name);
    if (array)
      content.arrays.emplace(name, *array);
    else
      failure.append(array.failure());
  }
  if (!failure.empty())
    return failure;
  return content;
}

Result<NamedArrays> readNpz(const std::string &path) {
  Result<NpzContent> content = readNpz(path, WantedNames());
  if (!content)
    return content.failure();
  return std::move(content->arrays);
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
