// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/collectives/all_reduce.h"

#include "runtime/base/dtype.h"
#include "runtime/base/status.h"
#include "runtime/collectives/combine.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace mpc::rt {
namespace {

// Below this many bytes a message costs more than its bytes.
constexpr size_t smallBytes = 16 << 10;

// The largest power of two that is not above `ranks`.
unsigned coreOf(unsigned ranks) {
  unsigned core = 1;
  while (core * 2 <= ranks)
    core *= 2;
  return core;
}

size_t bytesOf(Reduction reduction) { return dtypeSize(reduction.dtype); }

// The half of `whole` that a rank with this bit works on.
Segment halfOf(Segment whole, bool upper) {
  const size_t middle = whole.begin + (whole.end - whole.begin) / 2;
  return upper ? Segment{middle, whole.end} : Segment{whole.begin, middle};
}

// Ranks above the core give their data to one of it, and get the result back from it.
mpc_rt_status_t fold(Transport &transport, Reduction reduction, void *data, size_t count,
                     void *scratch, unsigned core) {
  const unsigned rank = transport.rank();
  const size_t bytes = count * bytesOf(reduction);
  if (rank >= core)
    return transport.exchange({rank - core, data, bytes, nullptr, 0});
  if (rank + core >= transport.size())
    return MPC_RT_OK;
  if (auto status = transport.exchange({rank + core, nullptr, 0, scratch, bytes}))
    return status;
  combine(reduction.dtype, reduction.kind, data, scratch, count);
  return MPC_RT_OK;
}

mpc_rt_status_t unfold(Transport &transport, void *data, size_t bytes, unsigned core) {
  const unsigned rank = transport.rank();
  if (rank >= core)
    return transport.exchange({rank - core, nullptr, 0, data, bytes});
  if (rank + core >= transport.size())
    return MPC_RT_OK;
  return transport.exchange({rank + core, data, bytes, nullptr, 0});
}

mpc_rt_status_t reduceByDoubling(Transport &transport, Reduction reduction, void *data,
                                 size_t count, void *scratch, unsigned core) {
  const size_t bytes = count * bytesOf(reduction);
  for (unsigned distance = 1; distance != core; distance *= 2) {
    const unsigned peer = transport.rank() ^ distance;
    if (auto status = transport.exchange({peer, data, bytes, scratch, bytes}))
      return status;
    combine(reduction.dtype, reduction.kind, data, scratch, count);
  }
  return MPC_RT_OK;
}

// At each distance two ranks exchange halves of the segment that both have, and each goes on with
// one of them.
mpc_rt_status_t reduceByHalving(Transport &transport, Reduction reduction, void *data, size_t count,
                                void *scratch, unsigned core) {
  auto *bytes = static_cast<char *>(data);
  const size_t element = bytesOf(reduction);
  Segment segment = {0, count};
  for (unsigned distance = 1; distance != core; distance *= 2) {
    const bool upper = (transport.rank() & distance) != 0;
    const Segment kept = halfOf(segment, upper), given = halfOf(segment, !upper);
    if (auto status = transport.exchange(
            {transport.rank() ^ distance, bytes + given.begin * element,
             (given.end - given.begin) * element, scratch, (kept.end - kept.begin) * element}))
      return status;
    combine(reduction.dtype, reduction.kind, bytes + kept.begin * element, scratch,
            kept.end - kept.begin);
    segment = kept;
  }
  return MPC_RT_OK;
}

// The way of reduceByHalving back. `core` is at most 2^31.
mpc_rt_status_t gatherByDoubling(Transport &transport, void *data, size_t count, size_t element,
                                 unsigned core) {
  auto *bytes = static_cast<char *>(data);
  Segment segments[33]; // what the rank had before each exchange
  unsigned steps = 0;
  segments[0] = {0, count};
  for (unsigned distance = 1; distance != core; distance *= 2, ++steps)
    segments[steps + 1] = halfOf(segments[steps], (transport.rank() & distance) != 0);
  while (steps-- != 0) {
    const unsigned distance = 1u << steps;
    const Segment own = segments[steps + 1];
    const Segment other = halfOf(segments[steps], (transport.rank() & distance) == 0);
    if (auto status =
            transport.exchange({transport.rank() ^ distance, bytes + own.begin * element,
                                (own.end - own.begin) * element, bytes + other.begin * element,
                                (other.end - other.begin) * element}))
      return status;
  }
  return MPC_RT_OK;
}

mpc_rt_status_t checkCore(const Transport &transport, const char *what) {
  if (coreOf(transport.size()) == transport.size())
    return MPC_RT_OK;
  return fail(MPC_RT_INVALID_ARGUMENT, "%s wants a number of ranks that is a power of two, not %u",
              what, transport.size());
}

} // namespace

size_t allReduceScratch(const Transport &transport, Reduction reduction, size_t count) {
  return transport.size() == 1 ? 0 : count * bytesOf(reduction);
}

mpc_rt_status_t allReduce(Transport &transport, Reduction reduction, void *data, size_t count,
                          void *scratch) {
  if (transport.size() == 1 || count == 0)
    return MPC_RT_OK;
  const unsigned core = coreOf(transport.size());
  const size_t bytes = count * bytesOf(reduction);
  if (auto status = fold(transport, reduction, data, count, scratch, core))
    return status;
  if (transport.rank() < core) {
    const bool small = bytes < smallBytes || count < core;
    auto status = small ? reduceByDoubling(transport, reduction, data, count, scratch, core)
                        : reduceByHalving(transport, reduction, data, count, scratch, core);
    if (status == MPC_RT_OK && !small)
      status = gatherByDoubling(transport, data, count, bytesOf(reduction), core);
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

Segment segmentOf(const Transport &transport, size_t count) {
  Segment segment = {0, count};
  for (unsigned distance = 1; distance < transport.size(); distance *= 2)
    segment = halfOf(segment, (transport.rank() & distance) != 0);
  return segment;
}

mpc_rt_status_t reduceScatter(Transport &transport, Reduction reduction, void *data, size_t count,
                              void *scratch) {
  if (auto status = checkCore(transport, "a reduce-scatter"))
    return status;
  return reduceByHalving(transport, reduction, data, count, scratch, transport.size());
}

mpc_rt_status_t allGather(Transport &transport, void *data, size_t count, size_t elementBytes) {
  if (auto status = checkCore(transport, "an all-gather"))
    return status;
  return gatherByDoubling(transport, data, count, elementBytes, transport.size());
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
