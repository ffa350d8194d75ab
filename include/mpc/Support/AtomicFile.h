// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files that are replaced as a whole or not at all.
#ifndef MPC_SUPPORT_ATOMICFILE_H
#define MPC_SUPPORT_ATOMICFILE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <string>
#include <vector>

namespace mpc {

/// Files of one directory, which appear together: each is written without a name, with fsync, and
/// all get theirs by `commit`. Without it nothing is replaced and nothing is left, whatever ends
/// the process. A kill just before names are taken, or on file systems that know no files without
/// names, leaves temporary files; whoever writes to the same paths next removes them.
class AtomicFiles {
public:
  /// `option` is what names the directory on the command line, for errors.
  explicit AtomicFiles(llvm::StringRef directory, llvm::StringRef option = "-o")
      : directory(directory), option(option) {}
  AtomicFiles(const AtomicFiles &) = delete;
  AtomicFiles &operator=(const AtomicFiles &) = delete;
  ~AtomicFiles();

  /// Writes `name` with what `print` prints.
  llvm::Error add(llvm::StringRef name, llvm::function_ref<void(llvm::raw_ostream &)> print);
  llvm::Error add(llvm::StringRef name, llvm::StringRef content) {
    return add(name, [&](llvm::raw_ostream &stream) { stream << content; });
  }

  /// The directory is made if it is missing. SIGINT, SIGTERM and SIGHUP wait until it is over.
  llvm::Error commit();

private:
  struct File {
    std::string path;
    std::string temporary; ///< empty as long as the file has no name
    std::string old;       ///< another name of the file that is replaced; empty for none
    int descriptor = -1;
    bool isNew = false; ///< nothing is replaced
  };
  llvm::Error makeDirectory();
  llvm::Error open(File &file);
  llvm::Error link(File &file);
  llvm::Error replace();
  static void restore(llvm::ArrayRef<File> replaced);
  void discard();

  std::string directory, option;
  std::vector<std::string> madeDirectories; ///< by us, outermost first
  std::vector<File> files;
};

} // namespace mpc

#endif // MPC_SUPPORT_ATOMICFILE_H
