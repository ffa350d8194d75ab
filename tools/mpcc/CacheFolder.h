// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where compiled functions are kept unless --cache says otherwise.
#ifndef MPC_TOOLS_MPCC_CACHEFOLDER_H
#define MPC_TOOLS_MPCC_CACHEFOLDER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"
#include <optional>
#include <string>

namespace mpc {

/// The folder `code` in the one that `given` names or else MPC_CACHE (either may be empty:
/// nowhere), or else in mpc in $XDG_CACHE_HOME or ~/.cache. The runtime keeps what it measures on
/// GPUs beside.
inline std::string findCacheFolder(std::optional<std::string> given) {
  using llvm::sys::Process;
  if (!given)
    given = Process::GetEnv("MPC_CACHE");
  if (given)
    return given->empty() ? "" : *given + "/code";
  // Relative folders do not count, says the specification that these variables are from.
  const auto absolute = [](const char *name) {
    std::optional<std::string> path = Process::GetEnv(name);
    return path && llvm::StringRef(*path).starts_with("/") ? *path : "";
  };
  if (const std::string caches = absolute("XDG_CACHE_HOME"); !caches.empty())
    return caches + "/mpc/code";
  // Users without a home of their own have asked for nothing that could fail.
  const std::string home = absolute("HOME");
  return llvm::sys::fs::can_write(home) ? home + "/.cache/mpc/code" : "";
}

} // namespace mpc

#endif // MPC_TOOLS_MPCC_CACHEFOLDER_H
