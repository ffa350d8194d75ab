// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks for memory while something else is computed.
//
// This header is also for files compiled for one kind of CPU: nothing here has external linkage.
#ifndef MPC_RUNTIME_DRIVERS_CPU_KERNELS_LINE_FETCHER_H
#define MPC_RUNTIME_DRIVERS_CPU_KERNELS_LINE_FETCHER_H

#include "runtime/drivers/cpu/kernels/micro_kernel.h"

#include <xmmintrin.h>

namespace mpc::rt {
namespace {

// Fetches memory that will be written into the first-level cache: the lines of a large result come
// from far away (docs/decisions/0069).
inline void fetchLines(const uint8_t *first, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 64)
    _mm_prefetch(reinterpret_cast<const char *>(first + i), _MM_HINT_T0);
}

// The lines of some rows, into the second-level cache: as many in each of `calls` calls, since more
// at once would hold up the loads of what is computed.
class LineFetcher {
public:
  LineFetcher(const MemoryRows &rows, int64_t calls)
      : end(rows.first + rows.bytes), bytes(rows.bytes), stride(rows.stride),
        left(rows.bytes > 0 && calls > 0 ? rows.rows : 0) {
    if (left == 0)
      return;
    line = lineOf(rows.first);
    const int64_t lines = rows.rows * ((rows.bytes + lineBytes - 1) / lineBytes);
    linesOfCall = lines <= calls ? 1 : (lines + calls - 1) / calls;
  }
  void fetch() {
    for (int64_t i = 0; i < linesOfCall && left > 0; ++i) {
      _mm_prefetch(reinterpret_cast<const char *>(line), _MM_HINT_T1);
      line += lineBytes;
      if (line >= end) {
        end += stride;
        line = lineOf(end - bytes);
        --left;
      }
    }
  }

private:
  static constexpr int64_t lineBytes = 64;
  static const uint8_t *lineOf(const uint8_t *address) {
    return reinterpret_cast<const uint8_t *>(reinterpret_cast<uintptr_t>(address) / lineBytes *
                                             lineBytes);
  }
  const uint8_t *line = nullptr, *end;
  int64_t bytes, stride, left, linesOfCall = 0;
};

} // namespace
} // namespace mpc::rt

#endif
