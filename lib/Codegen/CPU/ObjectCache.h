// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Objects of earlier compilations.
#ifndef MPC_LIB_CODEGEN_CPU_OBJECTCACHE_H
#define MPC_LIB_CODEGEN_CPU_OBJECTCACHE_H

#include "llvm/Support/Error.h"
#include <atomic>
#include <memory>
#include <optional>
#include <string>

namespace mpc {

/// A folder of objects by what they were compiled from. Entries are code: the folder belongs to the
/// user alone, each entry has a checksum, and what is wrong with one or the other counts as if it
/// was not there. Any number of processes and threads use it at once: an entry appears whole or not
/// at all.
class ObjectCache {
public:
  static constexpr uint64_t kMostBytes = uint64_t(512) << 20;

  /// Makes the folder if it is missing. Objects of another `compiler` have other keys. Fails where
  /// the folder cannot be used, or others own it or can write to it.
  static llvm::Expected<std::unique_ptr<ObjectCache>>
  open(llvm::StringRef folder, llvm::StringRef compiler, uint64_t mostBytes = kMostBytes);
  ~ObjectCache();
  ObjectCache(const ObjectCache &) = delete;

  /// `key`: 64 hexadecimal digits.
  std::optional<std::string> find(llvm::StringRef key);
  /// Keeps the object, if that is possible.
  void store(llvm::StringRef key, llvm::StringRef object);
  /// Removes what was not used for longest where there is more than there may be: looks at the
  /// folder at most once a minute.
  void trim();
  /// Why an object could not be stored; empty: all were.
  std::error_code failure() const { return {failed.load(), std::generic_category()}; }

private:
  ObjectCache(int folder, llvm::StringRef compiler, uint64_t mostBytes)
      : folder(folder), compiler(compiler), mostBytes(mostBytes) {}
  std::string entryOf(llvm::StringRef key) const;
  bool write(const std::string &entry, llvm::StringRef content);

  int folder;
  std::string compiler;
  uint64_t mostBytes;
  std::atomic<bool> hasNew{false};
  std::atomic<unsigned> writes{0};
  std::atomic<int> failed{0};
};

} // namespace mpc

#endif // MPC_LIB_CODEGEN_CPU_OBJECTCACHE_H
