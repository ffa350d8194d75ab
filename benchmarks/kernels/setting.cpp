// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "benchmarks/kernels/setting.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace mpc::benchmarks {

rt::ThreadTeam &team() {
  static rt::ThreadTeam instance(std::max(1u, std::thread::hardware_concurrency()));
  return instance;
}

mpc_rt_dtype_t dtypeOf(const std::string &name, const std::string &specification) {
  static const std::map<std::string, mpc_rt_dtype_t> dtypes = {{"float32", MPC_RT_FLOAT32},
                                                               {"bfloat16", MPC_RT_BFLOAT16},
                                                               {"float16", MPC_RT_FLOAT16},
                                                               {"int8", MPC_RT_INT8}};
  const auto found = dtypes.find(name);
  if (found == dtypes.end())
    throw std::invalid_argument(specification + ": '" + name +
                                "' is not float32, bfloat16, float16 or int8");
  return found->second;
}

std::vector<std::string> partsOf(const std::string &text) {
  std::vector<std::string> parts;
  std::istringstream from(text);
  for (std::string part; std::getline(from, part, '/');)
    parts.push_back(part);
  return parts;
}

void Operands::grow(size_t index, uint64_t wanted) {
  bytes[index] = std::max(bytes[index], wanted);
}

uint8_t *Operands::operator[](size_t index) {
  if (!buffers[index].data()) {
    rt::reserve(buffers[index], bytes[index]);
    std::fill_n(buffers[index].data(), bytes[index], uint8_t{0x3c});
  }
  return buffers[index].data();
}

} // namespace mpc::benchmarks
