// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cuda/value_counter.h"
#include "runtime/base/memory.h"
#include "runtime/drivers/cuda/library_kernels.h"
#include "runtime/rules/value_places.h"

#include <algorithm>
#include <cstring>

namespace mpc::rt::cuda {
namespace {

constexpr uint64_t chunkBytes = uint64_t{256} << 10, alignment = 64;
constexpr uint64_t totalsBytes = (rules::valueCounts + rules::valueBins) * sizeof(uint64_t);
// A thread takes a few elements at least, and a grid of so many threads fills a GPU.
constexpr uint64_t elementsOfThread = 16, mostThreads = 65536, threadsOfBlock = 256;

} // namespace

uint64_t CountsOnDevice::bytesOf(const Counted &counted) {
  return alignUp(totalsBytes, alignment) + alignUp(counted.warps * sizeof(ValueSums), alignment);
}

mpc_rt_status_t CountsOnDevice::place(Counted &counted) {
  const uint64_t bytes = bytesOf(counted);
  static_assert(totalsBytes + 2 * alignment + mostThreads / lanesOfWarp * sizeof(ValueSums) <=
                chunkBytes);
  if (!chunks.empty() && end + bytes > chunkBytes) {
    ++chunk;
    end = 0;
  }
  if (chunk >= chunks.size()) {
    chunks.emplace_back(session, Memory::Kind::device);
    bool grew = false;
    if (auto status = chunks.back().reserve(chunkBytes, "counts of values", grew)) {
      chunks.pop_back();
      return status;
    }
  }
  counted.chunk = chunk;
  counted.offset = end;
  end += bytes;
  return session.check(
      session.cuda.memsetBytes(chunks[chunk].address() + counted.offset, 0, bytes, session.stream),
      "counts of values");
}

mpc_rt_status_t CountsOnDevice::count(const mpc_rt_trace_t &descriptor,
                                      const mpc_rt_trace_call_t &call, const FormatBounds &format) {
  if (auto status = kernels.flush())
    return status;
  const uint64_t elements =
      static_cast<uint64_t>(descriptor.count.fixed) +
      static_cast<uint64_t>(descriptor.count.per_sample) * static_cast<uint64_t>(call.batch);
  const uint64_t wanted = (elements + elementsOfThread - 1) / elementsOfThread;
  auto threads = static_cast<int64_t>(
      std::min(mostThreads, alignUp(std::max<uint64_t>(wanted, 1), threadsOfBlock)));
  Counted counted = {&descriptor, elements, static_cast<uint64_t>(threads / lanesOfWarp), 0, 0};
  if (auto status = place(counted))
    return status;
  uint8_t *at = chunks[counted.chunk].data() + counted.offset;
  ValueArguments arguments = {call.value,
                              call.before,
                              at,
                              at + alignUp(totalsBytes, alignment),
                              static_cast<int64_t>(elements),
                              static_cast<int>(descriptor.dtype),
                              static_cast<int>(descriptor.before_dtype),
                              (descriptor.flags & MPC_RT_TRACE_CHANGE) && call.before,
                              static_cast<int>(format.smallestNormal),
                              static_cast<int>(format.largestFinite),
                              0};
  void *parameters[] = {&arguments, &threads};
  if (auto status = kernels.launchNamed("mpc_count_values", parameters, threads))
    return status;
  values.push_back(counted);
  return MPC_RT_OK;
}

ValueCounts CountsOnDevice::read(const Counted &counted, const uint8_t *at) {
  uint64_t totals[rules::valueCounts + rules::valueBins];
  std::memcpy(totals, at, sizeof totals);
  ValueCounts counts;
  counts.count = counted.elements;
  counts.zero = totals[0], counts.subnormal = totals[1], counts.infinite = totals[2];
  counts.nan = totals[3], counts.saturated = totals[4], counts.lost = totals[5];
  const uint64_t *bins = totals + rules::valueCounts;
  std::copy_n(bins, rules::valueSubnormals, counts.exponents);
  std::copy_n(bins + rules::valueSubnormals, rules::valueBins - rules::valueSubnormals,
              counts.subnormals);
  for (uint64_t warp = 0; warp < counted.warps; ++warp) {
    ValueSums sums;
    std::memcpy(&sums, at + alignUp(totalsBytes, alignment) + warp * sizeof sums, sizeof sums);
    if (sums.smallest == 0) // the grid has fewer
      continue;
    counts.sum += sums.sum;
    counts.sumOfSquares += sums.squares;
    counts.smallest = std::min(counts.smallest, static_cast<uint32_t>(sums.smallest));
    counts.largest = std::max(counts.largest, static_cast<uint32_t>(sums.largest));
  }
  return counts;
}

mpc_rt_status_t CountsOnDevice::collect(const Take &take) {
  if (values.empty())
    return MPC_RT_OK;
  room.resize((chunk + 1) * chunkBytes);
  mpc_rt_status_t status = MPC_RT_OK;
  for (size_t i = 0; i <= chunk && !status; ++i)
    status =
        session.check(session.cuda.memcpyToHost(room.data() + i * chunkBytes, chunks[i].address(),
                                                i == chunk ? end : chunkBytes, session.stream),
                      "counts of values");
  const mpc_rt_status_t waited = session.synchronize();
  status = status ? status : waited;
  if (!status)
    for (const Counted &counted : values)
      take(*counted.descriptor,
           read(counted, room.data() + counted.chunk * chunkBytes + counted.offset));
  discard();
  return status;
}

void CountsOnDevice::discard() noexcept {
  values.clear();
  chunk = 0;
  end = 0;
}

uint64_t CountsOnDevice::bytes() const { return chunks.size() * chunkBytes; }

} // namespace mpc::rt::cuda
