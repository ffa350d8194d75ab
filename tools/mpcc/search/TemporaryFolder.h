// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A folder for the libraries that a search compiles to look at them. It goes with the search, also
// where a signal ends mpcc.
#ifndef MPC_TOOLS_MPCC_SEARCH_TEMPORARYFOLDER_H
#define MPC_TOOLS_MPCC_SEARCH_TEMPORARYFOLDER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <sys/types.h>

namespace mpc {

class TemporaryFolder {
public:
  /// Makes the one folder that there may be at a time.
  llvm::Error make();
  ~TemporaryFolder();

  std::string pathOf(llvm::StringRef name) const { return (path + "/" + name).str(); }
  /// Removes a file or folder in it.
  void remove(llvm::StringRef name) const;

  /// A signal that ends mpcc ends this process, too; 0: none runs.
  static void setChild(pid_t child);

private:
  std::string path;
};

} // namespace mpc

#endif // MPC_TOOLS_MPCC_SEARCH_TEMPORARYFOLDER_H
