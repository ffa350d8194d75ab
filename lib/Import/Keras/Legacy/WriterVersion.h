// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which Keras wrote a file, as its attribute keras_version or its metadata say.
#ifndef MPC_LIB_IMPORT_KERAS_LEGACY_WRITERVERSION_H
#define MPC_LIB_IMPORT_KERAS_LEGACY_WRITERVERSION_H

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace mpc::keras {

struct WriterVersion {
  unsigned major = 0, minor = 0;
  /// "2.2.4-tf": the Keras inside TensorFlow 1.5 to 2.2. From 2.4 on there is no other.
  bool isTensorFlows = false;

  bool isBefore(unsigned otherMajor, unsigned otherMinor) const {
    return major < otherMajor || (major == otherMajor && minor < otherMinor);
  }
};

/// Null for what is no version.
inline std::optional<WriterVersion> parseWriterVersion(llvm::StringRef text) {
  WriterVersion version;
  auto [major, rest] = text.split('.');
  auto [minor, patch] = rest.split('.');
  if (major.getAsInteger(10, version.major) || minor.getAsInteger(10, version.minor))
    return std::nullopt;
  version.isTensorFlows = patch.ends_with("-tf") || !version.isBefore(2, 4);
  return version;
}

} // namespace mpc::keras

#endif
