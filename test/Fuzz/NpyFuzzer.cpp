// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NumPy's .npy, as a file of its own and as a member of an .npz: both go through readNpy().
#include "runtime/data/npy.h"
#include "runtime/data/texts.h"

#include <cstring>

using namespace mpc::data;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  size_t at = 0;
  auto source = [&](void *out, uint64_t wanted) -> Status {
    if (wanted > size - at)
      return Failure("ends");
    if (wanted)
      std::memcpy(out, data + at, wanted);
    at += wanted;
    return Status();
  };
  Result<Array> array = readNpy(source, size, "fuzzed");
  // An array that was read can be written, and reads as the same array.
  if (!array || array->dtype() == MPC_RT_BFLOAT16)
    return 0;
  const std::string header = npyHeader(*array);
  Result<NpyHeader> again =
      parseNpyHeader(reinterpret_cast<const uint8_t *>(header.data()), header.size(),
                     header.size() + array->bytes(), "written");
  if (!again || again->dims != array->dims() || again->dtype != array->dtype() ||
      again->isText != array->isText())
    __builtin_trap();
  // Texts that fit a model's width are the same ones.
  if (array->isText() && array->elements() > 0)
    if (Result<Array> fitted = fitTexts(*array, 3, "fuzzed");
        fitted && textAt(*fitted, 0) != textAt(*array, 0))
      __builtin_trap();
  return 0;
}
