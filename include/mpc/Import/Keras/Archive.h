// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bytes of a Keras model file: what kind of file it is, and the members of a `.keras` archive.
// Nothing is extracted to disk and member names are never used as paths.
#ifndef MPC_IMPORT_KERAS_ARCHIVE_H
#define MPC_IMPORT_KERAS_ARCHIVE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace mpc::keras {

/// The kind that the first bytes of a file say; the suffix of its name is never asked.
enum class FileKind {
  Zip,  ///< `.keras` (also npz: the members decide)
  Hdf5, ///< legacy whole-model file, or weights alone
  Json, ///< first character that is no white space is `{`: an architecture
  Other ///< MLIR text or bytecode, ONNX, damaged, empty
};

FileKind sniffContent(llvm::StringRef bytes);

/// The members of a `.keras` archive that mpc reads. `weights` is empty when the archive has none.
struct Archive {
  std::string config;                          ///< config.json, UTF-8
  std::string metadata;                        ///< metadata.json; may be empty
  std::unique_ptr<llvm::MemoryBuffer> weights; ///< model.weights.h5; null when missing
  /// Text members that layers wrote, by name: "assets/layers/integer_lookup/vocabulary.txt".
  std::map<std::string, std::string> vocabularies;
};

/// Guards against archives that expand far beyond their size (CVE-2026-0897 and its kind).
struct ArchiveLimits {
  /// Bytes of all members together, uncompressed; 0 means 4 * file size + 64 MiB, at most 64 GiB.
  uint64_t maxTotalBytes = 0;
  uint64_t maxConfigBytes = uint64_t(64) << 20;
  uint64_t maxMembers = 100000;
};

/// Reads the members of the `.keras` archive in `file`. Errors (named after the buffer's
/// identifier): not a zip archive, truncated, inconsistent or duplicate entries, names that leave
/// the archive, encrypted members, wrong checksums, missing config.json, members beyond the limits,
/// weights in another format than HDF5.
llvm::Expected<Archive> readArchive(llvm::MemoryBufferRef file, const ArchiveLimits &limits = {});

} // namespace mpc::keras

#endif
