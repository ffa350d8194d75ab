// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/collectives/rank_tree.h"

#include "runtime/base/dtype.h"
#include "runtime/collectives/combine.h"

namespace mpc::rt {
namespace {

// Pieces of a large message stay in a cache until they are added.
constexpr size_t pieceBytes = 512 << 10;
constexpr size_t bytesInPieces = 16 * pieceBytes; // both ways, and more

// Two ranks exchange parts, of which both may be empty.
mpc_rt_status_t exchangeParts(Transport &transport, const Exchange &exchange) {
  return exchange.sentBytes || exchange.receivedBytes ? transport.exchange(exchange) : MPC_RT_OK;
}

} // namespace

unsigned coreOf(unsigned ranks) {
  unsigned core = 1;
  while (core * 2 <= ranks)
    core *= 2;
  return core;
}

unsigned placeOf(unsigned rank, unsigned core) {
  unsigned place = 0;
  for (unsigned distance = 1, half = core / 2; half != 0; distance *= 2, half /= 2)
    if (rank & distance)
      place += half;
  return place;
}

std::vector<size_t> partStarts(unsigned core, size_t count, size_t unit) {
  std::vector<size_t> starts(core + 1, 0);
  starts[core] = count;
  for (unsigned width = core; width > 1; width /= 2)
    for (unsigned place = 0; place != core; place += width) {
      const size_t length = starts[place + width] - starts[place];
      starts[place + width / 2] = starts[place] + length / 2 / unit * unit;
    }
  return starts;
}

mpc_rt_status_t fold(Transport &transport, Reduction reduction, void *data, size_t count,
                     void *scratch, unsigned core) {
  const unsigned rank = transport.rank();
  const size_t bytes = count * dtypeSize(reduction.dtype);
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

mpc_rt_status_t reduceByHalving(Transport &transport, Reduction reduction, void *data,
                                const std::vector<size_t> &starts, void *scratch) {
  auto *bytes = static_cast<char *>(data);
  const size_t element = dtypeSize(reduction.dtype);
  const auto core = static_cast<unsigned>(starts.size() - 1);
  const unsigned place = placeOf(transport.rank(), core);
  for (unsigned distance = 1, half = core / 2; distance != core; distance *= 2, half /= 2) {
    const unsigned kept = place / half * half, given = kept ^ half;
    const size_t count = starts[kept + half] - starts[kept];
    char *own = bytes + starts[kept] * element;
    const Exchange exchange = {transport.rank() ^ distance, bytes + starts[given] * element,
                               (starts[given + half] - starts[given]) * element, scratch,
                               count * element};
    auto combineAt = [&](size_t begin, const void *piece, size_t length) {
      combine(reduction.dtype, reduction.kind, own + begin, piece, length / element);
    };
    // The sum is that of the peer, too.
    const bool inPieces = exchange.sentBytes + exchange.receivedBytes > bytesInPieces;
    if (auto status = inPieces ? transport.exchangeInPieces(exchange, pieceBytes, combineAt)
                               : exchangeParts(transport, exchange))
      return status;
    if (!inPieces)
      combineAt(0, scratch, count * element);
  }
  return MPC_RT_OK;
}

mpc_rt_status_t gatherByDoubling(Transport &transport, void *data,
                                 const std::vector<size_t> &starts, size_t elementBytes) {
  auto *bytes = static_cast<char *>(data);
  const auto core = static_cast<unsigned>(starts.size() - 1);
  const unsigned place = placeOf(transport.rank(), core);
  for (unsigned distance = core / 2, width = 1; distance != 0; distance /= 2, width *= 2) {
    const unsigned own = place / width * width, other = own ^ width;
    if (auto status = exchangeParts(
            transport, {transport.rank() ^ distance, bytes + starts[own] * elementBytes,
                        (starts[own + width] - starts[own]) * elementBytes,
                        bytes + starts[other] * elementBytes,
                        (starts[other + width] - starts[other]) * elementBytes}))
      return status;
  }
  return MPC_RT_OK;
}

} // namespace mpc::rt
