// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions with few filters, and gradients of inputs with few channels (transposed convolutions
// are such) as GEMM + col2im: one product multiplies each pixel of the source with all taps, and
// col2im adds each of its columns to the pixels whose windows have it. Products over windows have a
// vector of columns for each tap, which a few filters leave empty; here the pixels are the columns,
// and taps and filters the rows. Sums are float32 sums, whose order depends neither on the batch
// nor on the number of threads.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_GEMM_COL2IM_H
#define MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_GEMM_COL2IM_H

#include "runtime/base/memory.h"
#include "runtime/base/vector_kernels.h"
#include "runtime/drivers/convolution.h"
#include "runtime/drivers/cpu/convolve/col2im_axis.h"
#include "runtime/drivers/cpu/convolve/image_product.h"
#include "runtime/drivers/cpu/kernels/micro_kernel.h"
#include "runtime/threads/thread_team.h"

#include <array>
#include <vector>

namespace mpc::rt {

class GemmCol2im final : public ImageProduct {
public:
  // Whether the kernel packs lhs and reads the filter where it lies, and all pixels of lhs meet all
  // taps, unless these are in padding.
  static bool multiplies(const MicroKernel &kernel, const Convolution &shape);

  GemmCol2im(ThreadTeam &team, const VectorKernels &vectors, const MicroKernel &kernel,
             const Convolution &shape);

  const void *filterLayout() const override { return &micro; }
  uint64_t filterBytes() const override;
  void packFilter(const void *filter, void *to) const override;
  void run(const void *lhs, const void *packedFilter, const float *bias,
           const ConvolutionResult &result, int64_t samples) override;
  uint64_t bytes() const override;

private:
  // Results of one sample, [first, last) along each dimension.
  struct Band {
    Convolution::Extents first, last;
    int64_t extent(size_t d) const { return last[d] - first[d]; }
  };
  // The memory of one thread. Results along a row that lie `stride` apart are neighbours among the
  // sums, so that those of a tap are added to each other as vectors.
  struct Workspace {
    Buffer panels;   // of a chunk of pixels
    Buffer products; // [taps, columns, pixels of a chunk]
    Buffer sums;     // [columns, rows of a band, phases, results of a phase]
    Buffer row;      // of results
  };

  int64_t bandsFor(int64_t samples) const;
  Band bandAt(int64_t index, int64_t bands) const;
  int64_t sumsOf(const Band &band) const; // of one column
  void runBand(const Band &band, const uint8_t *lhs, const uint8_t *filter, const float *bias,
               uint8_t *out, Workspace &own) const;
  // Multiplies the pixels [first, first + count) of a sample with all taps.
  void multiply(const uint8_t *lhs, int64_t first, int64_t count, const uint8_t *filter,
                Workspace &own) const;
  // Adds up their products, row by row of the innermost dimension.
  void col2im(int64_t first, int64_t count, const Band &band, Workspace &own) const;
  // The sources [first, last) of a row by the taps of a row of the filter, whose products begin at
  // `products`.
  void col2imRow(const float *products, int64_t first, int64_t last, const Band &band,
                 float *sums) const;
  void finish(const Band &band, const float *bias, uint8_t *out, Workspace &own) const;

  ThreadTeam &team;
  const VectorKernels &vectors;
  const Convolution shape;
  const MicroKernel &micro;
  const PieceKernel &kernel;
  const int64_t depth, columns, taps;   // k, columns of a pixel's result
  const int64_t steps, elementBytes;    // of k, of what the kernel multiplies
  const std::array<Col2imAxis, 3> axes; // of lhs and the results
  const size_t cut; // dimension that bands cut: the outermost one that has more than one pixel
  const int64_t chunk, phaseLength;
  std::vector<float> biasRow;
  std::vector<Workspace> workspaces; // a thread's own
};

} // namespace mpc::rt

#endif
