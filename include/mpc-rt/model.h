/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Loading and running compiled models.
 *
 * A model is immutable and may be shared by threads. A context holds everything that changes
 * (variables, scratch memory, packed weights) and is used by one thread at a time; any number of
 * contexts share a model. No function prints, exits or throws; each failing one returns a status
 * code and leaves a message for mpc_rt_last_error(). */
#ifndef MPC_RT_MODEL_H
#define MPC_RT_MODEL_H

#include "mpc-rt/executable.h"
#include "mpc-rt/status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mpc_rt_model_t mpc_rt_model_t;
typedef struct mpc_rt_context_t mpc_rt_context_t;

/* "0.1.0" */
MPC_RT_API const char *mpc_rt_version(void);
MPC_RT_API uint32_t mpc_rt_abi_version(void);

/* Bytes of one element; 0 for an unknown dtype. */
MPC_RT_API size_t mpc_rt_dtype_size(mpc_rt_dtype_t dtype);
/* Keras's name ("bfloat16"); "unknown" for an unknown dtype. */
MPC_RT_API const char *mpc_rt_dtype_name(mpc_rt_dtype_t dtype);

/* ---- Model ------------------------------------------------------------------------------------
 */

/* `path`: a compiled library libNAME.so, a folder that holds exactly one lib*.so, or the archive of
 * `mpcc --emit=archive`, whose library is loaded from memory (UNAVAILABLE where the system grants
 * no memory file) and whose weights are mapped where they lie. NOT_FOUND: no such file, or none or
 * several libraries in the folder. FAILED_PRECONDITION: not a compiled model, or of another ABI
 * version. DATA_LOSS: a damaged file, or tables that contradict themselves. On success *model is
 * the caller's, who gives it back with mpc_rt_model_release; null otherwise. */
MPC_RT_API mpc_rt_status_t mpc_rt_model_load(const char *path, mpc_rt_model_t **model);

/* For models linked into the program. `executable` must outlive the model. */
MPC_RT_API mpc_rt_status_t mpc_rt_model_from_executable(const mpc_rt_executable_t *executable,
                                                        mpc_rt_model_t **model);

/* What a program was compiled for. Null members are not looked at. */
typedef struct mpc_rt_expectation_t {
  uint32_t struct_size; /* sizeof(mpc_rt_expectation_t) */
  uint32_t reserved;
  const char *model_name;
  const char *policy;      /* mpc_rt_executable_t.policy */
  const char *source_hash; /* mpc_rt_executable_t.source_hash */
  const char *header_hash; /* mpc_rt_executable_t.header_hash */
} mpc_rt_expectation_t;

/* FAILED_PRECONDITION, with both values, when the model is not what the program was compiled for:
 * another model, policy, source, or one whose entries or variables differ. */
MPC_RT_API mpc_rt_status_t mpc_rt_model_expect(const mpc_rt_model_t *model,
                                               const mpc_rt_expectation_t *expected);

/* Contexts keep their model alive: the order of releases does not matter. Null is allowed. */
MPC_RT_API void mpc_rt_model_release(mpc_rt_model_t *model);

/* The tables: names, dtypes, shapes, roles, entries, metrics. Valid until the model and all its
 * contexts are released. */
MPC_RT_API const mpc_rt_executable_t *mpc_rt_model_executable(const mpc_rt_model_t *model);

/* Whether NAME.safetensors beside the library still has the SHA-256 that the manifest says; OK also
 * for models without such a file. Reads all of it, about 5 ms for each 10 MB. DATA_LOSS: it has
 * not; NOT_FOUND: no such file. With MPC_RT_CHECKS=1 in the environment
 * mpc_rt_context_load_initial, and mpc_rt_context_load of that file, do the same first. */
MPC_RT_API mpc_rt_status_t mpc_rt_model_verify_weights(const mpc_rt_model_t *model);

/* The absolute path of the library or the archive when it was loaded; "" for a linked model. */
MPC_RT_API const char *mpc_rt_model_path(const mpc_rt_model_t *model);

