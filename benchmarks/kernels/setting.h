// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The setting in which the runtime's kernels are measured: threads, dtypes by name, operands.
#ifndef MPC_BENCHMARKS_KERNELS_SETTING_H
#define MPC_BENCHMARKS_KERNELS_SETTING_H

#include "mpc-rt/executable.h"
#include "runtime/base/memory.h"
#include "runtime/threads/thread_team.h"

#include <string>
#include <vector>

namespace mpc::benchmarks {

/// One thread per CPU, the same for all kernels.
rt::ThreadTeam &team();

/// float32, bfloat16, float16 or int8. Throws std::invalid_argument, naming `specification`.
mpc_rt_dtype_t dtypeOf(const std::string &name, const std::string &specification);

/// `text` in parts: what stands between its slashes.
std::vector<std::string> partsOf(const std::string &text);

/// Arrays that all kernels of a kind share: as large as the largest, of small numbers in every
/// dtype. Memory is taken when one is asked for, so that registering takes none.
class Operands {
public:
  void grow(size_t index, uint64_t bytes);
  uint8_t *operator[](size_t index);

private:
  static constexpr size_t most = 9; // of a gradient of attention
  uint64_t bytes[most] = {};
  rt::Buffer buffers[most];
};

} // namespace mpc::benchmarks

#endif
