// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// std::bad_alloc that knows how many bytes were wanted, and says so.
#ifndef MPC_RUNTIME_BASE_OUT_OF_MEMORY_H
#define MPC_RUNTIME_BASE_OUT_OF_MEMORY_H

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>

namespace mpc::rt {

class OutOfMemory : public std::bad_alloc {
public:
  explicit OutOfMemory(uint64_t bytes) noexcept {
    std::snprintf(text, sizeof text, "%llu bytes", static_cast<unsigned long long>(bytes));
  }
  // "N bytes".
  const char *what() const noexcept override { return text; }

private:
  char text[32];
};

// The text of an OutOfMemory; null of another std::bad_alloc.
inline const char *wantedBytes(const std::bad_alloc &problem) noexcept {
  return std::strcmp(problem.what(), std::bad_alloc().what()) == 0 ? nullptr : problem.what();
}

} // namespace mpc::rt

#endif
