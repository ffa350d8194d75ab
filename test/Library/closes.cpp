// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// closes LIBMPCRT FOLDER: a program that opens libmpcrt, computes in two threads, closes it while
// one of them and the runtime's own workers live, opens it again and goes on.
#include "mpc-rt/model.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <semaphore.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

const char *library, *folder;

// The first prediction of a library that is opened for it; `close` gives all of it back.
struct Use {
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  mpc_rt_model_t *model = nullptr;
  mpc_rt_context_t *context = nullptr;

  template <typename Function> Function *find(const char *name) {
    void *symbol = handle ? dlsym(handle, name) : nullptr;
    if (!symbol) {
      std::fprintf(stderr, "error: %s: %s\n", name, dlerror());
      std::exit(1);
    }
    return reinterpret_cast<Function *>(symbol);
  }
#define CALL(name) find<decltype(name)>(#name)

  float predict() {
    constexpr int64_t batch = 64;
    mpc_rt_context_options_t options = {};
    options.struct_size = sizeof options;
    options.threads = 4;
    options.isa = -1;
    uint32_t entry = 0;
    if (!context && (CALL(mpc_rt_model_load)(folder, &model) ||
                     CALL(mpc_rt_context_create)(model, &options, &context)))
      std::exit(1);
    if (CALL(mpc_rt_find_entry)(model, "predict", &entry))
      std::exit(1);
    const auto &info = CALL(mpc_rt_model_executable)(model)->entries[entry];
    std::vector<float> x(static_cast<size_t>(batch * info.inputs[0].dims[1]), 0.5f);
    std::vector<float> y(static_cast<size_t>(batch * info.outputs[0].dims[1]));
    const void *inputs[] = {x.data()};
    void *outputs[] = {y.data()};
    if (CALL(mpc_rt_context_run)(context, entry, inputs, outputs, batch)) {
      std::fprintf(stderr, "error: %s\n", CALL(mpc_rt_last_error)());
      std::exit(1);
    }
    return y[0];
  }
  void close() {
    CALL(mpc_rt_context_release)(context);
    CALL(mpc_rt_model_release)(model);
    dlclose(handle);
  }
};

} // namespace

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  library = argv[1];
  folder = argv[2];
  alarm(120);
  sem_t computed, closed;
  sem_init(&computed, 0, 0);
  sem_init(&closed, 0, 0);
  float fromThread[2] = {};
  std::thread thread([&] {
    Use first;
    fromThread[0] = first.predict();
    first.close();
    sem_post(&computed);
    sem_wait(&closed); // this thread lives on; it has used OpenMP
    Use second;
    fromThread[1] = second.predict();
    second.close();
  });
  Use use;
  const float expected = use.predict();
  sem_wait(&computed);
  use.close();
  usleep(100000); // workers fall asleep, and would wake where no code is any more
  for (int i = 0; i < 20; ++i) {
    Use again;
    if (again.predict() != expected)
      return 1;
    again.close();
  }
  sem_post(&closed);
  thread.join();
  std::printf("%g %g %g\n", expected, fromThread[0], fromThread[1]);
  return fromThread[0] != expected || fromThread[1] != expected;
}
