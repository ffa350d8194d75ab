// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/collectives/all_reduce.h"

#include "runtime/base/dtype.h"
#include "runtime/base/status.h"
#include "runtime/collectives/combine.h"
#include "runtime/collectives/rank_tree.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace mpc::rt {
namespace {

// Below this many bytes a message costs more than its bytes.
constexpr size_t smallBytes = 16 << 10;

mpc_rt_status_t reduceByDoubling(Transport &transport, Reduction reduction, void *data,
                                 size_t count, void *scratch, unsigned core) {
  const size_t bytes = count * dtypeSize(reduction.dtype);
  for (unsigned distance = 1; distance != core; distance *= 2) {
    const unsigned peer = transport.rank() ^ distance;
    if (auto status = transport.exchange({peer, data, bytes, scratch, bytes}))
      return status;
    combine(reduction.dtype, reduction.kind, data, scratch, count);
  }
  return MPC_RT_OK;
}

} // namespace

size_t countOf(const std::vector<RankArray> &arrays) {
  size_t count = 0;
  for (const RankArray &array : arrays)
    count += array.count;
  return count;
}

size_t allReduceScratch(const Transport &transport, Reduction reduction, size_t count) {
  return transport.size() == 1 ? 0 : count * dtypeSize(reduction.dtype);
}

mpc_rt_status_t allReduce(Transport &transport, Reduction reduction, void *data, size_t count,
                          void *scratch) {
  if (transport.size() == 1 || count == 0)
    return MPC_RT_OK;
  const unsigned core = coreOf(transport.size());
  const size_t bytes = count * dtypeSize(reduction.dtype);
  if (auto status = fold(transport, reduction, data, count, scratch, core))
    return status;
  if (transport.rank() < core) {
    const bool small = bytes < smallBytes || count < core;
    const std::vector<size_t> starts = small ? std::vector<size_t>() : partStarts(core, count, 1);
    auto status = small ? reduceByDoubling(transport, reduction, data, count, scratch, core)
                        : reduceByHalving(transport, reduction, data, starts, scratch);
    if (status == MPC_RT_OK && !small)
      status = gatherByDoubling(transport, data, starts, dtypeSize(reduction.dtype));
    if (status)
      return status;
  }
  return unfold(transport, data, bytes, core);
}

mpc_rt_status_t sumBefore(Transport &transport, mpc_rt_dtype_t dtype, void *data, size_t count) {
  const size_t bytes = count * dtypeSize(dtype), size = transport.size();
  if (size == 1) {
    std::memset(data, 0, bytes);
    return MPC_RT_OK;
  }
  // There are a few numbers only, so every rank learns those of all.
  const Reduction reduction = {dtype, MPC_RT_REDUCTION_SUM};
  std::vector<char> all(size * bytes), scratch(size * bytes);
  std::memcpy(&all[transport.rank() * bytes], data, bytes);
  if (auto status = allReduce(transport, reduction, all.data(), size * count, scratch.data()))
    return status;
  std::memset(data, 0, bytes);
  for (unsigned rank = 0; rank != transport.rank(); ++rank)
    combine(dtype, MPC_RT_REDUCTION_SUM, data, &all[rank * bytes], count);
  return MPC_RT_OK;
}

mpc_rt_status_t broadcast(Transport &transport, void *data, size_t bytes, unsigned root) {
  // A binomial tree: who has the data gives it to the rank at each smaller distance.
  const unsigned size = transport.size(), place = (transport.rank() + size - root) % size;
  unsigned distance = 1;
  while (distance < size && !(place & distance))
    distance *= 2;
  if (place != 0)
    if (auto status =
            transport.exchange({(place - distance + root) % size, nullptr, 0, data, bytes}))
      return status;
  while ((distance /= 2) != 0)
    if (place + distance < size)
      if (auto status =
              transport.exchange({(place + distance + root) % size, data, bytes, nullptr, 0}))
        return status;
  return MPC_RT_OK;
}

} // namespace mpc::rt
