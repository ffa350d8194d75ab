// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* The ranks of a job that train one model together, each a process of its own, and what they
 * compute together. A launcher (mpirun, srun) starts them; a process that none has started is rank
 * 0 of 1.
 *
 * Every rank calls the same functions in the same order. A rank's calls come from one thread at a
 * time. After a failure every later call fails: the job cannot go on, but may save what it has.
 * Nothing is received any more; but other ranks may still read what was being sent, so that it has
 * to stay as it is until mpc_rt_communicator_abort or the end of the process. */
#ifndef MPC_RT_COLLECTIVES_H
#define MPC_RT_COLLECTIVES_H

#include "mpc-rt/dtype.h"
#include "mpc-rt/model.h"
#include "mpc-rt/status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mpc_rt_communicator_t mpc_rt_communicator_t;

typedef enum mpc_rt_reduction_t {
  MPC_RT_REDUCTION_SUM = 0,
  MPC_RT_REDUCTION_MAX = 1,
  MPC_RT_REDUCTION_MIN = 2,
  MPC_RT_REDUCTION_SUM_BEFORE = 3 /* of the ranks before this one, in their order; 0 on the first */
} mpc_rt_reduction_t;

typedef struct mpc_rt_communicator_options_t {
  uint32_t struct_size; /* sizeof(mpc_rt_communicator_options_t) */
  uint32_t reserved;
  /* "mpi", "nccl" (messages between GPUs of ranks that MPI started), "self" (one rank); null: what
   * MPC_COLLECTIVES in the environment names, else "mpi" where a launcher of MPI jobs started the
   * process, else "self". */
  const char *driver;
  /* How long a rank waits for another one; 0: what MPC_COLLECTIVES_TIMEOUT in the environment says,
   * else 300. */
  double timeout_seconds;
  /* The address of an MPI_Comm, which is duplicated: the ranks are its. Its MPI is the one that the
   * process has loaded, or that MPC_MPI_LIBRARY names. Null: MPI_COMM_WORLD. */
  const void *mpi_communicator;
} mpc_rt_communicator_options_t;

MPC_RT_API void mpc_rt_communicator_options_init(mpc_rt_communicator_options_t *options);

/* `options` may be null (defaults). MPI is initialized unless the program has done it, and then
 * ended with the process. INVALID_ARGUMENT: no such driver; UNAVAILABLE: there is no MPI, or its
 * ranks do not answer; FAILED_PRECONDITION: MPI may not be called by this thread. */
MPC_RT_API mpc_rt_status_t mpc_rt_communicator_create(const mpc_rt_communicator_options_t *options,
                                                      mpc_rt_communicator_t **communicator);
/* Null is allowed. */
MPC_RT_API void mpc_rt_communicator_release(mpc_rt_communicator_t *communicator);

MPC_RT_API uint32_t mpc_rt_communicator_rank(const mpc_rt_communicator_t *communicator);
MPC_RT_API uint32_t mpc_rt_communicator_size(const mpc_rt_communicator_t *communicator);
/* "self", "Open MPI", "MPICH", "MPI ABI", "NCCL". */
MPC_RT_API const char *mpc_rt_communicator_driver(const mpc_rt_communicator_t *communicator);

/* `data`, `count` elements of float32, float64, int32 or int64, becomes its reduction over all
 * ranks: the same bytes on each. Of 2^k ranks a sum is the binary tree over the ranks in order. */
MPC_RT_API mpc_rt_status_t mpc_rt_communicator_all_reduce(mpc_rt_communicator_t *communicator,
                                                          mpc_rt_dtype_t dtype,
                                                          mpc_rt_reduction_t reduction, void *data,
                                                          size_t count);
/* The bytes of rank `root` go to all ranks. */
MPC_RT_API mpc_rt_status_t mpc_rt_communicator_broadcast(mpc_rt_communicator_t *communicator,
                                                         void *data, size_t bytes, uint32_t root);
/* Returns when every rank has called it. */
MPC_RT_API mpc_rt_status_t mpc_rt_communicator_barrier(mpc_rt_communicator_t *communicator);

/* From now on the entries of `context`, of a model that was compiled with --distributed, compute
 * with the samples of all ranks: each rank calls the same entry, with samples of its own. Null:
 * with its own alone. A model that was compiled with --deterministic-ranks=M gets M parts, as by
 * mpc_rt_context_set_parts. The communicator must outlive the context's last run. */
MPC_RT_API mpc_rt_status_t mpc_rt_context_set_communicator(mpc_rt_context_t *context,
                                                           mpc_rt_communicator_t *communicator);

/* The same with bytes that do not depend on the number of ranks. The batch of all ranks has `parts`
 * equal parts, a power of two, which the number of ranks divides; `communicator` may be null for
 * one rank. Of "train_step", "evaluate" and the training loop each part is computed on one thread
 * of its own with its rows alone, and what is summed over the batch is summed over parts by one
 * binary tree. Variables are updated once, on the threads of the context. A rank passes the rows
 * of its parts, in their order (mpc_rt_part_rows); where these are none, batch 0. 0 parts: ends
 * that. A backward pass has to follow a forward pass of the same parts. INVALID_ARGUMENT for
 * another number of parts; FAILED_PRECONDITION for a model that was compiled without --distributed
 * or for a batch of a fixed size, and for a device that computes nothing. On a GPU each part has
 * copies of all variables. */
MPC_RT_API mpc_rt_status_t mpc_rt_context_set_parts(mpc_rt_context_t *context,
                                                    mpc_rt_communicator_t *communicator,
                                                    uint32_t parts);

/* Of a model that was compiled with --shard=optimizer each of several ranks keeps its part alone of
 * what the optimizer has, and of float32 weights that layers read in 16 bits. All ranks call this,
 * and the variables are whole: on a rank that passes `keep` other than 0 until the next update, on
 * the others not at all. Before it reading such a variable, and saving, is FAILED_PRECONDITION. */
MPC_RT_API mpc_rt_status_t mpc_rt_context_gather_variables(mpc_rt_context_t *context, int32_t keep);

/* Which of `rows` rows are part `part` of `parts`, or rank `part` of so many ranks: halves of
 * halves, so that the parts of a rank are those of its rows. */
MPC_RT_API void mpc_rt_part_rows(int64_t rows, uint32_t part, uint32_t parts, int64_t *first,
                                 int64_t *count);

/* From now on it is recorded when this rank sends and when it waits. */
MPC_RT_API void mpc_rt_communicator_record(mpc_rt_communicator_t *communicator);
/* What was recorded, a line for each event: "message" (a reduction under way), "gather" (of parts
 * of variables) or "wait" (for one of them), begin and end in nanoseconds of the system's clock,
 * bytes; or "rounding", with in the place of bytes the billionths by which numbers changed that
 * went in bfloat16. Valid until the next call. */
MPC_RT_API const char *mpc_rt_communicator_events(mpc_rt_communicator_t *communicator);

/* Ends every rank of the job with this exit status. Returns where there is one rank only. */
MPC_RT_API void mpc_rt_communicator_abort(mpc_rt_communicator_t *communicator, int32_t code);

#ifdef __cplusplus
}
#endif
#endif
