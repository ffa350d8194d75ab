// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Initial values of variables on their way from an importer to NAME.safetensors.
#ifndef MPC_SUPPORT_WEIGHTSTORE_H
#define MPC_SUPPORT_WEIGHTSTORE_H

#include "mpc-rt/dtype.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <map>
#include <string>
#include <vector>

namespace mpc {

/// A value in C order, little endian.
struct Weight {
  mpc_rt_dtype_t dtype = MPC_RT_FLOAT32;
  std::vector<int64_t> dims;
  std::vector<uint8_t> bytes;
};

/// Values by variable symbol; ordered, so that output is deterministic.
class WeightStore {
public:
  void add(std::string path, Weight weight) { values[std::move(path)] = std::move(weight); }
  void remove(const std::string &path) { values.erase(path); }
  const std::map<std::string, Weight> &all() const { return values; }

private:
  std::map<std::string, Weight> values;
};

/// Hands out, piece by piece, the bytes of a safetensors file (8-byte header length, JSON header,
/// data), without gaps; the data starts on a 64-byte boundary. Tensors of whole cache lines come
/// first, so that the runtime can use them where they are; otherwise the order is that of the
/// names.
void forSafetensors(const WeightStore &weights, llvm::function_ref<void(llvm::StringRef)> take);

} // namespace mpc

#endif // MPC_SUPPORT_WEIGHTSTORE_H
