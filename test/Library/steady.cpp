// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls allocate nothing once they have run before: malloc, its like and mmap are counted, whoever
// in the process asks for memory.
//   steady MODEL ENTRY BATCH [--leak]
// Succeeds after some calls in a row without any; threads that begin late have their share before.
// Otherwise it prints how many the last call made. --leak: one more in each call, by the program.
// MPC_STEADY_TRAP aborts at the first one that is counted, so that a debugger shows who it is.
#include "generic.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

static std::atomic<bool> isCounting{false};
static std::atomic<long> allocations{0};
static bool traps = false;

// Allocations of every thread count: workers allocate, too.
static void count() {
  if (!isCounting.load(std::memory_order_relaxed))
    return;
  if (traps)
    std::abort();
  allocations++;
}

extern "C" void *__libc_malloc(size_t);
extern "C" void *__libc_calloc(size_t, size_t);
extern "C" void *__libc_realloc(void *, size_t);
extern "C" void *__libc_memalign(size_t, size_t);
extern "C" void *malloc(size_t bytes) { return count(), __libc_malloc(bytes); }
extern "C" void *calloc(size_t n, size_t bytes) { return count(), __libc_calloc(n, bytes); }
extern "C" void *realloc(void *memory, size_t bytes) {
  return count(), __libc_realloc(memory, bytes);
}
extern "C" void *memalign(size_t alignment, size_t bytes) {
  return count(), __libc_memalign(alignment, bytes);
}
extern "C" void *aligned_alloc(size_t alignment, size_t bytes) {
  return memalign(alignment, bytes);
}
extern "C" int posix_memalign(void **to, size_t alignment, size_t bytes) {
  *to = memalign(alignment, bytes);
  return *to ? 0 : ENOMEM;
}
extern "C" void *mmap(void *address, size_t bytes, int protection, int flags, int file,
                      off_t offset) {
  count();
  return reinterpret_cast<void *>(
      syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}

static void *(*volatile allocate)(size_t) = malloc;

#define CHECK(call)                                                                                \
  if (call) {                                                                                      \
    std::fprintf(stderr, "%s: %s\n", #call, mpc_rt_last_error());                                  \
    return 1;                                                                                      \
  }

int main(int argc, char **argv) {
  if (argc < 4)
    return 2;
  const int64_t batch = std::atoll(argv[3]);
  const bool leaks = argc > 4 && std::strcmp(argv[4], "--leak") == 0;
  traps = std::getenv("MPC_STEADY_TRAP");
  mpc_rt_model_t *model = nullptr;
  mpc_rt_context_t *context = nullptr;
  mpc_rt_context_options_t options;
  mpc_rt_context_options_init(&options);
  options.threads = 2;
  CHECK(mpc_rt_model_load(argv[1], &model));
  CHECK(mpc_rt_context_create(model, &options, &context));
  CHECK(mpc_rt_context_load_initial(context, nullptr));
  uint32_t index = 0;
  CHECK(mpc_rt_find_entry(model, argv[2], &index));
  const mpc_rt_entry_info_t &entry = mpc_rt_model_executable(model)->entries[index];
  generic::Buffers inputs(entry.inputs, entry.input_count, batch),
      outputs(entry.outputs, entry.output_count, batch);
  constexpr int warmUp = 3, mostCalls = 100, wanted = 5;
  int inARow = 0;
  for (int call = 0; call < warmUp + mostCalls && inARow < wanted; ++call) {
    allocations = 0;
    isCounting = call >= warmUp;
    const auto status =
        mpc_rt_context_run(context, index, inputs.pointers.data(), outputs.pointers.data(), batch);
    if (leaks) // through a pointer that the compiler does not see through
      std::free(allocate(1));
    isCounting = false;
    CHECK(status);
    inARow = call >= warmUp && allocations == 0 ? inARow + 1 : 0;
  }
  mpc_rt_context_release(context);
  mpc_rt_model_release(model);
  if (inARow < wanted)
    std::printf("%ld allocations in a call\n", allocations.load());
  return inARow < wanted;
}
