/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * threads MODEL THREADS PREDICTIONS TEAM PAGES: predictions of many contexts over one model, at
 * once, each compared with what one context said before; TEAM is how many threads a context has
 * (default 1). Fails when memory grows after the first tenth by more than PAGES (default 256, 1
 * MiB: stacks and allocator arenas of threads). */
#include "net.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 64, BATCH = 4, FEATURES = 10, CLASSES = 4, KINDS = 16 };

static net_model_t *model;
static float inputs[KINDS][BATCH][FEATURES], expected[KINDS][BATCH][CLASSES];
static long predictions;
static uint32_t team = 1;

/* ThreadSanitizer remembers, and takes memory for it. */
#if defined(__SANITIZE_THREAD__)
enum { MEMORY_IS_OURS = 0 };
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
enum { MEMORY_IS_OURS = 0 };
#else
enum { MEMORY_IS_OURS = 1 };
#endif
#else
enum { MEMORY_IS_OURS = 1 };
#endif

static long resident_pages(void) {
  long size = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld %ld", &size, &resident) != 2)
    resident = -1;
  if (file)
    fclose(file);
  return resident;
}

static int predict(net_context_t *context, int kind, float result[BATCH][CLASSES]) {
  const void *from[] = {inputs[kind]};
  void *to[] = {result};
  return net_predict(context, from, to, BATCH);
}

/* Returns null, or what went wrong. */
static void *work(void *argument) {
  static const char *const wrong = "a result differs";
  const unsigned first = *(unsigned *)argument;
  mpc_rt_context_options_t options;
  net_context_t *context = NULL;
  const char *problem = NULL;
  mpc_rt_context_options_init(&options);
  options.threads = team;
  if (net_create(model, &options, &context))
    problem = "no context";
  for (long i = 0; i < predictions && !problem; ++i) {
    float result[BATCH][CLASSES];
    int kind = (int)((first + (unsigned long)i) % KINDS);
    if (predict(context, kind, result))
      problem = "a prediction failed";
    else if (memcmp(result, expected[kind], sizeof result) != 0)
      problem = wrong;
  }
  net_destroy(context);
  return (void *)problem;
}

static int run(unsigned threads) {
  pthread_t handles[MOST_THREADS];
  unsigned firsts[MOST_THREADS];
  int failed = 0;
  for (unsigned t = 0; t < threads; ++t) {
    firsts[t] = t;
    if (pthread_create(&handles[t], NULL, work, &firsts[t]))
      return 1;
  }
  for (unsigned t = 0; t < threads; ++t) {
    void *problem = NULL;
    pthread_join(handles[t], &problem);
    if (problem) {
      fprintf(stderr, "error: thread %u: %s\n", t, (const char *)problem);
      failed = 1;
    }
  }
  return failed;
}

int main(int argc, char **argv) {
  net_context_t *context = NULL;
  unsigned threads = argc > 2 ? (unsigned)atoi(argv[2]) : 8;
  long growth = 256, all = argc > 3 ? atol(argv[3]) : 10000;
  if (argc > 4)
    team = (uint32_t)atoi(argv[4]);
  if (argc > 5)
    growth = atol(argv[5]);
  if (argc < 2 || threads > MOST_THREADS || net_model_open(argv[1], &model) ||
      net_create(model, NULL, &context)) {
    fprintf(stderr, "error: %s\n", mpc_rt_last_error());
    return 1;
  }
  for (int kind = 0; kind < KINDS; ++kind)
    for (int i = 0; i < BATCH * FEATURES; ++i)
      inputs[kind][i / FEATURES][i % FEATURES] = (float)((kind * 7 + i * 3) % 11) / 11;
  for (int kind = 0; kind < KINDS; ++kind)
    if (predict(context, kind, expected[kind]))
      return 1;
  net_destroy(context);
  predictions = all / 10;
  if (run(threads))
    return 1;
  long before = resident_pages();
  predictions = all;
  if (run(threads))
    return 1;
  long after = resident_pages();
  printf("%u threads, %ld predictions each, %ld pages, then %ld\n", threads, all, before, after);
  net_model_destroy(model);
  return MEMORY_IS_OURS && after > before + growth;
}
