// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The safetensors writer.
#include "mpc/Support/WeightStore.h"
#include "runtime/untrusted/outlets.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace mpc;
using llvm::StringRef;

static const char *safetensorsName(mpc_rt_dtype_t dtype) {
  switch (dtype) {
#define MPC_RT_DTYPE(name, value, bytes, keras, mlir, safetensors, numpy)                          \
  case value:                                                                                      \
    return safetensors;
#include "mpc-rt/dtype.inc"
#undef MPC_RT_DTYPE
  }
  return "U8";
}

static std::vector<const std::pair<const std::string, Weight> *>
inFileOrder(const WeightStore &weights) {
  std::vector<const std::pair<const std::string, Weight> *> order;
  for (bool wholeLines : {true, false})
    for (const auto &entry : weights.all())
      if ((entry.second.bytes.size() % 64 == 0) == wholeLines)
        order.push_back(&entry);
  return order;
}

void mpc::forSafetensors(const WeightStore &weights, llvm::function_ref<void(StringRef)> take) {
  const auto order = inFileOrder(weights);
  std::string header;
  llvm::raw_string_ostream stream(header);
  llvm::json::OStream json(stream);
  uint64_t offset = 0;
  json.object([&] {
    for (const auto *entry : order) {
      const Weight &weight = entry->second;
      json.attributeObject(entry->first, [&] {
        json.attribute("dtype", safetensorsName(weight.dtype));
        json.attributeArray("shape", [&] {
          for (int64_t extent : weight.dims)
            json.value(extent);
        });
        json.attributeArray("data_offsets", [&] {
          json.value(int64_t(offset));
          json.value(int64_t(offset + weight.bytes.size()));
        });
      });
      offset += weight.bytes.size();
    }
  });
  header = untrusted::forJson(header);
  // Data starts on a cache line; the format allows trailing spaces in the header.
  while ((header.size() + 8) % 64 != 0)
    header += ' ';
  char length[8];
  llvm::support::endian::write64le(length, header.size());
  take(StringRef(length, sizeof length));
  take(header);
  for (const auto *entry : order)
    take(llvm::toStringRef(entry->second.bytes));
}
