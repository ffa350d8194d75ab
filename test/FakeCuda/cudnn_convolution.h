// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph of cuDNN's look-alike as what it computes.
#ifndef MPC_TEST_FAKECUDA_CUDNN_CONVOLUTION_H
#define MPC_TEST_FAKECUDA_CUDNN_CONVOLUTION_H

#include "test/FakeCuda/cudnn_description.h"

namespace fake::dnn {

struct Tensor {
  int64_t id = 0, alignment = 0;
  int type = 0; // cudnnDataType_t
  bool isVirtual = false, isByValue = false;
  std::vector<int64_t> extents, strides; // samples or filters, channels, space

  // From the first element to the last.
  size_t bytes() const {
    int64_t last = 0;
    for (size_t d = 0; d < extents.size(); ++d)
      last += (extents[d] - 1) * strides[d];
    return static_cast<size_t>(last + 1) * (type == 1 ? 8 : type == 0 || type == 4 ? 4 : 2);
  }
};

struct Problem {
  int kind = 0; // of the convolution's operation
  Tensor image, filter, output, bias;
  Tensor last;                    // what the last operation writes
  const Tensor *result = nullptr; // &last, once read
  int mathType = -1;
  bool isFlipped = false, hasBias = false, hasRelu = false, keepsNaN = false;
  std::vector<int64_t> strides, dilations, low, high;

  int64_t groups() const { return image.extents[1] / filter.extents[1]; }
  // Both count those of one group.
  int64_t channels() const { return filter.extents[1]; }
  int64_t filters() const { return filter.extents[0] / groups(); }
};

Tensor readTensor(const Description &description);
// Whether no element lies between those of the tensor.
bool isDense(const Tensor &tensor);
// False for a graph that is none of a convolution with bias and relu.
bool readProblem(const Description &graph, Problem &problem);

} // namespace fake::dnn

#endif
