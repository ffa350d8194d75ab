// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Batch assembly.
#include "runtime/data/gather.h"

#include "runtime/data/convert.h"

#include <algorithm>
#include <cstring>
#include <system_error>
#include <thread>

namespace mpc::data {

static int64_t elementsPerRow(const Column &column) {
  int64_t count = 1;
  for (int64_t dim : column.spec.dims)
    count *= dim;
  return count;
}

size_t rowBytes(const Column &column) {
  return static_cast<size_t>(elementsPerRow(column)) * dtypeInfo(column.spec.dtype)->bytes;
}

namespace {

/// The value of each byte in the tensor's type: float32(byte) / divisor by one IEEE division, then
/// rounded to it. Looking values up is several times faster than computing them.
class ByteTable {
public:
  explicit ByteTable(const Column &column) : width_(dtypeInfo(column.spec.dtype)->bytes) {
    float values[256];
    for (int i = 0; i < 256; ++i)
      values[i] =
          column.divisor != 0 ? static_cast<float>(i) / column.divisor : static_cast<float>(i);
    convertElements(values, MPC_RT_FLOAT32, table_, column.spec.dtype, 256,
                    Conversion::ThroughFloat32);
  }

  void convert(const uint8_t *from, int64_t count, void *to) const {
    if (width_ == 2)
      look<uint16_t>(from, count, to);
    else if (width_ == 4)
      look<uint32_t>(from, count, to);
    else
      look<uint64_t>(from, count, to);
  }

private:
  template <typename T> void look(const uint8_t *from, int64_t count, void *to) const {
    const T *table = reinterpret_cast<const T *>(table_);
    T *out = static_cast<T *>(to);
    for (int64_t i = 0; i < count; ++i)
      out[i] = table[from[i]];
  }
  size_t width_;
  alignas(8) uint8_t table_[256 * 8];
};

/// Rows of an array whose dims of 1 are repeated over those of the tensor.
void repeatRows(const Column &column, const int64_t *rows, int64_t count, void *out) {
  const std::vector<int64_t> &to = column.spec.dims;
  std::vector<int64_t> steps(to.size(), 0);
  int64_t given = 1, perRow = elementsPerRow(column);
  for (size_t d = to.size(); d-- > 0;) {
    int64_t extent = column.array.dims()[d + 1];
    steps[d] = extent == 1 ? 0 : given;
    given *= extent;
  }
  size_t sourceWidth = dtypeInfo(column.array.dtype())->bytes,
         width = dtypeInfo(column.spec.dtype)->bytes;
  std::vector<uint8_t> row(static_cast<size_t>(given) * width);
  std::vector<int64_t> index(to.size());
  uint8_t *target = static_cast<uint8_t *>(out);
  for (int64_t i = 0; i < count; ++i) {
    int64_t first = (column.firstRow + rows[i]) * given, from = 0;
    convertElements(column.array.data() + static_cast<size_t>(first) * sourceWidth,
                    column.array.dtype(), row.data(), column.spec.dtype, given,
                    Conversion::ThroughFloat32);
    for (int64_t element = 0; element < perRow; ++element, target += width) {
      std::memcpy(target, row.data() + static_cast<size_t>(from) * width, width);
      for (size_t d = to.size(); d-- > 0;) {
        from += steps[d];
        if (++index[d] < to[d])
          break;
        from -= steps[d] * to[d];
        index[d] = 0;
      }
    }
  }
}

void gatherShare(const Column &column, const int64_t *rows, int64_t count, void *out) {
  int64_t perRow = elementsPerRow(column);
  if (column.array.elements() != column.array.rows() * perRow)
    return repeatRows(column, rows, count, out);
  size_t sourceRow = static_cast<size_t>(perRow) * dtypeInfo(column.array.dtype())->bytes;
  size_t targetRow = rowBytes(column);
  uint8_t *target = static_cast<uint8_t *>(out);
  std::optional<ByteTable> bytes;
  if (column.array.dtype() == MPC_RT_UINT8 && isFloating(column.spec.dtype))
    bytes.emplace(column);
  for (int64_t i = 0; i < count;) {
    // Neighbouring rows go in one piece: without shuffling a batch is one conversion.
    int64_t run = 1;
    while (i + run < count && rows[i + run] == rows[i] + run)
      ++run;
    const uint8_t *from =
        column.array.data() + static_cast<size_t>(column.firstRow + rows[i]) * sourceRow;
    if (bytes)
      bytes->convert(from, perRow * run, target);
    else
      convertElements(from, column.array.dtype(), target, column.spec.dtype, perRow * run,
                      Conversion::ThroughFloat32);
    target += static_cast<size_t>(run) * targetRow;
    i += run;
  }
}

} // namespace

bool isAsWanted(const Column &column) {
  return column.array.dtype() == column.spec.dtype &&
         column.array.elements() == column.array.rows() * elementsPerRow(column);
}

const void *findRows(const Column &column, const int64_t *rows, int64_t count) {
  if (!isAsWanted(column) || count == 0)
    return nullptr;
  for (int64_t i = 1; i < count; ++i)
    if (rows[i] != rows[0] + i)
      return nullptr;
  return column.array.data() + static_cast<size_t>(column.firstRow + rows[0]) * rowBytes(column);
}

void gatherRows(const Column &column, const int64_t *rows, int64_t count, void *out,
                unsigned threads) {
  // A thread's start costs what it takes to gather some 100 KiB.
  constexpr size_t bytesOfThread = 2 << 20;
  const size_t bytes = rowBytes(column) * static_cast<size_t>(count);
  const auto shares =
      static_cast<int64_t>(std::clamp<size_t>(bytes / bytesOfThread, 1, std::max(threads, 1u)));
  auto gather = [&](int64_t share) {
    const int64_t begin = count * share / shares, end = count * (share + 1) / shares;
    gatherShare(column, rows + begin, end - begin,
                static_cast<uint8_t *>(out) + static_cast<size_t>(begin) * rowBytes(column));
  };
  std::vector<std::thread> others;
  others.reserve(static_cast<size_t>(shares - 1));
  for (int64_t share = 1; share < shares; ++share)
    try {
      others.emplace_back(gather, share);
    } catch (const std::system_error &) { // no more threads for this process
      gather(share);
    }
  gather(0);
  for (std::thread &other : others)
    other.join();
}

} // namespace mpc::data
