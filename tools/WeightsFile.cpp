// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/WeightsFile.h"
#include "runtime/data/safetensors.h"
#include "tools/DataErrors.h"

using namespace mpc;

llvm::Expected<WeightStore> mpc::readWeightsFile(const std::string &path) {
  data::Result<data::Safetensors> read = data::readSafetensors(path);
  if (!read)
    return toError(read.failure());
  WeightStore weights;
  for (const auto &[name, array] : read->tensors)
    weights.add(name, {array.dtype(), array.dims(),
                       std::vector<uint8_t>(array.data(), array.data() + array.bytes())});
  return weights;
}
