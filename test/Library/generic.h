/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Any model, run with made-up numbers: what the programs of this folder share that do not know
 * their model. */
#ifndef MPC_TEST_LIBRARY_GENERIC_H
#define MPC_TEST_LIBRARY_GENERIC_H

#include "mpc-rt/training.h"

#include <cstring>
#include <string>
#include <vector>

namespace generic {

inline size_t elements(const mpc_rt_tensor_info_t &tensor, int64_t batch) {
  size_t count = 1;
  for (uint32_t i = 0; i < tensor.rank; ++i)
    count *= static_cast<size_t>(tensor.dims[i] == MPC_RT_DYNAMIC ? batch : tensor.dims[i]);
  return count;
}

/* Floats between 0 and 1; anything else is 0. */
struct Buffers {
  std::vector<std::vector<char>> memory;
  std::vector<void *> pointers;
  Buffers(const mpc_rt_tensor_info_t *tensors, uint32_t count, int64_t batch) {
    for (uint32_t i = 0; i < count; ++i) {
      const size_t size = elements(tensors[i], batch);
      memory.emplace_back(size * 8 + 8);
      if (tensors[i].dtype == MPC_RT_FLOAT32)
        for (size_t j = 0; j < size; ++j)
          reinterpret_cast<float *>(memory.back().data())[j] = static_cast<float>(j * 7 % 11) / 11;
    }
    for (auto &each : memory)
      pointers.push_back(each.data());
  }
};

/* The bytes of the first output. */
inline mpc_rt_status_t run(mpc_rt_context_t *context, const char *name, int64_t batch,
                           std::string &result) {
  const mpc_rt_model_t *model = mpc_rt_context_model(context);
  uint32_t index = 0;
  if (mpc_rt_status_t status = mpc_rt_find_entry(model, name, &index))
    return status;
  const mpc_rt_entry_info_t &entry = mpc_rt_model_executable(model)->entries[index];
  Buffers inputs(entry.inputs, entry.input_count, batch),
      outputs(entry.outputs, entry.output_count, batch);
  mpc_rt_status_t status =
      mpc_rt_context_run(context, index, inputs.pointers.data(), outputs.pointers.data(), batch);
  result.assign(outputs.memory[0].data(), elements(entry.outputs[0], batch) * 4);
  return status;
}

} // namespace generic

#endif
