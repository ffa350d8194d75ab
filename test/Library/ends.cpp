// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads end with the last context, and begin again with the next one.
//   ends MODEL BATCH
// Eight contexts of three threads each, twice, used by two threads of the program.
#include "generic.h"

#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <thread>
#include <unistd.h>

static int countThreads() {
  DIR *tasks = opendir("/proc/self/task");
  int count = -2; // . and ..
  while (tasks && readdir(tasks))
    ++count;
  if (tasks)
    closedir(tasks);
  return count;
}

static bool use(mpc_rt_model_t *model, int64_t batch) {
  mpc_rt_context_options_t options;
  mpc_rt_context_options_init(&options);
  options.threads = 3;
  mpc_rt_context_t *contexts[4] = {};
  std::string first;
  bool good = true;
  for (mpc_rt_context_t *&context : contexts) {
    std::string result;
    good = good && mpc_rt_context_create(model, &options, &context) == MPC_RT_OK &&
           generic::run(context, "predict", batch, result) == MPC_RT_OK;
    if (first.empty())
      first = result;
    good = good && result == first;
  }
  for (mpc_rt_context_t *context : contexts)
    mpc_rt_context_release(context);
  return good;
}

int main(int, char **arguments) {
  mpc_rt_model_t *model = nullptr;
  if (mpc_rt_model_load(arguments[1], &model))
    return 1;
  const int64_t batch = std::atol(arguments[2]);
  for (int round = 0; round < 2; ++round) {
    bool good[2] = {};
    std::thread other([&] { good[1] = use(model, batch); });
    good[0] = use(model, batch);
    other.join();
    if (!good[0] || !good[1]) {
      std::printf("wrong: %s\n", mpc_rt_last_error());
      return 1;
    }
    // libgomp's threads are detached, and end by themselves.
    for (int waited = 0; countThreads() != 1; ++waited) {
      if (waited == 200) {
        std::printf("%d threads are left\n", countThreads());
        return 1;
      }
      usleep(10000);
    }
  }
  mpc_rt_model_release(model);
  return 0;
}
