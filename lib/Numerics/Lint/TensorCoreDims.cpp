// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Convolutions that Tensor Cores cannot take as they are.
#include "lib/Numerics/Lint/Rules.h"
#include "mpc/Transforms/TensorCores.h"

using namespace mlir;
using namespace mpc;

static void checkTensorCoreDims(const LintSubject &subject, LintReport &report) {
  if (subject.getDevice() != Device::cuda)
    return;
  for (ConvolutionOp convolution : subject.all<ConvolutionOp>()) {
    auto filter = tensorTypeOf(convolution.getFilter());
    if (!isNarrow(filter.getElementType()) || convolution.getGroups() != 1)
      continue;
    const int64_t step = tensorCoreMultiple(filter.getElementType());
    const int64_t channels = filter.getShape().drop_back().back(),
                  filters = filter.getShape().back();
    // Images have one to four channels; products are padded by mpc-pad-dims.
    if (channels > 4 && channels % step)
      report.tell(convolution.getLoc(), "its " + llvm::Twine(channels) +
                                            " channels are no multiple of " + llvm::Twine(step));
    if (filters % step)
      report.tell(convolution.getLoc(), "its " + llvm::Twine(filters) +
                                            " filters are no multiple of " + llvm::Twine(step));
  }
}

const LintRule mpc::kTensorCoreDimsRule = {
    "tensor-core-dims",
    "with `--target=cuda`: channels and filters of 16-bit convolutions that are no multiples of 8",
    "Tensor Cores read vectors of 16 bytes; such convolutions run on slower kernels",
    "make them multiples of 8",
    /*isAlwaysTold=*/false,
    checkTensorCoreDims,
};
