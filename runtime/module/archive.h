// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model that is one file (archive_index.h): its library is loaded from memory, its weights are
// mapped where they lie.
#ifndef MPC_RUNTIME_MODULE_ARCHIVE_H
#define MPC_RUNTIME_MODULE_ARCHIVE_H

#include "mpc-rt/executable.h"
#include "runtime/module/archive_index.h"

#include <memory>
#include <sys/types.h>

namespace mpc::rt {

// Models that were opened from the same file share one: its code and what it holds is there once.
class Archive {
public:
  // The library is copied to a memory file that nothing can change any more, and checked there.
  // The file itself stays open: whatever stands at the path later, these are its weights.
  static mpc_rt_status_t open(const char *path, std::shared_ptr<Archive> &archive);
  Archive(const Archive &) = delete;
  ~Archive();

  void *library() const { return library_; } // from dlopen
  const ArchiveIndex &index() const { return index_; }
  int file() const { return file_; }
  // Whether manifest and weights go with the library, by its tables, which are sound.
  mpc_rt_status_t checkParts(const mpc_rt_executable_t &executable) const;

private:
  struct Identity {
    dev_t device;
    ino_t inode;
    off_t size;
    timespec written, changed;
  };
  explicit Archive(int file) : file_(file) {}
  mpc_rt_status_t load(const char *path);
  mpc_rt_status_t copyLibrary(int memory) const;
  bool isSame(const Identity &other) const;
  static bool identify(int file, Identity &identity);
  static std::shared_ptr<Archive> find(const Identity &identity);
  static void remember(const std::shared_ptr<Archive> &archive);

  int file_;
  void *library_ = nullptr;
  ArchiveIndex index_;
  Identity identity_ = {};
};

} // namespace mpc::rt

#endif
