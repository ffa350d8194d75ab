// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A parser in a guarded child can do nothing to the world but say something.
#include "mpc/Support/GuardedChild.h"
#include "gtest/gtest.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace mpc;

namespace {

/// The number that the child's `work` returns, or -1 where it did not come to its end.
int run(llvm::function_ref<int()> work, ChildLimits limits = {}) {
  GuardedChild child;
  if (!child.start(limits, [&](int pipe) {
        const int answer = work();
        return ::write(pipe, &answer, sizeof answer) == sizeof answer;
      }))
    return -1;
  int answer = -1;
  return child.read(&answer, sizeof answer) && child.finish() ? answer : -1;
}

} // namespace

TEST(GuardedChild, SaysSomething) {
  EXPECT_EQ(run([] { return 42; }), 42);
}

TEST(GuardedChild, ReachesNothing) {
  EXPECT_EQ(run([] { return ::open("/etc/passwd", O_RDONLY) < 0 ? errno : 0; }), EPERM);
  EXPECT_EQ(run([] { return ::openat(AT_FDCWD, "/dev/null", O_WRONLY) < 0 ? errno : 0; }), EPERM);
  EXPECT_EQ(run([] { return ::socket(AF_INET, SOCK_STREAM, 0) < 0 ? errno : 0; }), EPERM);
  EXPECT_EQ(run([] { return ::socket(AF_UNIX, SOCK_STREAM, 0) < 0 ? errno : 0; }), EPERM);
  EXPECT_EQ(run([] { return ::fork() < 0 ? errno : 0; }), EPERM);
  EXPECT_EQ(run([] {
              char *const words[] = {const_cast<char *>("/bin/true"), nullptr};
              ::execv(words[0], words);
              return errno;
            }),
            EPERM);
  EXPECT_EQ(run([] { return ::kill(::getppid(), 0) < 0 ? errno : 0; }), EPERM);
  EXPECT_EQ(run([] { return ::syscall(SYS_ptrace, 0, 0, 0, 0) < 0 ? errno : 0; }), EPERM);
  // The numbers of the x32 ABI are other ones.
  EXPECT_EQ(run([] { return ::syscall(0x40000000 + 2, "/etc/passwd", 0) < 0 ? errno : 0; }), EPERM);
  // Nothing that the parent had open.
  EXPECT_EQ(run([] { return ::write(2, "x", 1) < 0 ? errno : 0; }), EBADF);
}

TEST(GuardedChild, EndsByItselfAlone) {
  EXPECT_EQ(run([] { return ::abort(), 1; }), -1);
  EXPECT_EQ(run([] { return *reinterpret_cast<volatile int *>(8); }), -1);
  EXPECT_EQ(run([] { return ::_exit(0), 1; }), -1);
  GuardedChild refuses;
  ASSERT_TRUE(refuses.start({}, [](int) { return false; }));
  EXPECT_FALSE(refuses.finish());
  GuardedChild says;
  ASSERT_TRUE(says.start({}, [](int pipe) { return ::write(pipe, "more", 4) == 4; }));
  char letter = 0;
  EXPECT_TRUE(says.read(&letter, 1));
  EXPECT_FALSE(says.finish()) << "there was more to read";
}

TEST(GuardedChild, HasLimits) {
  ChildLimits limits;
  limits.processorSeconds = 1;
  EXPECT_EQ(run(
                [] {
                  for (volatile unsigned i = 0;; i = i + 1)
                    ;
                  return 1;
                },
                limits),
            -1);
  limits = {};
  limits.wallSeconds = 1;
  EXPECT_EQ(run(
                [] {
                  for (;;)
                    ::sched_yield();
                  return 1;
                },
                limits),
            -1);
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
  limits = {};
  limits.memory = 64 << 20;
  // Volatile: a compiler knows what becomes of memory that nobody uses.
  auto allocates = [&](size_t bytes) {
    return run(
        [bytes] {
          void *volatile memory = std::malloc(bytes);
          return memory ? 1 : 2;
        },
        limits);
  };
  EXPECT_EQ(allocates(32 << 20), 1);
  EXPECT_EQ(allocates(128 << 20), 2);
#endif
}
