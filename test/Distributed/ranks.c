/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Run by mpirun: sums over the ranks of a job, whose bytes every rank prints the hash of; with
 * "hang RANK" that rank stops answering, with "die RANK" it is killed; with "leave RANK" it hangs,
 * and the others end by themselves; with "late RANK" it answers when the others have given up; with
 * "time" it says how long sums take. */
#include "mpc-rt/collectives.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t hash_of(const void *data, size_t bytes) {
  const unsigned char *at = data;
  uint64_t hash = 14695981039346656037ull;
  for (size_t i = 0; i != bytes; ++i)
    hash = (hash ^ at[i]) * 1099511628211ull;
  return hash;
}

/* Numbers of very different size, whose sum depends on the order. */
static float next_of(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return ldexpf((float)(int32_t)*state, (int)(*state % 40) - 40);
}

enum { most_ranks = 16 };

static void start_of(uint32_t size, uint32_t *states) {
  for (uint32_t rank = 0; rank != size; ++rank)
    states[rank] = rank * 2654435761u + 1;
}

/* Whether the sums are those of the one tree: ranks beyond a power of two are added to the first
 * ones, then neighbours, then their sums. */
static int is_tree(const float *sums, size_t count, uint32_t size) {
  uint32_t states[most_ranks], core = 1;
  float parts[most_ranks];
  while (core * 2 <= size)
    core *= 2;
  start_of(size, states);
  for (size_t i = 0; i != count; ++i) {
    for (uint32_t rank = 0; rank != size; ++rank)
      parts[rank] = next_of(&states[rank]);
    for (uint32_t rank = core; rank != size; ++rank)
      parts[rank - core] += parts[rank];
    for (uint32_t distance = 1; distance != core; distance *= 2)
      for (uint32_t rank = 0; rank != core; rank += 2 * distance)
        parts[rank] += parts[rank + distance];
    if (sums[i] != parts[0])
      return 0;
  }
  return 1;
}

static int stop(mpc_rt_communicator_t *communicator) {
  fprintf(stderr, "stopped: %s\n", mpc_rt_last_error());
  fflush(stderr);
  mpc_rt_communicator_abort(communicator, 1);
  return 1;
}

