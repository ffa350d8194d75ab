// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// AtomicFile: a file that appears whole or not at all. Every file that mpc-run writes goes through
// it, so that a full disk or a kill leaves the previous content in place.
#ifndef MPC_RUNTIME_DATA_ATOMIC_FILE_H
#define MPC_RUNTIME_DATA_ATOMIC_FILE_H

#include "runtime/data/result.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace mpc::data {

/// Writes to a file without a name in the folder of `path`; commit() makes it durable (fsync) and
/// gives it the name. Without commit it vanishes, whatever ends the process. A kill just before the
/// name is taken, or on file systems that know no files without names, leaves a temporary file;
/// whoever writes to `path` next removes it. A path that exists and is no regular file (a pipe,
/// /dev/null) is written directly.
class AtomicFile {
public:
  /// A file that is not durable may be lost in a power cut: many that are written in a row would
  /// wait for the disk.
  explicit AtomicFile(std::string path, bool isDurable = true);
  ~AtomicFile();
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;

  /// Creates the file.
  Status open();
  /// Appends; buffered. After the first error all further writes are ignored and commit reports it.
  void write(const void *data, size_t size);
  void write(const std::string &text) { write(text.data(), text.size()); }
  uint64_t offset() const { return offset_; }
  Status commit();

private:
  void flush();
  void fail(const char *what, int number);
  Failure failure() const;
  /// Calls `take` with temporary names until one is free; errno says why none is.
  template <typename Take> bool takeName(Take take);
  bool create();
  bool link();

  std::string path_, target_, temporary_, buffer_, message_;
  const bool isDurable_;
  int descriptor_ = -1;
  bool isTemporary_ = false; // what is written is not the file itself
  bool hasName_ = false;     // `temporary_` is the file's
  uint64_t offset_ = 0;
};

/// The whole of `text` as the new content of `path`.
Status writeFileAtomically(const std::string &path, const std::string &text, bool isDurable = true);

/// Whether `path` can be written, found out by making and removing a file: for asking
/// before the work whose result goes there.
Status checkWritable(const std::string &path);

/// The temporary name that AtomicFile uses starts with this, for cleaning up after a kill.
extern const char *const atomicFilePrefix;
/// The first names that a writer of the file `target` tries, in its folder.
std::string temporaryFileName(const std::string &target, unsigned number);

} // namespace mpc::data
#endif
