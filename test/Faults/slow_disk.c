/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A library to preload under which a disk is slow: a file takes 50 ms until it is on it. So a test
 * meets a program that is saving something. */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int fsync(int descriptor) {
  const struct timespec pause = {0, 50 * 1000 * 1000};
  nanosleep(&pause, NULL);
  return (int)syscall(SYS_fsync, descriptor);
}