/* Seconds of a sum of so many numbers on all ranks, the least of several. */
static int time_sums(mpc_rt_communicator_t *communicator) {
  static const size_t counts[] = {1, 64, 1024, 3000, 16384, 131072, 1048576, 4194304, 16777216};
  float *data = calloc(16777216, sizeof *data);
  for (size_t c = 0; c != sizeof counts / sizeof *counts; ++c) {
    double least = 1e9;
    for (int round = 0; round != 20; ++round) {
      struct timespec begin, end;
      if (mpc_rt_communicator_barrier(communicator))
        return stop(communicator);
      clock_gettime(CLOCK_MONOTONIC, &begin);
      if (mpc_rt_communicator_all_reduce(communicator, MPC_RT_FLOAT32, MPC_RT_REDUCTION_SUM, data,
                                         counts[c]))
        return stop(communicator);
      clock_gettime(CLOCK_MONOTONIC, &end);
      const double taken =
          (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
      least = taken < least ? taken : least;
    }
    if (mpc_rt_communicator_rank(communicator) == 0)
      printf("time %zu numbers: %.3e s\n", counts[c], least);
  }
  free(data);
  mpc_rt_communicator_release(communicator);
  return 0;
}

/* The others give up, use their memory for something else, and go on waiting for the late rank by
 * another communicator. What it sends then must not come to that memory. */
static int be_late(mpc_rt_communicator_t *communicator, uint32_t late) {
  enum { count = 5000001 };
  const float own = 7;
  mpc_rt_communicator_t *other = NULL;
  mpc_rt_communicator_options_t options;
  mpc_rt_communicator_options_init(&options);
  options.timeout_seconds = 60;
  if (mpc_rt_communicator_create(&options, &other))
    return stop(communicator);
  float *data = calloc(count, sizeof *data);
  if (mpc_rt_communicator_rank(communicator) == late)
    sleep(10);
  /* UNAVAILABLE, but for the late rank where MPI takes all bytes at once. */
  (void)mpc_rt_communicator_broadcast(communicator, data, count * sizeof *data, late);
  for (size_t i = 0; i != count; ++i)
    data[i] = own;
  int32_t changed = 0;
  if (mpc_rt_communicator_barrier(other))
    return stop(other);
  for (size_t i = 0; i != count; ++i)
    changed += data[i] != own;
  if (mpc_rt_communicator_all_reduce(other, MPC_RT_INT32, MPC_RT_REDUCTION_SUM, &changed, 1))
    return stop(other);
  if (mpc_rt_communicator_rank(other) == 0) {
    printf("%d numbers came too late\n", changed);
    fflush(stdout);
  }
  mpc_rt_communicator_barrier(other);
  sleep(1); /* the launcher shows the line before it ends the job */
  mpc_rt_communicator_abort(other, 3);
  return 1;
}

int main(int argc, char **argv) {
  mpc_rt_communicator_t *communicator = NULL;
  if (mpc_rt_communicator_create(NULL, &communicator) != MPC_RT_OK) {
    fprintf(stderr, "%s\n", mpc_rt_last_error());
    return 1;
  }
  const uint32_t rank = mpc_rt_communicator_rank(communicator);
  const uint32_t size = mpc_rt_communicator_size(communicator);
  if (argc > 1 && strcmp(argv[1], "time") == 0)
    return time_sums(communicator);
  const int chosen = argc > 2 && (uint32_t)atoi(argv[2]) == rank;
  const int leaves = argc > 1 && strcmp(argv[1], "leave") == 0;
  if (argc > 2 && strcmp(argv[1], "late") == 0)
    return be_late(communicator, (uint32_t)atoi(argv[2]));
  if (size > most_ranks) {
    fprintf(stderr, "at most %d ranks\n", most_ranks);
    return 1;
  }
  /* The last one goes in pieces. */
  const size_t counts[] = {1, 1000, 250000, 5000001};
  float *data = malloc(5000001 * sizeof *data);
  for (int round = 0; round != 4; ++round) {
    if (chosen && round == 1) {
      if (strcmp(argv[1], "die") == 0)
        raise(SIGKILL);
      sleep(1000);
    }
    uint32_t states[most_ranks];
    start_of(size, states);
    for (size_t i = 0; i != counts[round]; ++i)
      data[i] = next_of(&states[rank]);
    if (mpc_rt_communicator_all_reduce(communicator, MPC_RT_FLOAT32, MPC_RT_REDUCTION_SUM, data,
                                       counts[round]) != MPC_RT_OK)
      return leaves ? 1 : stop(communicator);
    /* Every rank has the same bytes, says a maximum and a minimum of their hash. */
    int64_t most = (int64_t)(hash_of(data, counts[round] * sizeof *data) >> 1), least = most;
    if (mpc_rt_communicator_all_reduce(communicator, MPC_RT_INT64, MPC_RT_REDUCTION_MAX, &most,
                                       1) ||
        mpc_rt_communicator_all_reduce(communicator, MPC_RT_INT64, MPC_RT_REDUCTION_MIN, &least, 1))
      return stop(communicator);
    if (!is_tree(data, counts[round], size)) {
      fprintf(stderr, "rank %u has other sums of %zu numbers\n", rank, counts[round]);
      return 1;
    }
    if (rank == 0)
      printf("%u ranks, %zu numbers: %s %016llx\n", size, counts[round],
             most == least ? "equal" : "DIFFERENT", (unsigned long long)most);
  }
  uint32_t told = rank + 40;
  if (mpc_rt_communicator_broadcast(communicator, &told, sizeof told, size - 1) ||
      mpc_rt_communicator_barrier(communicator))
    return stop(communicator);
  if (told != size - 1 + 40) {
    fprintf(stderr, "rank %u was told %u\n", rank, told);
    return 1;
  }
  if (rank == 0)
    printf("done over %s\n", mpc_rt_communicator_driver(communicator));
  free(data);
  mpc_rt_communicator_release(communicator);
  return 0;
}
