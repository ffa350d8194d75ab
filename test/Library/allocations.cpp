// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lets each allocation of libmpcrt fail once, from loading a model to saving after a step of
// training: every call has to return a status, and the next attempt has to work.
//   allocations MODEL STATE-FILE
// Allocations that libgomp and oneDNN make themselves are left alone: libgomp ends the process.
#include "generic.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <new>
#include <string>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

static long countdown = 0; // 0: nothing fails
static bool hasFired = false;

// Whether the allocation that `caller` asks for is the one to fail.
static bool mustFail(void *caller) {
  if (countdown <= 0)
    return false;
  Dl_info info;
  if (!dladdr(caller, &info) || !info.dli_fname ||
      (!std::strstr(info.dli_fname, "libmpcrt") && !std::strstr(info.dli_fname, "libstdc++")))
    return false;
  if (--countdown)
    return false;
  hasFired = true;
  return true;
}

extern "C" void *__libc_malloc(size_t);
extern "C" void *__libc_calloc(size_t, size_t);
extern "C" void *malloc(size_t bytes) {
  return mustFail(__builtin_return_address(0)) ? nullptr : __libc_malloc(bytes);
}
extern "C" void *calloc(size_t count, size_t bytes) {
  return mustFail(__builtin_return_address(0)) ? nullptr : __libc_calloc(count, bytes);
}
extern "C" void *mmap(void *address, size_t bytes, int protection, int flags, int file,
                      off_t offset) {
  if (mustFail(__builtin_return_address(0))) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return reinterpret_cast<void *>(
      syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}
void *operator new(size_t bytes) {
  void *memory = mustFail(__builtin_return_address(0)) ? nullptr : __libc_malloc(bytes);
  if (!memory)
    throw std::bad_alloc();
  return memory;
}
void *operator new(size_t bytes, const std::nothrow_t &) noexcept {
  return mustFail(__builtin_return_address(0)) ? nullptr : __libc_malloc(bytes);
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

// One life of a model. The status of the first call that failed; `result` has a prediction.
static mpc_rt_status_t live(const char *path, const char *file, std::string &result) {
  constexpr int64_t batch = 6;
  mpc_rt_model_t *model = nullptr;
  mpc_rt_context_t *context = nullptr;
  mpc_rt_context_options_t options;
  mpc_rt_context_options_init(&options);
  options.threads = 1;
  mpc_rt_status_t status = mpc_rt_model_load(path, &model);
  if (!status)
    status = mpc_rt_context_create(model, &options, &context);
  if (!status)
    status = mpc_rt_context_load_initial(context, nullptr);
  for (const char *name : {"predict", "train_step"}) {
    uint32_t index = 0;
    if (!status)
      status = mpc_rt_find_entry(model, name, &index);
    if (status)
      break;
    const mpc_rt_entry_info_t &entry = mpc_rt_model_executable(model)->entries[index];
    const long before = countdown;
    countdown = 0; // the test's own memory
    generic::Buffers inputs(entry.inputs, entry.input_count, batch),
        outputs(entry.outputs, entry.output_count, batch);
    countdown = before;
    status =
        mpc_rt_context_run(context, index, inputs.pointers.data(), outputs.pointers.data(), batch);
    if (!status && std::strcmp(name, "predict") == 0) {
      countdown = 0;
      result.assign(outputs.memory[0].begin(), outputs.memory[0].end());
      countdown = before;
    }
  }
  if (!status)
    status = mpc_rt_context_save(context, file);
  if (!status)
    status = mpc_rt_context_load(context, file);
  mpc_rt_context_release(context);
  mpc_rt_model_release(model);
  return status;
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  std::string expected, result;
  if (live(argv[1], argv[2], expected)) {
    std::fprintf(stderr, "without failures: %s\n", mpc_rt_last_error());
    return 1;
  }
  int failed = 0, survived = 0, wrong = 0;
  for (long n = 1;; ++n) {
    countdown = n;
    hasFired = false;
    const mpc_rt_status_t status = live(argv[1], argv[2], result);
    countdown = 0;
    if (!hasFired) {
      if (status) {
        std::fprintf(stderr, "after %ld failures: %s\n", n, mpc_rt_last_error());
        return 1;
      }
      break;
    }
    failed += status != 0;
    survived += status == 0;
    if (status && status != MPC_RT_RESOURCE_EXHAUSTED) {
      std::fprintf(stderr, "allocation %ld: status %d: %s\n", n, status, mpc_rt_last_error());
      ++wrong;
    }
    if ((n % 16 == 0 && live(argv[1], argv[2], result)) || (!status && result != expected)) {
      std::fprintf(stderr, "after the failure of allocation %ld: %s\n", n, mpc_rt_last_error());
      return 1;
    }
  }
  std::printf("%d allocations failed, %d of them unnoticed\n", failed + survived, survived);
  return wrong != 0 || failed < 50;
}
