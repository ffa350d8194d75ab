// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gelu behind a product, on memory of the host.
#include "runtime/drivers/gelu.h"
#include "runtime/base/element.h"

namespace mpc::rt {

void applyGelu(const Contraction &shape, const GeluArguments &gelu, void *out, int64_t begin,
               int64_t end) noexcept {
  const void *results = gelu.kept ? gelu.kept : out;
  for (int64_t i = begin * shape.n; i < end * shape.n; ++i) {
    const double result = loadElement(shape.out, results, i);
    storeElement(shape.out, out, i,
                 gelu.at ? result * geluSlopeOf(loadElement(shape.out, gelu.at, i))
                         : geluOf(result));
  }
}

} // namespace mpc::rt
