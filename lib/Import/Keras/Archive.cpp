// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads `.keras` archives through libzip, from memory. The archive is hostile input: every size is
// checked against a budget before memory is asked for, and names are keys, never paths.
#include "mpc/Import/Keras/Archive.h"

#include "mpc/Import/Keras/InputError.h"

#include "runtime/untrusted/outlets.h"
#include "runtime/untrusted/zip_directory.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <algorithm>
#include <cstring>
#include <vector>
#include <zip.h>

namespace mpc::keras {
namespace {

constexpr llvm::StringLiteral kHdf5Signature("\x89HDF\r\n\x1a\n");
constexpr llvm::StringLiteral kLocalHeader("PK\x03\x04");
constexpr llvm::StringLiteral kEmptyArchive("PK\x05\x06");

constexpr llvm::StringLiteral kConfig("config.json");
constexpr llvm::StringLiteral kMetadata("metadata.json");
constexpr llvm::StringLiteral kWeights("model.weights.h5");
constexpr llvm::StringLiteral kNumpyWeights("model.weights.npz");

constexpr llvm::StringLiteral
    kArchiveAdvice("expected a .keras archive as Model.save writes it; save the model again");

struct CloseArchive {
  void operator()(zip_t *archive) const { zip_discard(archive); }
};
using ArchiveHandle = std::unique_ptr<zip_t, CloseArchive>;

struct CloseMember {
  void operator()(zip_file_t *member) const { zip_fclose(member); }
};

uint64_t totalBudget(uint64_t fileBytes, const ArchiveLimits &limits) {
  if (limits.maxTotalBytes)
    return limits.maxTotalBytes;
  const uint64_t ceiling = uint64_t(64) << 30, slack = uint64_t(64) << 20;
  return fileBytes > (ceiling - slack) / 4 ? ceiling : 4 * fileBytes + slack;
}

/// Opens the archive; libzip's consistency check compares every local header with the directory.
llvm::Expected<ArchiveHandle> openArchive(llvm::MemoryBufferRef file) {
  llvm::StringRef bytes = file.getBuffer();
  auto refuse = [&](llvm::StringRef reason) {
    llvm::StringRef what = "not a zip archive";
    if (bytes.starts_with(kLocalHeader) || bytes.starts_with(kEmptyArchive))
      what = "truncated or damaged zip archive";
    return inputError(file.getBufferIdentifier(),
                      what + (reason.empty() ? "" : " (" + reason.str() + ")") + "; " +
                          kArchiveAdvice);
  };

  zip_error_t error;
  zip_error_init(&error);
  zip_source_t *source = zip_source_buffer_create(bytes.data(), bytes.size(), /*freep=*/0, &error);
  zip_t *archive =
      source ? zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error) : nullptr;
  std::string reason = archive ? "" : zip_error_strerror(&error);
  if (!archive && source)
    zip_source_free(source);
  zip_error_fini(&error);
  if (!archive)
    return refuse(reason);
  return ArchiveHandle(archive);
}

/// A name that a careless reader would turn into a path outside the archive. Folders are members
/// whose names end with a slash.
bool isUnsafeName(llvm::StringRef name) {
  name.consume_back("/");
  return !untrusted::isMemberName(name) || name.contains(':');
}

/// Before libzip reads anything of a member.
llvm::Expected<std::vector<untrusted::ZipMember>> readDirectory(llvm::MemoryBufferRef file,
                                                                const ArchiveLimits &limits) {
  const llvm::StringRef bytes = file.getBuffer();
  untrusted::ZipDirectory directory = untrusted::readZipDirectory(
      [&](uint64_t offset, void *to, size_t size) {
        std::memcpy(to, bytes.data() + offset, size);
        return true;
      },
      bytes.size(), limits.maxMembers);
  if (directory.fault.empty())
    return std::move(directory.members);
  const std::string place = directory.faultyMember.empty() ? "" : ":" + directory.faultyMember;
  return inputError(file.getBufferIdentifier() + place,
                    directory.fault + "; " + kArchiveAdvice.str());
}

/// Checks every member of the directory, also those that nobody reads.
llvm::Error checkMembers(zip_t *archive, llvm::MemoryBufferRef file, const ArchiveLimits &limits) {
  const llvm::StringRef fileName = file.getBufferIdentifier();
  auto directory = readDirectory(file, limits);
  if (!directory)
    return directory.takeError();
  const zip_int64_t count = zip_get_num_entries(archive, 0);
  if (count < 0 || uint64_t(count) != directory->size())
    return inputError(fileName, "archive has two directories; " + kArchiveAdvice.str());
  const uint64_t budget = totalBudget(file.getBufferSize(), limits);
  uint64_t total = 0;
  llvm::StringSet<> names;
  for (zip_int64_t index = 0; index < count; ++index) {
    zip_stat_t stat;
    if (zip_stat_index(archive, index, ZIP_FL_ENC_RAW, &stat) != 0 ||
        !(stat.valid & ZIP_STAT_NAME) || !(stat.valid & ZIP_STAT_SIZE))
      return inputError(fileName, "damaged zip archive: member " + llvm::Twine(index) +
                                      " has no readable header; " + kArchiveAdvice);
    const llvm::StringRef name = stat.name;
    if (!untrusted::isSame((*directory)[index], stat.name, stat.size, stat.comp_size,
                           stat.comp_method))
      return inputError(fileName, "archive has two directories; " + kArchiveAdvice.str());
    if (isUnsafeName(name))
      return inputError(fileName, "unsafe member name '" + llvm::toHex(name.take_front(64)) +
                                      "' (hexadecimal) in the archive; " + kArchiveAdvice);
    if (!names.insert(name).second)
      return inputError(fileName + ":" + name,
                        "the archive has two members of this name; " + llvm::Twine(kArchiveAdvice));
    if (stat.size > budget || total > budget - stat.size)
      return inputError(fileName + ":" + name, "the members expand to more than " +
                                                   llvm::Twine(budget) + " bytes, from a file of " +
                                                   llvm::Twine(file.getBufferSize()) +
                                                   "; refused as a decompression bomb");
    total += stat.size;
  }
  return llvm::Error::success();
}

/// Fills `out` with the member; the last read verifies its checksum.
llvm::Error readMember(zip_t *archive, uint64_t index, char *out, uint64_t size,
                       const llvm::Twine &where) {
  auto damaged = [&](llvm::StringRef reason) {
    return inputError(where, "damaged archive member (" + reason + "); " + kArchiveAdvice);
  };
  std::unique_ptr<zip_file_t, CloseMember> member(zip_fopen_index(archive, index, 0));
  if (!member)
    return damaged(zip_strerror(archive));
  uint64_t done = 0;
  while (done < size) {
    // zip_fread takes any size, but its result is signed.
    const uint64_t chunk = std::min<uint64_t>(size - done, uint64_t(1) << 30);
    const zip_int64_t got = zip_fread(member.get(), out + done, chunk);
    if (got < 0)
      return damaged(zip_file_strerror(member.get()));
    if (got == 0)
      return damaged("shorter than its header says");
    done += uint64_t(got);
  }
  char extra;
  const zip_int64_t rest = zip_fread(member.get(), &extra, 1);
  if (rest < 0)
    return damaged(zip_file_strerror(member.get()));
  if (rest > 0)
    return damaged("longer than its header says");
  return llvm::Error::success();
}

/// Whether it is what numpy.savez writes.
bool holdsArrays(zip_t *archive) {
  const zip_int64_t count = zip_get_num_entries(archive, 0);
  for (zip_int64_t index = 0; index < count; ++index) {
    const char *name = zip_get_name(archive, zip_uint64_t(index), ZIP_FL_ENC_RAW);
    if (!name || !llvm::StringRef(name).ends_with(".npy"))
      return false;
  }
  return count > 0;
}

} // namespace

