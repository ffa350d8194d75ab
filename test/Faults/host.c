/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A program that loads a model, trains a step, saves its state, loads it, and predicts, all by the
 * C ABI:
 *
 *   host LIB STATE
 *
 * Built with MPC_FAULT_LINKED it has the model `net` in it, and LIB is not looked at.
 *
 * Exit status 0: all succeeded. 1: a call failed, and its message stands on stderr; then all is
 * done again from the start, which must succeed when one fault alone was injected. Anything else is
 * a fault of the library, which may neither exit nor abort: atexit() says so. */
#ifdef MPC_FAULT_LINKED
#include "net.h"
#else
#include "mpc-rt/training.h"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BATCH = 4, MOST = 64, FLOATS = 4096 };

static int is_done;
static void check_exit(void) {
  if (!is_done) {
    fputs("the library ended the process\n", stderr);
    _exit(99);
  }
}

/* Where a failed call is told about. */
static int failed(const char *call, mpc_rt_status_t status) {
  fprintf(stderr, "error: %s: status %d: %s\n", call, (int)status, mpc_rt_last_error());
  return 1;
}

static float inputs[MOST][FLOATS], outputs[MOST][FLOATS];

static int run(mpc_rt_context_t *context, const char *name) {
  const mpc_rt_model_t *model = mpc_rt_context_model(context);
  const void *from[MOST];
  void *to[MOST];
  uint32_t entry, i;
  mpc_rt_status_t status = mpc_rt_find_entry(model, name, &entry);
  if (status)
    return failed("find_entry", status);
  for (i = 0; i < MOST; ++i) {
    from[i] = inputs[i];
    to[i] = outputs[i];
  }
  status = mpc_rt_context_run(context, entry, from, to, BATCH);
  return status ? failed(name, status) : 0;
}

static int use(mpc_rt_context_t *context, const char *state) {
  mpc_rt_status_t status;
  int32_t loaded;
  if ((status = mpc_rt_context_load_initial(context, &loaded)))
    return failed("load_initial", status);
  if (run(context, "train_step"))
    return 1;
  if ((status = mpc_rt_context_save(context, state)))
    return failed("save", status);
  if ((status = mpc_rt_context_load(context, state)))
    return failed("load", status);
  return run(context, "predict");
}

static int all(const char *library, const char *state) {
  mpc_rt_model_t *model;
  mpc_rt_context_t *context;
  mpc_rt_context_options_t options;
#ifdef MPC_FAULT_LINKED
  mpc_rt_status_t status =
      mpc_rt_model_from_executable(net_executable_query(MPC_RT_ABI_VERSION), &model);
#else
  mpc_rt_status_t status = mpc_rt_model_load(library, &model);
#endif
  int result;
  if (status)
    return failed("model_load", status);
  mpc_rt_context_options_init(&options);
  options.threads = 2;
  status = mpc_rt_context_create(model, &options, &context);
  mpc_rt_model_release(model);
  if (status)
    return failed("context_create", status);
  result = use(context, state);
  mpc_rt_context_release(context);
  return result;
}

int main(int argc, char **argv) {
  const char *fault = getenv("MPC_FAULT");
  int result;
  if (argc != 3)
    return 2;
  atexit(check_exit);
  result = all(argv[1], argv[2]);
  /* One fault is over. */
  if (result && fault && !strchr(fault, '+') && all(argv[1], argv[2])) {
    fputs("a failure has spoiled what comes after it\n", stderr);
    result = 98;
  }
  is_done = 1;
  return result;
}
