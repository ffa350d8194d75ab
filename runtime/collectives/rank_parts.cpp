// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/collectives/rank_parts.h"

#include "runtime/base/dtype.h"
#include "runtime/collectives/rank_tree.h"

#include <cstring>

namespace mpc::rt {
namespace {

constexpr size_t unit = 64; // elements

// Several arrays as one, in which the parts of a rank lie side by side. One array stays where it
// is.
class Packed {
public:
  Packed(unsigned core, const std::vector<RankArray> &arrays, size_t elementBytes,
         std::vector<char> &memory)
      : arrays(arrays), elementBytes(elementBytes) {
    for (const RankArray &array : arrays)
      ofArrays.push_back(partStarts(core, array.count, unit));
    all.assign(core + 1, 0);
    for (const std::vector<size_t> &starts : ofArrays)
      for (unsigned place = 0; place <= core; ++place)
        all[place] += starts[place];
    if (arrays.size() == 1) {
      bytes = static_cast<char *>(arrays[0].data);
      return;
    }
    if (memory.size() < count() * elementBytes)
      memory.resize(count() * elementBytes);
    bytes = memory.data();
  }

  void *data() { return bytes; }
  size_t count() const { return all.back(); }
  const std::vector<size_t> &starts() const { return all; }

  // The parts of the places from `first` to `last`.
  void pack(unsigned first, unsigned last) { copy(first, last, /*in=*/true); }
  void unpack(unsigned first, unsigned last) { copy(first, last, /*in=*/false); }

private:
  void copy(unsigned first, unsigned last, bool in) {
    if (arrays.size() == 1)
      return;
    for (unsigned place = first; place != last; ++place) {
      char *at = bytes + all[place] * elementBytes;
      for (size_t i = 0; i != arrays.size(); ++i) {
        const size_t length = (ofArrays[i][place + 1] - ofArrays[i][place]) * elementBytes;
        char *own = static_cast<char *>(arrays[i].data) + ofArrays[i][place] * elementBytes;
        if (length != 0)
          std::memcpy(in ? at : own, in ? own : at, length);
        at += length;
      }
    }
  }

  const std::vector<RankArray> &arrays;
  const size_t elementBytes;
  std::vector<std::vector<size_t>> ofArrays; // where parts begin
  std::vector<size_t> all;
  char *bytes = nullptr;
};

} // namespace

RankPart ownPart(unsigned rank, unsigned size, size_t count) {
  const unsigned core = coreOf(size);
  if (rank >= core)
    return {count, count};
  const std::vector<size_t> starts = partStarts(core, count, unit);
  const unsigned place = placeOf(rank, core);
  return {starts[place], starts[place + 1]};
}

mpc_rt_status_t reduceToParts(Transport &transport, Reduction reduction,
                              const std::vector<RankArray> &arrays, PartMemory &memory) {
  if (transport.size() == 1)
    return MPC_RT_OK;
  const unsigned core = coreOf(transport.size()), rank = transport.rank();
  Packed packed(core, arrays, dtypeSize(reduction.dtype), memory.packed);
  if (packed.count() == 0)
    return MPC_RT_OK;
  if (const size_t bytes = allReduceScratch(transport, reduction, packed.count());
      memory.scratch.size() < bytes)
    memory.scratch.resize(bytes);
  packed.pack(0, core);
  if (auto status =
          fold(transport, reduction, packed.data(), packed.count(), memory.scratch.data(), core))
    return status;
  if (rank >= core)
    return MPC_RT_OK;
  if (auto status = reduceByHalving(transport, reduction, packed.data(), packed.starts(),
                                    memory.scratch.data()))
    return status;
  const unsigned place = placeOf(rank, core);
  packed.unpack(place, place + 1);
  return MPC_RT_OK;
}

mpc_rt_status_t gatherParts(Transport &transport, size_t elementBytes,
                            const std::vector<RankArray> &arrays, PartMemory &memory) {
  if (transport.size() == 1)
    return MPC_RT_OK;
  const unsigned core = coreOf(transport.size()), rank = transport.rank();
  Packed packed(core, arrays, elementBytes, memory.packed);
  if (packed.count() == 0)
    return MPC_RT_OK;
  if (rank < core) {
    const unsigned place = placeOf(rank, core);
    packed.pack(place, place + 1);
    if (auto status = gatherByDoubling(transport, packed.data(), packed.starts(), elementBytes))
      return status;
  }
  if (auto status = unfold(transport, packed.data(), packed.count() * elementBytes, core))
    return status;
  packed.unpack(0, core);
  return MPC_RT_OK;
}

} // namespace mpc::rt
