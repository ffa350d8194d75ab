// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions of int8 into int32: exact, sums wrap around. A border is part of a copy of the
// image, so that every window is read alike.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_INTEGER_CONVOLUTION_H
#define MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_INTEGER_CONVOLUTION_H

#include "runtime/base/memory.h"
#include "runtime/drivers/convolution.h"
#include "runtime/drivers/cpu/convolve/image_product.h"
#include "runtime/drivers/cpu/kernels/int8_kernel.h"
#include "runtime/threads/thread_team.h"

#include <memory>
#include <vector>

namespace mpc::rt {

// The part of a sample that is computed at once: places of the result, all but those along one
// dimension whole, and what their windows read.
class BorderedImage {
public:
  BorderedImage(const Convolution &shape, const Int8Form &form, int64_t parts);

  // How many parts a sample has; fewer than were asked for where it has fewer places.
  int64_t parts() const { return count; }
  // The places of a part in the result, which follow each other.
  int64_t firstPlace(int64_t part) const { return begin(part) * placesBehind; }
  int64_t places(int64_t part) const { return (begin(part + 1) - begin(part)) * placesBehind; }
  // Bytes of the largest part, with some behind it that may be read.
  int64_t bytes() const;
  // Copies what a part reads of a sample, in the form.
  void copy(const int8_t *image, int64_t part, uint8_t *to) const;
  // Where the windows of the part's places begin in the copy.
  void findWindows(int64_t part, const uint8_t *copy, const uint8_t **windows) const;
  // Where the pieces of a window are that lie together, in bytes, and the numbers of one.
  const std::vector<int64_t> &pieceOffsets() const { return offsets; }
  int64_t pieceLength() const { return lengthOfPiece; }

private:
  int64_t begin(int64_t part) const { return shape.outputs[split] * part / count; }
  // The extent that windows of a part reach over along a dimension, and where that begins.
  int64_t reach(size_t d, int64_t part) const;
  int64_t first(size_t d, int64_t part) const;

  const Convolution shape;
  const Int8Form form;
  const int64_t pixelBytes;
  size_t split = 0; // the dimension that parts share
  int64_t count = 1, placesBehind = 1;
  Convolution::Extents widest{}; // extents of a copy
  std::vector<int64_t> offsets;
  int64_t lengthOfPiece = 0;
  std::vector<int8_t> border; // a row of a copy
};

// By a kernel that reads rows in pieces: nothing is gathered.
std::unique_ptr<ImageProduct> makeIntegerWindows(ThreadTeam &team, const Int8PieceKernel &kernel,
                                                 const Convolution &shape);
// By gathered windows, a row of a matrix each. Without a kernel by plain loops.
std::unique_ptr<ImageProduct> makeIntegerColumns(ThreadTeam &team, const Int8Kernel *kernel,
                                                 bool avx2, const Convolution &shape);

} // namespace mpc::rt

#endif
