// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// seccomp for guarded children (seccomp(2), Linux 3.17 and later).
#ifndef MPC_LIB_SUPPORT_SYSTEMCALLFILTER_H
#define MPC_LIB_SUPPORT_SYSTEMCALLFILTER_H

namespace mpc {

/// From here on the process computes, allocates, and reads and writes the descriptors that it has;
/// every other call of the system returns EPERM. Nothing happens where the kernel has no seccomp.
void filterSystemCalls();

} // namespace mpc

#endif // MPC_LIB_SUPPORT_SYSTEMCALLFILTER_H
