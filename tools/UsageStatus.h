// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tools that MLIR's libraries drive end with 2 when their command line is wrong, as all of
// mpc's do (docs/tools.md), where upstream's end with 1.
#ifndef MPC_TOOLS_USAGE_STATUS_H
#define MPC_TOOLS_USAGE_STATUS_H

#include <cstdlib>
#include <unistd.h>

namespace mpc {

/// Lives as long as MLIR's main function for a tool runs. That returns what is wrong with the
/// input; only the parser of the command line calls exit(1) inside of it, after its message.
class UsageStatus {
public:
  UsageStatus() {
    ::on_exit(
        [](int status, void *) {
          if (parsing && status == EXIT_FAILURE)
            ::_exit(2);
        },
        nullptr);
    parsing = true;
  }
  ~UsageStatus() { parsing = false; }
  UsageStatus(const UsageStatus &) = delete;

private:
  inline static bool parsing = false;
};

} // namespace mpc

#endif // MPC_TOOLS_USAGE_STATUS_H
