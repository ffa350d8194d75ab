// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* The contract between code that mpcc generates and libmpcrt: the only thing that both sides share.
 *
 * A compiled model exports `mpc_rt_executable_query`, which returns one immutable, statically
 * initialised mpc_rt_executable_t. Every table of it lives in the library's read-only data.
 *
 * Versioning (docs/abi.md): `struct_size` comes first in every struct that may grow, and fields are
 * only appended there. Structs without it are elements of tables and never grow. */
#ifndef MPC_RT_EXECUTABLE_H
#define MPC_RT_EXECUTABLE_H

#include "mpc-rt/abi_version.h"
#include "mpc-rt/dtype.h"
#include "mpc-rt/services.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPC_RT_MAX_RANK 8
#define MPC_RT_DYNAMIC (-1) /* a dimension that equals the batch of the call */

/* ---- Tables ------------------------------------------------------------------------------ */

typedef struct mpc_rt_tensor_info_t {
  const char *name; /* input, output, target or variable path; UTF-8 */
  mpc_rt_dtype_t dtype;
  uint32_t rank;
  const int64_t *dims; /* `rank` extents; MPC_RT_DYNAMIC only first */
  /* Values, of floating ones the whole parts, must lie in [0, index_limit); 0 = unrestricted.
   * Checked before a call. */
  int64_t index_limit;
} mpc_rt_tensor_info_t;

typedef enum mpc_rt_role_t {
  MPC_RT_ROLE_TRAINABLE = 0,     /* model variable that training updates */
  MPC_RT_ROLE_NON_TRAINABLE = 1, /* model variable that only the forward pass may change */
  MPC_RT_ROLE_OPTIMIZER = 2,     /* slots, iteration, learning_rate, and the loss-scale state */
  MPC_RT_ROLE_METRIC = 3,        /* running totals of the loss and of metrics; reset each epoch */
  MPC_RT_ROLE_RANDOM = 4,        /* int64[2]: Philox seed, counter (calls so far) */
  MPC_RT_ROLE_SHADOW = 5 /* low-precision copy of a trainable variable; derived, never saved */
} mpc_rt_role_t;

typedef enum mpc_rt_initializer_kind_t {
  MPC_RT_INIT_ZEROS = 0,
  MPC_RT_INIT_ONES = 1,
  MPC_RT_INIT_CONSTANT = 2,         /* a = value */
  MPC_RT_INIT_UNIFORM = 3,          /* [a, b) */
  MPC_RT_INIT_NORMAL = 4,           /* mean a, standard deviation b */
  MPC_RT_INIT_TRUNCATED_NORMAL = 5, /* the same, redrawn outside 2 standard deviations */
  MPC_RT_INIT_ORTHOGONAL = 6,       /* a = gain */
  MPC_RT_INIT_IDENTITY = 7,         /* a = gain */
  MPC_RT_INIT_UNIT_FORGET = 8,      /* a; 1 in the second quarter (LSTM: the forget gate's bias); */
                                    /* b != 0: of the second half (cuDNN's LSTM has two biases) */
  /* [frame, 1, bins], Keras's STFT initializer: a = mpc_rt_window_t, b = MPC_RT_WINDOW_* options */
  MPC_RT_INIT_FOURIER_COSINE = 9,
  MPC_RT_INIT_FOURIER_SINE = 10
} mpc_rt_initializer_kind_t;

/* Windows of scipy.signal.get_window. */
typedef enum mpc_rt_window_t {
  MPC_RT_WINDOW_NONE = 0,
  MPC_RT_WINDOW_BOXCAR = 1,
  MPC_RT_WINDOW_HANN = 2,
  MPC_RT_WINDOW_HAMMING = 3,
  MPC_RT_WINDOW_BLACKMAN = 4,
  MPC_RT_WINDOW_NUTTALL = 5,
  MPC_RT_WINDOW_BLACKMAN_HARRIS = 6,
  MPC_RT_WINDOW_FLATTOP = 7
} mpc_rt_window_t;

enum {
  MPC_RT_WINDOW_PERIODIC = 1, /* for spectra, not for filters */
  MPC_RT_WINDOW_DENSITY = 2,  /* divided by the root of the sum of its squares */
  MPC_RT_WINDOW_SPECTRUM = 4  /* divided by the sum of its magnitudes */
};

