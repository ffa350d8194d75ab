// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program of the filter: the architecture's own calls, then a list of what a parser needs.
#include "lib/Support/SystemCallFilter.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
static constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
static constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
static constexpr uint32_t kArchitecture = 0; // no filter
#endif

/// Calls of the child's work and of glibc's malloc, abort and exit. Neither open nor socket, clone
/// nor execve is among them. Calls of the x32 ABI have numbers of their own, which are refused.
static constexpr uint32_t kAllowed[] = {
    SYS_read,
    SYS_write,
    SYS_close,
    SYS_fstat,
    SYS_lseek,
    SYS_mmap,
    SYS_munmap,
    SYS_mremap,
    SYS_mprotect,
    SYS_madvise,
    SYS_brk,
    SYS_futex,
    SYS_sched_yield,
    SYS_clock_gettime,
    SYS_clock_nanosleep,
    SYS_getrandom,
    SYS_getpid,
    SYS_gettid,
    SYS_tgkill,
    SYS_rt_sigaction,
    SYS_rt_sigreturn,
    SYS_rt_sigprocmask,
    SYS_restart_syscall,
    SYS_sigaltstack,
    SYS_exit,
    SYS_exit_group,
};

void mpc::filterSystemCalls() {
  constexpr size_t count = std::size(kAllowed);
  static_assert(count < 255, "jumps of a filter have eight bits");
  sock_filter program[count + 6];
  size_t next = 0;
  auto add = [&](sock_filter instruction) { program[next++] = instruction; };
  auto load = [](size_t offset) {
    return sock_filter(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, uint32_t(offset)));
  };
  add(load(offsetof(seccomp_data, arch)));
  add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0));
  add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  add(load(offsetof(seccomp_data, nr)));
  for (size_t i = 0; i < count; ++i)
    // To the last instruction, behind the other comparisons and the refusal.
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kAllowed[i], uint8_t(count - i), 0));
  add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
  add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter = {static_cast<unsigned short>(next), program};
  // Neither call has a buffer to damage; a kernel without seccomp refuses the second.
  if (kArchitecture && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
    (void)::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0);
}