/* Position of an entry ("predict", "evaluate", "gradients", "train_step") or of a variable by path.
 * NOT_FOUND names what exists. */
MPC_RT_API mpc_rt_status_t mpc_rt_find_entry(const mpc_rt_model_t *model, const char *name,
                                             uint32_t *entry);
MPC_RT_API mpc_rt_status_t mpc_rt_find_variable(const mpc_rt_model_t *model, const char *name,
                                                uint32_t *variable);

/* ---- Context ----------------------------------------------------------------------------------
 */

/* Where memory of the host comes from. Called by the threads that call the runtime, by none of its
 * own; neither function may throw or call the runtime. */
typedef struct mpc_rt_allocator_t {
  uint32_t struct_size; /* sizeof(mpc_rt_allocator_t) */
  uint32_t reserved;
  /* At least 1 byte at a multiple of `alignment`, a power of two; any content. Null: there is none.
   */
  void *(*allocate)(size_t bytes, size_t alignment, void *user);
  /* Takes back what `allocate` gave, with the bytes and the alignment of that call. */
  void (*release)(void *memory, size_t bytes, size_t alignment, void *user);
  void *user;
} mpc_rt_allocator_t;

typedef struct mpc_rt_context_options_t {
  uint32_t struct_size; /* sizeof(mpc_rt_context_options_t) */
  uint32_t threads;     /* 0 = as many as the process has CPUs */
  const char *device;   /* null = "cpu"; "null" validates every call and computes nothing */
  int32_t isa;          /* mpc_rt_isa_t; -1 = the best that CPU and model have */
  uint32_t reserved;
  uint64_t seed; /* for the first mpc_rt_context_initialize, done on creation */
  /* From here on only where struct_size says so. */
  /* Of variables, scratch memory, gradients, and tensors that the context gives; null = the
   * system's. Copied; it has to work until the context and its tensors are released. Packed weights
   * and other memory of libraries stay the runtime's own. */
  const mpc_rt_allocator_t *allocator;
  /* Whose ranks compute with the samples of all of them, as by mpc_rt_context_set_communicator; it
   * has to work until the context is released. Null: one rank, without parts. */
  struct mpc_rt_communicator_t *communicator;
  /* Parts of a batch, as by mpc_rt_context_set_parts; 0: those of the model, where there is a
   * communicator. */
  uint32_t batch_parts;
  uint32_t reserved2;
} mpc_rt_context_options_t;

/* The defaults: all threads, "cpu", best ISA, seed 0, the system's memory, one rank. (A program
 * that was compiled with a header without `communicator` calls the symbol that ends in 2, one
 * without `allocator` that of the plain name; they fill in the fields before these only.) */
MPC_RT_API void mpc_rt_context_options_init(mpc_rt_context_options_t *options) __asm__(
    "mpc_rt_context_options_init_3");

/* Allocates every variable and sets it from its initializer (large ones when they are first wanted,
 * which changes no value). `options` may be null (defaults).
 * UNAVAILABLE: the device; FAILED_PRECONDITION: the model has no kernels for this CPU or ISA;
 * RESOURCE_EXHAUSTED: memory; INVALID_ARGUMENT: an allocator without functions, or one that gave
 * memory of another alignment; what the functions of `communicator` and `batch_parts` refuse. */
MPC_RT_API mpc_rt_status_t mpc_rt_context_create(mpc_rt_model_t *model,
                                                 const mpc_rt_context_options_t *options,
                                                 mpc_rt_context_t **context);
/* Tensors of mpc-rt/dlpack.h keep their context's memory alive. Null is allowed. */
MPC_RT_API void mpc_rt_context_release(mpc_rt_context_t *context);

MPC_RT_API const mpc_rt_model_t *mpc_rt_context_model(const mpc_rt_context_t *context);
MPC_RT_API uint32_t mpc_rt_context_threads(const mpc_rt_context_t *context);
MPC_RT_API int32_t mpc_rt_context_isa(const mpc_rt_context_t *context); /* mpc_rt_isa_t */
/* 1 if results are computed; 0 on the null device, whose outputs mean nothing. */
MPC_RT_API int32_t mpc_rt_context_computes(const mpc_rt_context_t *context);

