// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Large aligned buffers. Straight from mmap, so that fresh memory is zero, goes back to the system
// when freed, and can ask for huge pages: a fresh 64 MiB output otherwise costs 16 384 page faults.
#ifndef MPC_RUNTIME_BASE_MEMORY_H
#define MPC_RUNTIME_BASE_MEMORY_H

#include "runtime/base/out_of_memory.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace mpc::rt {

constexpr size_t bufferAlignment = 64;
// Buffers of that size and more start at a multiple of it.
constexpr uint64_t hugePage = uint64_t{2} << 20;

inline uint64_t alignUp(uint64_t bytes, uint64_t alignment = bufferAlignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

// Memory of the caller's (mpc_rt_allocator_t); without functions the system's.
struct Allocator {
  void *(*allocate)(size_t bytes, size_t alignment, void *user) = nullptr;
  void (*release)(void *memory, size_t bytes, size_t alignment, void *user) = nullptr;
  void *user = nullptr;
};

class Buffer {
public:
  Buffer() = default;
  explicit Buffer(const Allocator &allocator) : allocator(allocator) {}
  ~Buffer() { reset(); }
  Buffer(Buffer &&other) noexcept { swap(other); }
  Buffer &operator=(Buffer &&other) noexcept {
    swap(other);
    return *this;
  }
  // Zero-filled; false when there is no memory (the buffer is then empty).
  bool allocate(uint64_t bytes) noexcept;
  void reset() noexcept;
  uint8_t *data() const { return pointer; }
  float *floats() const { return reinterpret_cast<float *>(pointer); }
  uint64_t size() const { return bytes; }
  // Grows to at least `wanted` bytes; the content is undefined afterwards.
  bool reserve(uint64_t wanted) noexcept { return wanted <= bytes || obtain(wanted); }
  // Makes the pages of a part that will not be used as a whole come one by one. This has no effect
  // on memory of the caller's.
  void useSmallPages(uint64_t offset, uint64_t length) noexcept;
  // Gives whole pages of a part that are not needed any more back; they read as zeros. Memory of
  // the caller's stays as it is.
  void drop(uint64_t offset, uint64_t length) noexcept;
  // Says what is wrong with the memory that the last call got; null when there was none.
  const char *problem() const { return wrong; }

private:
  bool obtain(uint64_t wanted) noexcept;
  bool obtainFromCaller(uint64_t wanted) noexcept;
  void swap(Buffer &other) noexcept {
    std::swap(pointer, other.pointer);
    std::swap(bytes, other.bytes);
    std::swap(mapped, other.mapped);
    std::swap(mappedBytes, other.mappedBytes);
    std::swap(allocator, other.allocator);
    std::swap(wrong, other.wrong);
  }
  Allocator allocator;
  const char *wrong = nullptr;
  uint8_t *pointer = nullptr;
  uint64_t bytes = 0;
  void *mapped = nullptr;
  size_t mappedBytes = 0;
};

// Does what Buffer::reserve does, and throws OutOfMemory.
inline void reserve(Buffer &buffer, uint64_t bytes) {
  if (!buffer.reserve(bytes))
    throw OutOfMemory(bytes);
}

// The same of so many float32 numbers.
inline float *reserveFloats(Buffer &buffer, int64_t count) {
  reserve(buffer, static_cast<uint64_t>(count) * sizeof(float));
  return buffer.floats();
}

} // namespace mpc::rt

#endif
