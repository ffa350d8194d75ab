// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments of the kernels that the driver launches itself; their text, and the same structs, are
// in lib/Codegen/CUDA/LibraryKernels.cpp and AttentionKernels.cpp.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_LIBRARY_KERNELS_H
#define MPC_RUNTIME_DRIVERS_CUDA_LIBRARY_KERNELS_H

#include "runtime/drivers/attention.h"
#include "runtime/drivers/contraction.h"
#include "runtime/drivers/convolution.h"

namespace mpc::rt::cuda {

struct Product {
  int64_t batch, m, n, k;
  int32_t lhs, rhs, out, bias; // mpc_rt_dtype_t
  int32_t transposeLhs, transposeRhs, accumulate, relu;

  explicit Product(const Contraction &c)
      : batch(c.batch), m(c.m), n(c.n), k(c.k), lhs(static_cast<int32_t>(c.lhs)),
        rhs(static_cast<int32_t>(c.rhs)), out(static_cast<int32_t>(c.out)),
        bias(static_cast<int32_t>(c.bias)), transposeLhs(c.transposeLhs),
        transposeRhs(c.transposeRhs), accumulate(c.accumulate), relu(c.relu) {}
};
static_assert(sizeof(Product) == 64, "as in the kernels' text");

struct Window {
  int64_t batch, groups, channels, filters;
  Convolution::Extents images, kernel, outputs, strides, dilations, low;
  int32_t lhs, rhs, out, bias;
  int32_t direction, relu;

  explicit Window(const Convolution &c)
      : batch(c.batch), groups(c.groups), channels(c.channels), filters(c.filters),
        images(c.images), kernel(c.kernel), outputs(c.outputs), strides(c.strides),
        dilations(c.dilations), low(c.low), lhs(static_cast<int32_t>(c.lhs)),
        rhs(static_cast<int32_t>(c.rhs)), out(static_cast<int32_t>(c.out)),
        bias(static_cast<int32_t>(c.bias)), direction(c.direction), relu(c.relu) {}
};
static_assert(sizeof(Window) == 32 + 6 * 24 + 24, "as in the kernels' text");

struct ScoreMatrix {
  int64_t rows, targets, sources;
  double scale;
  int32_t dtype, causal;

  explicit ScoreMatrix(const Attention &a)
      : rows(a.rows()), targets(a.targets), sources(a.sources), scale(a.scale),
        dtype(static_cast<int32_t>(a.dtype)), causal(a.causal) {}
};
static_assert(sizeof(ScoreMatrix) == 40, "as Scores in the kernels' text");

// Tensors [samples, rows, columns, width] that become [samples, columns, rows, width].
struct Exchange {
  struct Part {
    const void *from;
    void *to;
    int64_t rows, columns, width, count; // elements; 0: no part
  };
  Part parts[4] = {};
};
static_assert(sizeof(Exchange) == 4 * 48, "as in the kernels' text");

// Matrices of bytes [rows, columns] that become [columns, length], a thread taking 16 rows of 4
// columns; `count` threads.
struct Turns {
  struct Part {
    const void *from;
    void *to;
    int64_t rows, columns, length, count; // 0: no part
  };
  Part parts[2] = {};
};
static_assert(sizeof(Turns) == 2 * 48, "as in the kernels' text");

// `count` numbers of float8 that become float16, the first 8 * packs of them 8 per thread.
struct Widenings {
  struct Part {
    const void *from;
    void *to;
    int64_t count, packs;
    int32_t isE5M2, unused;
    int64_t threads() const { return count - 7 * packs; }
  };
  Part parts[2] = {};
};
static_assert(sizeof(Widenings) == 2 * 40, "as in the kernels' text");

// Threads that take a row of scores together.
constexpr int64_t lanesOfWarp = 32;

} // namespace mpc::rt::cuda

#endif