/* Every variable from its initializer. Values depend on `seed` and the variable's stream alone, not
 * on the number of threads. Random states become {seed, 0}. RESOURCE_EXHAUSTED: no memory to draw
 * in. */
MPC_RT_API mpc_rt_status_t mpc_rt_context_initialize(mpc_rt_context_t *context, uint64_t seed);

/* ---- Variables --------------------------------------------------------------------------------
 */

/* The buffer of a variable, 64-byte aligned, row-major, `bytes` long (may be null). The address
 * stays the same; asking for it moves a mapped variable to the context's memory. After writing into
 * it call mpc_rt_context_variables_changed. Null if the index is out of range. */
MPC_RT_API void *mpc_rt_context_variable(mpc_rt_context_t *context, uint32_t variable,
                                         size_t *bytes);

/* Copies in or out. INVALID_ARGUMENT: no such variable, or `dtype` or `bytes` is not the
 * variable's; nothing is copied then. Setting a trainable variable refreshes its shadow; shadows
 * themselves cannot be set (INVALID_ARGUMENT). */
MPC_RT_API mpc_rt_status_t mpc_rt_context_set_variable(mpc_rt_context_t *context, uint32_t variable,
                                                       mpc_rt_dtype_t dtype, const void *data,
                                                       size_t bytes);
MPC_RT_API mpc_rt_status_t mpc_rt_context_get_variable(mpc_rt_context_t *context, uint32_t variable,
                                                       mpc_rt_dtype_t dtype, void *data,
                                                       size_t bytes);

/* Recomputes the shadows (round to nearest, ties to even) and forgets packed weights. To be called
 * after writing through mpc_rt_context_variable; runs do it themselves. Fails on a null context
 * (INVALID_ARGUMENT) or where a device does. */
MPC_RT_API mpc_rt_status_t mpc_rt_context_variables_changed(mpc_rt_context_t *context);

/* Variables that lie next to each other in memory, in the model's order, each 64-byte aligned:
 * TRAINABLE, each optimizer slot family, SHADOW. Null when the model has none of that role. */
MPC_RT_API void *mpc_rt_context_role_block(mpc_rt_context_t *context, uint32_t role, size_t *bytes);

/* ---- Running ----------------------------------------------------------------------------------
 */

/* Runs an entry; `inputs` and `outputs` as the entry's tables, row-major, host memory, any
 * alignment that the dtype needs. `batch` is the value of MPC_RT_DYNAMIC: at least 1, and
 * for "predict" at least 0. INVALID_ARGUMENT otherwise; nothing has changed then. Only null
 * pointers and the batch are checked. Denormals are flushed inside, the caller's floating-point
 * control word comes back unchanged. */
MPC_RT_API mpc_rt_status_t mpc_rt_context_run(mpc_rt_context_t *context, uint32_t entry,
                                              const void *const *inputs, void *const *outputs,
                                              int64_t batch);

/* Writes the inputs of an entry to `inputs`, places in memory of the runtime, in the order of the
 * entry's table. Called within mpc_rt_context_run; calls nothing of the same context. */
typedef void (*mpc_rt_fill_inputs_fn)(void *user, void *const *inputs);

/* Fetches the inputs of a later call while a call computes: the next run of any entry calls `fill`
 * once, when the device is busy, and copies what it wrote. A run of `entry` with this batch and
 * with `inputs` null then takes them. The last request counts; inputs that no run takes are
 * forgotten with the next one. UNAVAILABLE on devices that compute on memory of the host, where
 * there is nothing to copy: run with inputs there. */
MPC_RT_API mpc_rt_status_t mpc_rt_context_prefetch(mpc_rt_context_t *context, uint32_t entry,
                                                   int64_t batch, mpc_rt_fill_inputs_fn fill,
                                                   void *user);

