// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// safetensors, which weights, training states and checkpoints are. Copies and views must agree, and
// what was read can be written.
#include "runtime/data/safetensors.h"

#include <cstdlib>
#include <cstring>

using namespace mpc::data;

/// On a cache line, as files are mapped: tensors may be views.
static std::shared_ptr<uint8_t> alignedCopy(const uint8_t *data, size_t size) {
  const size_t rounded = (size + 63) / 64 * 64;
  auto *copy = static_cast<uint8_t *>(std::aligned_alloc(64, rounded ? rounded : 64));
  if (size)
    std::memcpy(copy, data, size);
  return std::shared_ptr<uint8_t>(copy, std::free);
}

static bool isSame(const Array &a, const Array &b) {
  return a.dtype() == b.dtype() && a.dims() == b.dims() && a.bytes() == b.bytes() &&
         (a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Result<Safetensors> content = parseSafetensors(data, size, "fuzzed");
  std::shared_ptr<uint8_t> copy = alignedCopy(data, size);
  Result<Safetensors> views = viewSafetensors(copy, copy.get(), size, "fuzzed");
  if (static_cast<bool>(content) != static_cast<bool>(views))
    __builtin_trap();
  if (!content)
    return 0;
  for (const auto &[name, array] : content->tensors)
    if (!views->tensors.count(name) || !isSame(array, views->tensors.at(name)))
      __builtin_trap();
  std::string written = formatSafetensorsHeader(*content);
  for (auto at : fileOrder(*content))
    written.append(reinterpret_cast<const char *>(at->second.data()), at->second.bytes());
  Result<Safetensors> again = parseSafetensors(reinterpret_cast<const uint8_t *>(written.data()),
                                               written.size(), "written");
  if (!again || again->tensors.size() != content->tensors.size() ||
      again->metadata != content->metadata)
    __builtin_trap();
  return 0;
}
