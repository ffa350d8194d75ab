/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A library to preload that lets one call fail: the n-th of its kind since main() began.
 *
 *   MPC_FAULT=KIND:N      malloc, thread, open, write, fsync, rename, link, mmap, read or short; N
 *                         from 1, 0 for none; KIND:N+ fails all from the N-th on. `short` is a read
 *                         or a write that does half of what it was asked for, which is no failure
 *   MPC_FAULT_TRACE=1     prints the stack of the call that fails
 *   MPC_FAULT_COUNTS=FILE of 10 numbers (uint64), the calls of each kind, counted by all processes
 *                         that have FILE; without it nothing fails
 *
 * operator new comes to malloc(). Calls before main() belong to the loader and to constructors,
 * which nothing can report from. Reads and writes count where they are of regular files: messages
 * to a terminal or a pipe arrive. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { MALLOC, THREAD, OPEN, WRITE, FSYNC, RENAME, LINK, MMAP, READ, SHORT, KINDS };
static const char *const names[KINDS] = {"malloc", "thread", "open", "write", "fsync",
                                         "rename", "link",   "mmap", "read",  "short"};

static uint64_t *counts; /* shared with other processes; null before main() */
static enum kind failing = KINDS;
static uint64_t failing_at;
static int failing_onward, traces;

/* Whether this call fails. Async-signal-safe, allocates nothing. */
static int fails(enum kind kind) {
  uint64_t number;
  if (!counts)
    return 0;
  number = __atomic_add_fetch(&counts[kind], 1, __ATOMIC_RELAXED);
  if (traces && kind == failing && number == failing_at) {
    void *stack[40];
    traces = 0;
    backtrace_symbols_fd(stack, backtrace(stack, 40), 2);
  }
  return kind == failing && (number == failing_at || (failing_onward && number > failing_at));
}

static void begin(void) {
  const char *fault = getenv("MPC_FAULT"), *file = getenv("MPC_FAULT_COUNTS");
  int descriptor, kind;
  void *memory;
  unsetenv("LD_PRELOAD"); /* the linker that mpcc starts is not ours */
  if (!fault || !file)
    return;
  for (kind = 0; kind < KINDS; ++kind) {
    const size_t length = strlen(names[kind]);
    if (strncmp(fault, names[kind], length) == 0 && fault[length] == ':') {
      char *end;
      failing = (enum kind)kind;
      failing_at = strtoull(fault + length + 1, &end, 10);
      failing_onward = *end == '+';
    }
  }
  if (failing_at == 0)
    failing = KINDS;
  if (getenv("MPC_FAULT_TRACE")) {
    void *stack[1];
    traces = backtrace(stack, 1); /* loads what it needs */
  }
  descriptor = (int)syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0 || ftruncate(descriptor, KINDS * sizeof *counts) != 0)
    abort();
  memory = (void *)syscall(SYS_mmap, NULL, KINDS * sizeof *counts, PROT_READ | PROT_WRITE,
                           MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (memory == MAP_FAILED)
    abort();
  counts = memory;
}

/* ---- When main() begins -------------------------------------------------------------------- */

typedef int (*main_fn)(int, char **, char **);
static main_fn program;

static int counted_main(int argc, char **argv, char **environment) {
  begin();
  return program(argc, argv, environment);
}

int __libc_start_main(main_fn start, int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*loader_fini)(void), void *stack) {
  int (*real)(main_fn, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
  *(void **)&real = dlsym(RTLD_NEXT, "__libc_start_main");
  program = start;
  return real(counted_main, argc, argv, init, fini, loader_fini, stack);
}

/* ---- Memory -------------------------------------------------------------------------------- */

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static void *no_memory(void) {
  errno = ENOMEM;
  return NULL;
}
void *malloc(size_t size) { return fails(MALLOC) ? no_memory() : __libc_malloc(size); }
void *calloc(size_t count, size_t size) {
  return fails(MALLOC) ? no_memory() : __libc_calloc(count, size);
}
void *realloc(void *memory, size_t size) {
  return fails(MALLOC) ? no_memory() : __libc_realloc(memory, size);
}
void *memalign(size_t alignment, size_t size) {
  return fails(MALLOC) ? no_memory() : __libc_memalign(alignment, size);
}
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **memory, size_t alignment, size_t size) {
  if (fails(MALLOC))
    return ENOMEM;
  *memory = __libc_memalign(alignment, size);
  return *memory ? 0 : ENOMEM;
}
void *mmap(void *address, size_t size, int protection, int flags, int descriptor, off_t offset) {
  if (fails(MMAP)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return (void *)syscall(SYS_mmap, address, size, protection, flags, descriptor, offset);
}
void *mmap64(void *address, size_t size, int protection, int flags, int descriptor, off_t offset) {
  return mmap(address, size, protection, flags, descriptor, offset);
}

/* ---- Threads ------------------------------------------------------------------------------- */

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument) {
  static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  if (!real)
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
  return fails(THREAD) ? EAGAIN : real(thread, attributes, run, argument);
}

/* ---- Files --------------------------------------------------------------------------------- */

