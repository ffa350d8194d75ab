// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bodies of inference requests. The first four bytes say how long the JSON in front of binary
// tensors is, or that there is none. What was read has the bytes of its shapes, and no more than
// the body could hold.
#include "runtime/serving/infer_request.h"

#include <cstring>

using namespace mpc;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  uint32_t length = 0;
  if (size < sizeof length)
    return 0;
  std::memcpy(&length, data, sizeof length);
  const std::string_view body(reinterpret_cast<const char *>(data) + sizeof length,
                              size - sizeof length);
  const data::Result<serving::InferRequest> request = serving::parseInferRequest(
      body, length == UINT32_MAX ? std::nullopt : std::optional<size_t>(length));
  if (!request) {
    if (request.failure().messages.empty() || request.failure().memory)
      __builtin_trap();
    return 0;
  }
  size_t held = 0;
  for (const auto &[name, array] : request->inputs) {
    const auto bytes = data::byteSize(array.dims(), data::dtypeInfo(array.dtype())->bytes);
    if (name.empty() || !bytes || *bytes != array.bytes())
      __builtin_trap();
    held += array.bytes();
    if (array.bytes()) // all of it is there
      (void)std::memchr(array.data(), 1, array.bytes());
  }
  if (request->inputs.empty() || held > 8 * body.size())
    __builtin_trap();
  return 0;
}
