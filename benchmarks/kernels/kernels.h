// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The benchmarks of mpc-benchmark-kernels; each function registers some with Google Benchmark.
#ifndef MPC_BENCHMARKS_KERNELS_KERNELS_H
#define MPC_BENCHMARKS_KERNELS_KERNELS_H

#include <string>
#include <vector>

namespace mpc::benchmarks {

/// Products of the runtime, DTYPE[/kept]/BATCHxMxNxK[tl][tr] each: everything that a step pays for
/// one, packing and rounding of the result included. tl, tr: lhs or rhs is stored transposed; kept:
/// weights that do not change, packed before. Named product/SPECIFICATION/WAY, where WAY is onednn,
/// own (the micro-kernel whether or not it is used) or mpc (what the runtime chooses; the label
/// says which). `isa`: mpc_rt_isa_t, of which the CPU has at least as much. Throws
/// std::invalid_argument.
void registerProducts(const std::vector<std::string> &specifications, int isa);

/// Convolutions of the runtime, DTYPE[/kept]/DIRECTION/SHAPE each, where DIRECTION is forward,
/// input_gradient or filter_gradient and SHAPE, of the forward convolution,
/// BATCHxROWSxCOLUMNSxCHANNELS-ROWSxCOLUMNSxFILTERS[sSTRIDE][gGROUPS], padded as Keras's "same".
/// Named convolution/SPECIFICATION/WAY, where WAY is onednn, own (the micro-kernel), depthwise or
/// mpc (what the runtime chooses; the label says which); ways that do not have the shape end with
/// an error of their own. Throws std::invalid_argument.
void registerConvolutions(const std::vector<std::string> &specifications, int isa);

/// Attention of the runtime, DTYPE[/gradient]/BATCHxTARGETSxSOURCESxHEADSxWIDTH[c] each; c: causal,
/// whose flops count as if it were not. Named attention/SPECIFICATION. Throws
/// std::invalid_argument.
void registerAttentions(const std::vector<std::string> &specifications, int isa);

/// oneDNN alone, f32/MxKxN or bf16/MxKxN each, in layouts of its own choice, so that no copy or
/// transposition is in the figure. Named matmul/SPECIFICATION. Throws std::invalid_argument.
void registerMatmuls(const std::vector<std::string> &specifications);

/// Ceilings that no step can beat on this CPU, on all of its cores together: triad (bytes per
/// second) and peak/KERNEL, the micro-kernels up to `isa` on operands in the first-level cache
/// (flops per second).
void registerCeilings(int isa);

} // namespace mpc::benchmarks

#endif
