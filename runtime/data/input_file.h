// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// InputFile: reads of a file whose size is known, with errors that name the file.
#ifndef MPC_RUNTIME_DATA_INPUT_FILE_H
#define MPC_RUNTIME_DATA_INPUT_FILE_H

#include "runtime/data/result.h"

#include <cstdint>
#include <string>

namespace mpc::data {

/// A regular file opened for reading. Never blocks on a pipe: anything else is refused.
class InputFile {
public:
  InputFile() = default;
  InputFile(InputFile &&other) noexcept;
  InputFile &operator=(InputFile &&) = delete;
  ~InputFile();
  static Result<InputFile> open(const std::string &path);

  uint64_t size() const { return size_; }
  uint64_t remaining() const { return size_ - offset_; }
  const std::string &path() const { return path_; }
  /// Exactly `size` bytes from the current position on; fewer is a Failure.
  Status read(void *data, uint64_t size);
  /// The same from byte `offset` on; the current position stays.
  Status readAt(uint64_t offset, void *data, uint64_t size) const;

private:
  std::string path_;
  int descriptor_ = -1;
  uint64_t size_ = 0, offset_ = 0;
};

/// Reads the rest of an open stream, at most `limit` bytes; `place` begins messages.
Result<std::string> readStream(int descriptor, const std::string &place, uint64_t limit);

/// The whole file, which must not be larger than `limit` bytes.
Result<std::string> readWholeFile(const std::string &path, uint64_t limit);

} // namespace mpc::data
#endif
