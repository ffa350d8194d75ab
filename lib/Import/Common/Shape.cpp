// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Common/Shape.h"

#include "llvm/ADT/STLExtras.h"

std::string mpc::printShape(llvm::ArrayRef<int64_t> shape) {
  std::string text = "(";
  for (const auto &[axis, extent] : llvm::enumerate(shape))
    text += (axis ? ", " : "") + (extent < 0 ? "None" : std::to_string(extent));
  return text + ")";
}
