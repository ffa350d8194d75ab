// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MappedFile: a file's bytes in memory without reading them, shared with every process that maps
// it.
#ifndef MPC_RUNTIME_DATA_MAPPED_FILE_H
#define MPC_RUNTIME_DATA_MAPPED_FILE_H

#include "runtime/data/result.h"

#include <cstdint>
#include <memory>
#include <string>

namespace mpc::data {

/// A regular file mapped privately: writing into the memory copies the page and never reaches the
/// file. Whoever shortens the file meanwhile ends the process (SIGBUS): files are to be replaced by
/// renaming, as everything in mpc does.
class MappedFile {
public:
  static Result<std::shared_ptr<MappedFile>> open(const std::string &path);
  /// `size` bytes of an open file from `begin` on, which must be in it; `place` begins messages.
  static Result<std::shared_ptr<MappedFile>> map(int descriptor, uint64_t begin, uint64_t size,
                                                 const std::string &place);
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  ~MappedFile();

  uint8_t *data() const { return data_; }
  uint64_t size() const { return size_; }
  /// Enters the pages of [begin, end) as they are in the file: cheaper than faulting them in one by
  /// one.
  void touch(uint64_t begin, uint64_t end) const;

private:
  MappedFile(uint8_t *data, uint64_t size, uint64_t before)
      : data_(data), size_(size), before_(before) {}
  uint8_t *data_;
  uint64_t size_, before_; // bytes between the begin of the page and the data
};

} // namespace mpc::data
#endif
