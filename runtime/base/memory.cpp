// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buffers from mmap with huge-page advice, or from the caller's allocator.
#include "runtime/base/memory.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

namespace mpc::rt {

constexpr uint64_t smallPage = 4096;

bool Buffer::allocate(uint64_t wanted) noexcept {
  if (!obtain(wanted))
    return false;
  if (allocator.allocate && wanted) // the system's pages are zero
    std::memset(pointer, 0, wanted);
  return true;
}

bool Buffer::obtainFromCaller(uint64_t wanted) noexcept {
  void *memory = wanted <= SIZE_MAX / 2
                     ? allocator.allocate(wanted, bufferAlignment, allocator.user)
                     : nullptr;
  if (!memory)
    return false;
  if (reinterpret_cast<uintptr_t>(memory) % bufferAlignment) {
    allocator.release(memory, wanted, bufferAlignment, allocator.user);
    wrong = "the allocator's memory is not at a multiple of 64 bytes; expected the alignment that "
            "it was asked for";
    return false;
  }
  pointer = static_cast<uint8_t *>(memory);
  bytes = wanted;
  return true;
}

bool Buffer::obtain(uint64_t wanted) noexcept {
  reset();
  wrong = nullptr;
  if (wanted == 0)
    return true;
  if (allocator.allocate)
    return obtainFromCaller(wanted);
  bool large = wanted >= hugePage;
  uint64_t length;
  if (__builtin_add_overflow(wanted, large ? hugePage : 0, &length) || length > (uint64_t{1} << 47))
    return false;
  void *base = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED)
    return false;
  mapped = base;
  mappedBytes = length;
  bytes = wanted;
  pointer = static_cast<uint8_t *>(base);
  if (large) {
    pointer = reinterpret_cast<uint8_t *>(alignUp(reinterpret_cast<uintptr_t>(base), hugePage));
    const uint64_t whole = wanted / hugePage * hugePage;
    madvise(pointer, whole, MADV_HUGEPAGE); // advice: failing costs speed only
    // The last one would bring what nobody asked for.
    useSmallPages(whole, wanted - whole);
  }
  return true;
}

void Buffer::useSmallPages(uint64_t offset, uint64_t length) noexcept {
  const uint64_t first = alignUp(offset, smallPage);
  const uint64_t end = std::min(alignUp(offset + length, smallPage), alignUp(bytes, smallPage));
  if (mapped && first < end)
    madvise(pointer + first, end - first, MADV_NOHUGEPAGE); // advice: failing costs memory only
}

void Buffer::drop(uint64_t offset, uint64_t length) noexcept {
  const uint64_t first = alignUp(offset, smallPage),
                 end = (offset + length) / smallPage * smallPage;
  if (mapped && first < end)
    madvise(pointer + first, end - first, MADV_DONTNEED);
}

void Buffer::reset() noexcept {
  if (mapped)
    munmap(mapped, mappedBytes);
  else if (pointer)
    allocator.release(pointer, bytes, bufferAlignment, allocator.user);
  pointer = nullptr;
  mapped = nullptr;
  bytes = 0;
  mappedBytes = 0;
}

} // namespace mpc::rt