static int no_file(int flags) {
  errno = (flags & O_ACCMODE) == O_RDONLY ? EMFILE : ENOSPC;
  return -1;
}
int openat(int folder, const char *path, int flags, ...) {
  int mode = 0;
  if (flags & (O_CREAT | O_TMPFILE)) {
    va_list rest;
    va_start(rest, flags);
    mode = va_arg(rest, int);
    va_end(rest);
  }
  return fails(OPEN) ? no_file(flags) : (int)syscall(SYS_openat, folder, path, flags, mode);
}
int openat64(int folder, const char *path, int flags, ...) {
  int mode = 0;
  if (flags & (O_CREAT | O_TMPFILE)) {
    va_list rest;
    va_start(rest, flags);
    mode = va_arg(rest, int);
    va_end(rest);
  }
  return openat(folder, path, flags, mode);
}
int open(const char *path, int flags, ...) {
  int mode = 0;
  if (flags & (O_CREAT | O_TMPFILE)) {
    va_list rest;
    va_start(rest, flags);
    mode = va_arg(rest, int);
    va_end(rest);
  }
  return openat(AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) {
  int mode = 0;
  if (flags & (O_CREAT | O_TMPFILE)) {
    va_list rest;
    va_start(rest, flags);
    mode = va_arg(rest, int);
    va_end(rest);
  }
  return openat(AT_FDCWD, path, flags, mode);
}
FILE *fopen(const char *path, const char *mode) {
  static FILE *(*real)(const char *, const char *);
  if (!real)
    *(void **)&real = dlsym(RTLD_NEXT, "fopen");
  if (fails(OPEN)) {
    no_file(*mode == 'r' ? O_RDONLY : O_WRONLY);
    return NULL;
  }
  return real(path, mode);
}
FILE *fopen64(const char *path, const char *mode) { return fopen(path, mode); }

static int is_regular(int descriptor) {
  struct stat info;
  return counts && fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode);
}
/* How many of `size` bytes a call transfers; -1 where it fails with `error`. */
static ssize_t granted(enum kind kind, int error, int descriptor, size_t size) {
  if (!is_regular(descriptor))
    return (ssize_t)size;
  if (fails(kind)) {
    errno = error;
    return -1;
  }
  return (ssize_t)(fails(SHORT) && size > 1 ? size / 2 : size);
}
ssize_t write(int descriptor, const void *data, size_t size) {
  const ssize_t part = granted(WRITE, ENOSPC, descriptor, size);
  return part < 0 ? -1 : syscall(SYS_write, descriptor, data, part);
}
ssize_t pwrite(int descriptor, const void *data, size_t size, off_t offset) {
  const ssize_t part = granted(WRITE, ENOSPC, descriptor, size);
  return part < 0 ? -1 : syscall(SYS_pwrite64, descriptor, data, part, offset);
}
ssize_t pwrite64(int descriptor, const void *data, size_t size, off_t offset) {
  return pwrite(descriptor, data, size, offset);
}
ssize_t writev(int descriptor, const struct iovec *pieces, int count) {
  const ssize_t part = granted(WRITE, ENOSPC, descriptor, (size_t)count);
  return part < 0 ? -1 : syscall(SYS_writev, descriptor, pieces, part);
}
ssize_t read(int descriptor, void *data, size_t size) {
  const ssize_t part = granted(READ, EIO, descriptor, size);
  return part < 0 ? -1 : syscall(SYS_read, descriptor, data, part);
}
ssize_t pread(int descriptor, void *data, size_t size, off_t offset) {
  const ssize_t part = granted(READ, EIO, descriptor, size);
  return part < 0 ? -1 : syscall(SYS_pread64, descriptor, data, part, offset);
}
ssize_t pread64(int descriptor, void *data, size_t size, off_t offset) {
  return pread(descriptor, data, size, offset);
}
ssize_t readv(int descriptor, const struct iovec *pieces, int count) {
  const ssize_t part = granted(READ, EIO, descriptor, (size_t)count);
  return part < 0 ? -1 : syscall(SYS_readv, descriptor, pieces, part);
}
ssize_t sendfile(int to, int from, off_t *offset, size_t size) {
  const ssize_t part = granted(READ, EIO, from, size);
  return part < 0 ? -1 : syscall(SYS_sendfile, to, from, offset, part);
}
ssize_t sendfile64(int to, int from, off_t *offset, size_t size) {
  return sendfile(to, from, offset, size);
}
/* What the linker's inputs are copied by. */
ssize_t copy_file_range(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t size,
                        unsigned flags) {
  const ssize_t part = granted(READ, EIO, from, size);
  return part < 0 ? -1
                  : syscall(SYS_copy_file_range, from, from_offset, to, to_offset, part, flags);
}
int fsync(int descriptor) {
  if (fails(FSYNC)) {
    errno = EIO;
    return -1;
  }
  return (int)syscall(SYS_fsync, descriptor);
}
int fdatasync(int descriptor) { return fsync(descriptor); }

int renameat(int from_folder, const char *from, int to_folder, const char *to) {
  if (fails(RENAME)) {
    errno = EIO;
    return -1;
  }
  return (int)syscall(SYS_renameat, from_folder, from, to_folder, to);
}
int rename(const char *from, const char *to) { return renameat(AT_FDCWD, from, AT_FDCWD, to); }
int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
  if (fails(LINK)) {
    errno = EIO;
    return -1;
  }
  return (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
}
int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }
