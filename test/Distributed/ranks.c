/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Run by mpirun: sums over the ranks of a job, whose bytes every rank prints the hash of; with
 * "hang RANK" that rank stops answering, with "die RANK" it is killed; with "time" it says how long
 * sums take. */
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

static int stop(mpc_rt_communicator_t *communicator) {
  fprintf(stderr, "stopped: %s\n", mpc_rt_last_error());
  fflush(stderr);
  mpc_rt_communicator_abort(communicator, 1);
  return 1;
}

/* Seconds of a sum of so many numbers on all ranks, the least of several. */
static int time_sums(mpc_rt_communicator_t *communicator) {
  static const size_t counts[] = {1, 64, 1024, 3000, 16384, 131072, 1048576};
  float *data = calloc(1048576, sizeof *data);
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
  const size_t counts[] = {1, 1000, 250000};
  float *data = malloc(250000 * sizeof *data);
  for (int round = 0; round != 3; ++round) {
    if (chosen && round == 1) {
      if (strcmp(argv[1], "die") == 0)
        raise(SIGKILL);
      sleep(1000);
    }
    uint32_t state = rank * 2654435761u + 1;
    for (size_t i = 0; i != counts[round]; ++i) {
      state = state * 1664525u + 1013904223u;
      data[i] = ldexpf((float)(int32_t)state, (int)(state % 40) - 40);
    }
    if (mpc_rt_communicator_all_reduce(communicator, MPC_RT_FLOAT32, MPC_RT_REDUCTION_SUM, data,
                                       counts[round]) != MPC_RT_OK)
      return stop(communicator);
    /* Every rank has the same bytes, says a maximum and a minimum of their hash. */
    int64_t most = (int64_t)(hash_of(data, counts[round] * sizeof *data) >> 1), least = most;
    if (mpc_rt_communicator_all_reduce(communicator, MPC_RT_INT64, MPC_RT_REDUCTION_MAX, &most,
                                       1) ||
        mpc_rt_communicator_all_reduce(communicator, MPC_RT_INT64, MPC_RT_REDUCTION_MIN, &least, 1))
      return stop(communicator);
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