FileKind sniffContent(llvm::StringRef bytes) {
  if (bytes.starts_with(kHdf5Signature))
    return FileKind::Hdf5;
  if (bytes.starts_with(kLocalHeader) || bytes.starts_with(kEmptyArchive))
    return FileKind::Zip;
  bytes.consume_front("\xef\xbb\xbf");
  // `{-#` opens an MLIR resource section, `{` alone a JSON object.
  const llvm::StringRef text = bytes.ltrim(" \t\r\n");
  if (text.starts_with("{") && !text.starts_with("{-#"))
    return FileKind::Json;
  return FileKind::Other;
}

llvm::Expected<Archive> readArchive(llvm::MemoryBufferRef file, const ArchiveLimits &limits) {
  llvm::Expected<ArchiveHandle> handle = openArchive(file);
  if (!handle)
    return handle.takeError();
  zip_t *archive = handle->get();
  if (llvm::Error error = checkMembers(archive, file, limits))
    return std::move(error);

  const llvm::StringRef fileName = file.getBufferIdentifier();
  auto locate = [&](llvm::StringRef name) {
    return zip_name_locate(archive, name.data(), ZIP_FL_ENC_RAW);
  };
  auto sizeOf = [&](zip_int64_t index) {
    zip_stat_t stat;
    return zip_stat_index(archive, index, 0, &stat) == 0 ? uint64_t(stat.size) : 0;
  };
  auto readText = [&](llvm::StringRef name, std::string &text) -> llvm::Error {
    const zip_int64_t index = locate(name);
    const uint64_t size = sizeOf(index);
    if (size > limits.maxConfigBytes)
      return inputError(fileName + ":" + name,
                        "member has " + llvm::Twine(size) + " bytes; at most " +
                            llvm::Twine(limits.maxConfigBytes) + " are accepted");
    text.resize(size);
    return readMember(archive, uint64_t(index), text.data(), size, fileName + ":" + name);
  };

  Archive result;
  if (locate(kConfig) < 0 && holdsArrays(archive))
    return inputError(fileName, "is a .npz of arrays, no model (missing config.json); " +
                                    llvm::Twine(kArchiveAdvice) +
                                    ", or give arrays to mpc-run and mpc-convert");
  if (locate(kConfig) < 0)
    return inputError(fileName,
                      "missing config.json in the archive; " + llvm::Twine(kArchiveAdvice));
  if (llvm::Error error = readText(kConfig, result.config))
    return std::move(error);
  if (locate(kMetadata) >= 0)
    if (llvm::Error error = readText(kMetadata, result.metadata))
      return std::move(error);

  for (zip_int64_t index = 0, count = zip_get_num_entries(archive, 0); index < count; ++index) {
    const char *raw = zip_get_name(archive, zip_uint64_t(index), ZIP_FL_ENC_RAW);
    const llvm::StringRef name = raw ? raw : "";
    if (name.starts_with("assets/") && name.ends_with("/vocabulary.txt"))
      if (llvm::Error error = readText(name, result.vocabularies[name.str()]))
        return std::move(error);
  }

  const zip_int64_t weights = locate(kWeights);
  if (weights < 0) {
    if (locate(kNumpyWeights) >= 0)
      return inputError(fileName + ":" + kNumpyWeights,
                        "weights as npz are not supported; expected model.weights.h5; save the "
                        "model with h5py installed");
    return result;
  }
  const uint64_t size = sizeOf(weights);
  auto buffer = llvm::WritableMemoryBuffer::getNewUninitMemBuffer(size, fileName + ":" + kWeights);
  if (!buffer)
    return inputError(fileName + ":" + kWeights,
                      "not enough memory for " + llvm::Twine(size) + " bytes of weights");
  if (llvm::Error error = readMember(archive, uint64_t(weights), buffer->getBufferStart(), size,
                                     fileName + ":" + kWeights))
    return std::move(error);
  result.weights = std::move(buffer);
  return result;
}

} // namespace mpc::keras
