// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments of the kernels that the driver launches itself; their text is in lib/Codegen/CUDA.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_LIBRARY_KERNELS_H
#define MPC_RUNTIME_DRIVERS_CUDA_LIBRARY_KERNELS_H

#include "runtime/drivers/attention.h"
#include "runtime/drivers/contraction.h"
#include "runtime/drivers/convolution.h"

#include <algorithm>

namespace mpc::rt::cuda {

namespace arguments {
using index = int64_t;
#define MPC_CUDA_FIELD(type, name) type name;
#define MPC_CUDA_FIELDS(type, name, extent) type name[extent];
#define MPC_CUDA_STRUCT(name, members)                                                             \
  struct name {                                                                                    \
    members                                                                                        \
  };
#include "runtime/rules/cuda_kernels.inc"
#undef MPC_CUDA_FIELD
#undef MPC_CUDA_FIELDS
#undef MPC_CUDA_STRUCT
} // namespace arguments

using arguments::Exchange;
using arguments::ExchangePart;
using arguments::ProductArguments;
using arguments::ScoreArguments;
using arguments::SplitPart;
using arguments::SplitParts;
using arguments::Transposes;
using arguments::ValueArguments;
using arguments::ValueSums;
using arguments::Widening;
using arguments::Widenings;
using arguments::WindowArguments;

inline ProductArguments argumentsOf(const Contraction &c) {
  return {c.batch,
          c.m,
          c.n,
          c.k,
          static_cast<int>(c.lhs),
          static_cast<int>(c.rhs),
          static_cast<int>(c.out),
          static_cast<int>(c.bias),
          c.transposeLhs,
          c.transposeRhs,
          c.accumulate,
          c.relu};
}

inline WindowArguments argumentsOf(const Convolution &c) {
  WindowArguments window = {};
  window.batch = c.batch, window.groups = c.groups;
  window.channels = c.channels, window.filters = c.filters;
  const auto copy = [](const Convolution::Extents &from, int64_t (&to)[3]) {
    std::copy(from.begin(), from.end(), to);
  };
  copy(c.images, window.images), copy(c.kernel, window.kernel), copy(c.outputs, window.outputs);
  copy(c.strides, window.strides), copy(c.dilations, window.dilations), copy(c.low, window.low);
  window.lhs = static_cast<int>(c.lhs), window.rhs = static_cast<int>(c.rhs);
  window.out = static_cast<int>(c.out), window.bias = static_cast<int>(c.bias);
  window.direction = c.direction, window.relu = c.relu;
  return window;
}

inline ScoreArguments argumentsOf(const Attention &a) {
  return {a.rows(), a.targets, a.sources, a.scale, static_cast<int>(a.dtype), a.causal};
}

// Those of mpc_widened_operands_8.
inline int64_t threadsOf(const Widening &part) { return part.count - 7 * part.packs; }

// Threads that take a row of scores together.
constexpr int64_t lanesOfWarp = 32;

} // namespace mpc::rt::cuda

#endif
