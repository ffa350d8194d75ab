// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writing zip archives whose bytes depend on their content alone.
#ifndef MPC_RUNTIME_DATA_ZIP_WRITER_H
#define MPC_RUNTIME_DATA_ZIP_WRITER_H

#include "runtime/data/atomic_file.h"
#include "runtime/untrusted/zip_records.h"

#include <vector>

namespace mpc::data {

/// Whether an archive at `path` may have a member of this name (untrusted/outlets.h).
Status checkMemberName(const std::string &path, const std::string &name);

/// Stored (uncompressed) members, in the order of the calls (runtime/untrusted/zip_records.h). The
/// file appears with finish().
class ZipWriter {
public:
  explicit ZipWriter(const std::string &path) : path_(path), file_(path) {}
  Status open() { return file_.open(); }
  /// A member of `prefix` followed by `size` bytes at `data`. A name that checkMemberName()
  /// refuses makes finish() fail.
  void add(const std::string &name, const std::string &prefix, const void *data, size_t size);
  Status finish();

private:
  std::string path_;
  AtomicFile file_;
  std::vector<untrusted::StoredMember> members_;
  Failure failure_;
};

} // namespace mpc::data
#endif
