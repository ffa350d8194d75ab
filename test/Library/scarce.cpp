// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process that the system grants no more memory, so that threads and allocations fail at one
// place after the other: each call returns a status, and nobody ends the process.
//   scarce MODEL ENTRY BATCH
// Each limit is one of a child process, which has made a context and not used it yet.
#include "generic.h"

#include <cstdio>
#include <cstdlib>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { exitedByLibrary = 77, succeeded = 0, refused = 1, unexpected = 2 };

static int runWithin(mpc_rt_model_t *model, const char *name, int64_t batch, long kibibytes) {
  mpc_rt_context_options_t options;
  mpc_rt_context_options_init(&options);
  options.threads = 2;
  mpc_rt_context_t *context = nullptr;
  uint32_t index = 0;
  if (mpc_rt_context_create(model, &options, &context) || mpc_rt_find_entry(model, name, &index))
    return unexpected;
  const mpc_rt_entry_info_t &entry = mpc_rt_model_executable(model)->entries[index];
  generic::Buffers inputs(entry.inputs, entry.input_count, batch),
      outputs(entry.outputs, entry.output_count, batch);
  // Threads that began with the context have begun: nobody is between a question and its answer.
  usleep(20000);
  long pages = 0;
  FILE *file = std::fopen("/proc/self/statm", "r");
  if (!file || std::fscanf(file, "%ld", &pages) != 1)
    return unexpected;
  std::fclose(file);
  const rlim_t bytes = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + kibibytes * 1024);
  const rlimit limit = {bytes, bytes};
  if (setrlimit(RLIMIT_AS, &limit))
    return unexpected;
  const mpc_rt_status_t status =
      mpc_rt_context_run(context, index, inputs.pointers.data(), outputs.pointers.data(), batch);
  if (status == MPC_RT_OK)
    return succeeded;
  return status == MPC_RT_RESOURCE_EXHAUSTED && *mpc_rt_last_error() ? refused : unexpected;
}

int main(int, char **arguments) {
  mpc_rt_model_t *model = nullptr;
  if (mpc_rt_model_load(arguments[1], &model))
    return 1;
  unsigned counts[2] = {};
  // Stacks have 8 MiB, and oneDNN takes some 60.
  for (long kibibytes = 0; kibibytes <= 128 << 10; kibibytes += kibibytes < 512        ? 16
                                                                : kibibytes < 64 << 10 ? 512
                                                                                       : 4096) {
    const pid_t child = fork();
    if (child == 0) {
      std::atexit([] { _exit(exitedByLibrary); });
      const int result = runWithin(model, arguments[2], std::atol(arguments[3]), kibibytes);
      _exit(result);
    }
    int status = 0;
    waitpid(child, &status, 0);
    const int result = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    if (result != succeeded && result != refused) {
      std::printf("%ld KiB: %d\n", kibibytes, result);
      return 1;
    }
    ++counts[result];
  }
  std::printf("%u calls succeeded, %u were refused\n", counts[0], counts[1]);
  return counts[0] && counts[1] ? 0 : 1;
}