enum {
  /* Of a shadow: the entries that change no weights ("predict", "evaluate", "metric_results") read
   * it as the rhs of contractions alone, so that the runtime may have it made later, or never. */
  MPC_RT_VARIABLE_ONLY_CONTRACTED = 1,
  /* Updates touch the part of it alone that a rank owns (services->own_part), and nothing else
   * does: on several ranks each needs memory for its part only. */
  MPC_RT_VARIABLE_IN_PARTS = 2
};

typedef struct mpc_rt_variable_info_t {
  mpc_rt_tensor_info_t tensor; /* dims are all static */
  uint32_t role;               /* mpc_rt_role_t */
  uint32_t initializer;        /* mpc_rt_initializer_kind_t */
  double init_a, init_b;
  uint64_t init_stream; /* Philox stream of this variable, distinct per variable */
  /* Optimizer variables: Keras's short name in `tensor.name` (for example
   * "dense_kernel_momentum"). Shadows: index of the variable they copy, else -1. */
  int32_t shadow_of;
  uint32_t flags; /* MPC_RT_VARIABLE_* */
} mpc_rt_variable_info_t;

/* Runs an entry. 0 on success, else an mpc_rt_status_code_t. */
typedef int32_t (*mpc_rt_entry_fn)(const mpc_rt_call_t *call);

/* One compiled function of the model. Names: "predict", "evaluate", "gradients", "train_step",
 * the three stages of the latter ("train_forward", "train_backward", "train_apply", which go
 * together through mpc-rt/training.h only) and, for metrics of kind 2, "metric_results", which
 * takes no inputs and returns their results by name.
 * inputs:  model inputs, then (not for predict) targets "y0".., then optionally for each target the
 *          weights of the elements of its loss: "sample_weight", or with several "sample_weight0"..
 * outputs: predict "out0"..; evaluate and train_step "loss" (f32 scalar: this call's value,
 * regularisers included, unscaled), then train_step "learning_rate" (f32 scalar: the rate used) and
 * with loss scaling "finite" (bool scalar);
 *          gradients: "loss", "grad:<path>", "gradx:<input>", "out0".., "after:<path>". */
typedef struct mpc_rt_entry_info_t {
  const char *name;
  mpc_rt_entry_fn fn;
  uint32_t input_count, output_count;
  const mpc_rt_tensor_info_t *inputs;
  const mpc_rt_tensor_info_t *outputs;
  /* Scratch memory of one call: arena_fixed + batch * arena_per_sample bytes, 64-byte aligned. */
  uint64_t arena_fixed, arena_per_sample;
} mpc_rt_entry_info_t;

/* Results come from variables that runs add to; the first metric is the loss. */
typedef struct mpc_rt_metric_info_t {
  const char *name; /* as Keras prints it: "loss", "accuracy" */
  /* 0: divide_no_nan(total, count) of two states; 1: its square root; 2: the output of this name of
   * the entry "metric_results", a float32 scalar or vector */
  uint32_t kind;
  uint32_t state_count;
  const uint32_t *states; /* indices into the variables */
} mpc_rt_metric_info_t;

/* Names an instruction set that kernels are compiled for. The high byte of 16 bits is the
 * architecture (0: x86-64), the low one a level of it: a CPU that has a level has the lower ones of
 * its architecture. A runtime passes over tables of those that it does not know. */
typedef enum mpc_rt_isa_t {
#define MPC_RT_ISA(name, number, text) MPC_RT_ISA_##name = number,
#include "mpc-rt/isa.inc"
#undef MPC_RT_ISA
} mpc_rt_isa_t;

typedef struct mpc_rt_kernel_table_t {
  uint32_t isa; /* mpc_rt_isa_t; one table for each at most */
  uint32_t reserved;
  const mpc_rt_kernel_fn *kernels; /* the executable's kernel_count functions */
} mpc_rt_kernel_table_t;