/* A typed view of caller-owned memory, row-major and dense. */
typedef struct mpc_rt_buffer_t {
  void *data; /* may be null when empty */
  mpc_rt_dtype_t dtype;
  uint32_t rank;
  int64_t dims[MPC_RT_MAX_RANK];
} mpc_rt_buffer_t;

/* The same with everything checked first: counts, dtypes, ranks, extents, one common batch, and
 * inputs against their index_limit. The message names the input, row, value and limit. */
MPC_RT_API mpc_rt_status_t mpc_rt_context_run_checked(mpc_rt_context_t *context, uint32_t entry,
                                                      const mpc_rt_buffer_t *inputs,
                                                      uint32_t input_count,
                                                      const mpc_rt_buffer_t *outputs,
                                                      uint32_t output_count);

/* ---- Metrics and memory -----------------------------------------------------------------------
 */

/* Zeroes every variable of role METRIC. */
MPC_RT_API mpc_rt_status_t mpc_rt_context_reset_metrics(mpc_rt_context_t *context);
/* The result in float32 as Keras prints it; a mean is 0 when nothing was counted. INVALID_ARGUMENT
 * for a metric whose result is a vector: run the entry "metric_results" for it. */
MPC_RT_API mpc_rt_status_t mpc_rt_context_metric(mpc_rt_context_t *context, uint32_t metric,
                                                 double *value);

typedef struct mpc_rt_memory_t {
  uint32_t struct_size; /* sizeof(mpc_rt_memory_t) */
  uint32_t reserved;
  uint64_t variable_bytes;        /* the variable arena */
  uint64_t arena_planned_bytes;   /* largest scratch need of the entries and batches run so far */
  uint64_t arena_allocated_bytes; /* scratch memory held now */
  uint64_t library_bytes;         /* packed weights, converted operands, library scratchpads */
} mpc_rt_memory_t;
MPC_RT_API mpc_rt_status_t mpc_rt_context_memory(const mpc_rt_context_t *context,
                                                 mpc_rt_memory_t *memory);

/* Says what mpc_rt_context_memory will report after a run of `entry` with `batch`. Takes the memory
 * now (its pages come when they are first used), computes nothing and changes no variable.
 * `library_bytes` is what is held now on a GPU; on the CPU it lacks the copies of integer weights,
 * which depend on their values. INVALID_ARGUMENT: no such entry, a negative batch, or
 * memory->struct_size is not set; RESOURCE_EXHAUSTED: there is not so much. */
MPC_RT_API mpc_rt_status_t mpc_rt_context_plan_memory(mpc_rt_context_t *context, uint32_t entry,
                                                      int64_t batch, mpc_rt_memory_t *memory);

/* What a context takes from its allocator, for host memory and any batch up to the one asked for:
 * the variables at once, the others when they are first needed. Each is one piece. */
typedef struct mpc_rt_workspace_t {
  uint32_t struct_size; /* set by the caller to sizeof(mpc_rt_workspace_t) */
  uint32_t reserved;
  uint64_t variable_bytes; /* variables of every role */
  uint64_t arena_bytes;    /* scratch memory of the entry that needs most */
  uint64_t kept_bytes;     /* what mpc_rt_context_forward keeps for backward */
  uint64_t gradient_bytes; /* the context's own gradients, where callers bring none */
} mpc_rt_workspace_t;
/* INVALID_ARGUMENT: a null argument, a struct_size that is not set, a negative batch, or one whose
 * sizes overflow. */
MPC_RT_API mpc_rt_status_t mpc_rt_model_workspace(const mpc_rt_model_t *model, int64_t batch,
                                                  mpc_rt_workspace_t *workspace);

/* Scratch bytes that a run of `entry` with `batch` needs; 0 if out of range. */
MPC_RT_API uint64_t mpc_rt_entry_arena_bytes(const mpc_rt_model_t *model, uint32_t entry,
                                             int64_t batch);

#ifdef __cplusplus
}
#endif
#endif
