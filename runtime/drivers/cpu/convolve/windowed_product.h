// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pixels that meet the same taps as lanes of a micro-kernel. Nothing is gathered in memory.
// Sums are float32 sums, whose order depends neither on the batch nor on the number of threads.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_WINDOWED_PRODUCT_H
#define MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_WINDOWED_PRODUCT_H

#include "runtime/base/memory.h"
#include "runtime/base/vector_kernels.h"
#include "runtime/drivers/convolution.h"
#include "runtime/drivers/cpu/convolve/image_product.h"
#include "runtime/drivers/cpu/convolve/windows.h"
#include "runtime/drivers/cpu/kernels/micro_kernel.h"
#include "runtime/threads/thread_team.h"

#include <vector>

namespace mpc::rt {

class WindowedProduct final : public ImageProduct {
public:
  // Whether the kernel reads lhs, of the dtype that it packs, where it lies.
  static bool multiplies(const MicroKernel &kernel, const Convolution &shape);

  WindowedProduct(ThreadTeam &team, const VectorKernels &vectors, const MicroKernel &kernel,
                  const Convolution &shape);

  const void *filterLayout() const override;
  uint64_t filterBytes() const override;
  void packFilter(const void *filter, void *to) const override;
  void run(const void *lhs, const void *packedFilter, const float *bias,
           const ConvolutionResult &result, int64_t samples) override;
  uint64_t bytes() const override;

private:
  // The memory of one thread, which computes class after class: where lanes start, and the rows of
  // the result that they are.
  struct Workspace {
    std::vector<const uint8_t *> lanes;
    std::vector<int64_t> rows;
    // The samples whose lanes these are, which one call after the other may ask for.
    const uint8_t *lhs = nullptr;
    int64_t first = 0, samples = 0;
    std::vector<Piece> pieces;
    Buffer copies; // of the samples' images, where `copies`
  };
  // Pixels that meet the same taps.
  struct Class {
    std::array<const WindowClass *, 3> along;
    struct Tap {
      int64_t lhs, rhs; // bytes from where a lane starts, and from where the filter does
      int64_t steps;    // of the kernel, also of taps that lie behind it in both operands
    };
    std::vector<Tap> taps;
    int64_t pixels; // of one sample
  };
  void makeClasses();
  // Where all images would begin if those of these samples, which are copied, were among them.
  const uint8_t *copy(const void *lhs, int64_t first, int64_t samples, Workspace &own) const;
  void addTap(const Class::Tap &tap, std::vector<Class::Tap> &taps) const;
  // All classes of so many samples.
  void collect(const uint8_t *lhs, int64_t first, int64_t samples, Workspace &own) const;
  void collect(const Class &windows, const uint8_t *lhs, int64_t first, int64_t samples,
               Workspace &own) const;
  // Pixels that meet nothing, of a strided gradient most of them.
  bool isZero(const Class &windows) const { return windows.taps.empty() && !shape.hasBias; }
  void fillZeros(const Workspace &own, int64_t begin, int64_t end, int64_t firstPanel,
                 int64_t lastPanel, void *out) const;
  // A panel of the filter by the lanes [begin, end), which are of one class.
  void multiply(const Class &windows, int64_t panel, Workspace &own, int64_t begin, int64_t end,
                const uint8_t *filter, const float *bias, void *out) const;

  ThreadTeam &team;
  const VectorKernels &vectors;
  const Convolution shape;
  const MicroKernel &micro;
  const PieceKernel &kernel;
  const int64_t depth, columns;            // k of a tap, columns of the result
  const int64_t panels, steps, panelBytes; // of a tap
  const bool copies;                       // images are copied, for PieceKernel::multiplyCopies
  const int64_t lhsBytes;                  // of an element as it is read
  // Whether taps lie together in a panel of the filter; bytes from one tap, and panel, to the next.
  const bool joins;
  const int64_t tapBytes, nextPanelBytes;
  const Convolution::Extents sources, results;
  std::array<std::vector<WindowClass>, 3> along;
  std::vector<Class> classes;
  std::vector<Workspace> workspaces; // a thread's own
};

} // namespace mpc::rt

#endif
