// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/data/cut.h"

#include <cstring>

namespace mpc::data {

Result<Array> cut(const Array &array, size_t axis, int64_t extent) {
  std::vector<int64_t> dims = array.dims();
  const int64_t whole = dims[axis];
  dims[axis] = extent;
  size_t outer = 1;
  for (size_t d = 0; d < axis; ++d)
    outer *= static_cast<size_t>(dims[d]);
  Result<Array> part = Array::allocate(array.dtype(), dims);
  if (part && array.isText())
    part->setText();
  if (!part || part->bytes() == 0)
    return part;
  const size_t kept = part->bytes() / outer, stride = array.bytes() / outer;
  if (extent == whole) {
    std::memcpy(part->data(), array.data(), array.bytes());
    return part;
  }
  for (size_t o = 0; o < outer; ++o)
    std::memcpy(part->data() + o * kept, array.data() + o * stride, kept);
  return part;
}

} // namespace mpc::data