/* What the table of tensors does not say of an input or output. */
typedef enum mpc_rt_form_kind_t {
  /* The extent that the table says of dimension `axis` is the largest. The one of a call is what
   * the output number `extent_output` of the same entry holds, an int64 scalar; places behind it
   * hold zeros. */
  MPC_RT_FORM_BOUNDED = 0,
  /* Elements are texts: the last dimension (`axis`) holds the code points of one, int32, which ends
   * in front of the first 0 or with the dimension. `extent_output` is -1. */
  MPC_RT_FORM_TEXT = 1
} mpc_rt_form_kind_t;

/* A tensor has at most one form of each kind. */
typedef struct mpc_rt_tensor_form_t {
  uint32_t entry, is_output; /* is_output: 1 for an output, 0 for an input */
  uint32_t tensor;           /* its number among these of the entry */
  uint32_t kind;             /* mpc_rt_form_kind_t */
  uint32_t axis;
  int32_t extent_output;
} mpc_rt_tensor_form_t;

/* mpc_rt_executable_t.flags: training reduces over the ranks of a job. */
#define MPC_RT_EXECUTABLE_DISTRIBUTED 1u

typedef struct mpc_rt_executable_t {
  uint32_t struct_size;
  uint32_t abi_version;
  const char *model_name;
  const char *compiler_version;
  const char *source_hash; /* of the model file, hex */
  const char *manifest;    /* NAME.json, verbatim */
  uint32_t variable_count, entry_count, metric_count, kernel_count;
  const mpc_rt_variable_info_t *variables;
  const mpc_rt_entry_info_t *entries;
  const mpc_rt_metric_info_t *metrics;
  const mpc_rt_kernel_table_t *kernel_tables; /* a model without kernels says its levels, too */
  uint32_t kernel_table_count;
  /* How much of mpc_rt_services_t and mpc_rt_call_t its code may read, in bytes: a runtime that has
   * less does not load it. */
  uint32_t services_size, call_size;
  uint32_t flags;                  /* of MPC_RT_EXECUTABLE_ */
  const char *const *kernel_names; /* kernel_count names, for profiles */
  const char *weights_hash;        /* of NAME.safetensors as written, hex; "" when none */
  /* From here on only where struct_size says so (MPC_RT_EXECUTABLE_HAS). */
  const char *policy;      /* of most layers with variables, Keras's name: "mixed_bfloat16" */
  const char *header_hash; /* of what NAME.h says about the model, hex */
  const void *weights;     /* NAME.safetensors, 64-byte aligned; null unless embedded */
  uint64_t weights_bytes;
  float loss_scale;     /* what losses are multiplied with when training starts; 1 = nothing */
  uint32_t batch_parts; /* of a batch on ranks; 0: it is one */
  float loss_scale_minimum, loss_scale_maximum; /* of a dynamic one; 0 and infinity: no bounds */
  const mpc_rt_tensor_form_t *forms;            /* of tensors that have one, in any order */
  uint32_t form_count, reserved;
} mpc_rt_executable_t;

/* Tables up to `weights_hash`, which every library has. */
#define MPC_RT_EXECUTABLE_MINIMUM offsetof(mpc_rt_executable_t, policy)
#define MPC_RT_EXECUTABLE_HAS(executable, field)                                                   \
  ((executable)->struct_size >= offsetof(mpc_rt_executable_t, field) + sizeof((executable)->field))

/* The form of this kind that an input (is_output 0) or output (1) of an entry has; null: none. */
static inline const mpc_rt_tensor_form_t *mpc_rt_find_form(const mpc_rt_executable_t *executable,
                                                           uint32_t entry, uint32_t is_output,
                                                           uint32_t tensor,
                                                           mpc_rt_form_kind_t kind) {
  uint32_t i;
  if (!MPC_RT_EXECUTABLE_HAS(executable, form_count))
    return NULL;
  for (i = 0; i < executable->form_count; ++i) {
    const mpc_rt_tensor_form_t *form = &executable->forms[i];
    if (form->entry == entry && form->is_output == is_output && form->tensor == tensor &&
        form->kind == (uint32_t)kind)
      return form;
  }
  return NULL;
}

/* Exported by every libNAME.so under this name; null if max_abi_version is too old for it. */
typedef const mpc_rt_executable_t *(*mpc_rt_executable_query_fn)(uint32_t max_abi_version);
#define MPC_RT_EXECUTABLE_QUERY_SYMBOL "mpc_rt_executable_query"

#ifdef __cplusplus
}
#endif
#endif
