// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each allocation has pages of its own: they are closed while the host runs, the page behind them
// is closed always, and what is left of the last page is a guard.
#include "test/FakeCuda/device_memory.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <map>
#include <sys/mman.h>
#include <unistd.h>

namespace fake {
namespace {

constexpr size_t page = 4096, alignment = 256;
constexpr unsigned char guardByte = 0xA5;

struct Allocation {
  size_t bytes;     // asked for
  uint8_t *mapping; // whole pages, the last one closed
  size_t mapped;
};

std::map<uint8_t *, Allocation> allocations;
int accesses = 0;

// The bytes before the start and behind the end that nobody may write.
template <typename Visit> void visitGuards(uint8_t *start, const Allocation &a, Visit visit) {
  for (uint8_t *p = a.mapping; p < start; ++p)
    visit(p);
  for (uint8_t *p = start + a.bytes; p < a.mapping + a.mapped - page; ++p)
    visit(p);
}

void protect(int protection) {
  for (auto &[start, a] : allocations)
    mprotect(a.mapping, a.mapped - page, protection);
}

void checkGuards() {
  for (auto &[first, a] : allocations)
    visitGuards(first, a, [&a = a, first = first](uint8_t *p) {
      if (*p != guardByte)
        abortWith("a kernel or copy wrote %td bytes %s an allocation of %zu bytes",
                  p < first ? first - p : p - first - static_cast<ptrdiff_t>(a.bytes) + 1,
                  p < first ? "before" : "behind", a.bytes);
    });
}

} // namespace

void abortWith(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::fprintf(stderr, "fake-cuda: error: ");
  std::vfprintf(stderr, format, arguments);
  std::fprintf(stderr, "\n");
  va_end(arguments);
  std::fflush(stderr);
  _exit(99);
}

void *allocateDevice(size_t bytes) {
  if (bytes > (size_t{1} << 40))
    return nullptr;
  size_t body = (bytes + alignment - 1) / alignment * alignment;
  size_t mapped = (body + page - 1) / page * page + page;
  void *address = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED)
    return nullptr;
  // Pages are closed and opened around each piece of work, which of large ones are few.
  madvise(address, mapped, MADV_HUGEPAGE);
  auto *mapping = static_cast<uint8_t *>(address);
  uint8_t *start = mapping + mapped - page - body;
  Allocation a{bytes, mapping, mapped};
  std::memset(start, 0xFF, bytes);
  visitGuards(start, a, [](uint8_t *p) { *p = guardByte; });
  mprotect(mapping + mapped - page, page, PROT_NONE);
  if (!accesses)
    mprotect(mapping, mapped - page, PROT_NONE);
  allocations[start] = a;
  return start;
}

bool freeDevice(void *address) {
  auto found = allocations.find(static_cast<uint8_t *>(address));
  if (found == allocations.end())
    return false;
  {
    DeviceAccess access; // checks the guards when it ends
  }
  munmap(found->second.mapping, found->second.mapped);
  allocations.erase(found);
  return true;
}

bool isDevice(const void *address, size_t bytes) {
  auto *p = static_cast<uint8_t *>(const_cast<void *>(address));
  auto after = allocations.upper_bound(p);
  if (after == allocations.begin())
    return false;
  auto &[start, a] = *--after;
  return bytes <= a.bytes && static_cast<size_t>(p - start) <= a.bytes - bytes;
}

size_t liveAllocations() { return allocations.size(); }
size_t liveBytes() {
  size_t sum = 0;
  for (auto &[start, a] : allocations)
    sum += a.bytes;
  return sum;
}

DeviceAccess::DeviceAccess() {
  if (accesses++ == 0)
    protect(PROT_READ | PROT_WRITE);
}
DeviceAccess::~DeviceAccess() {
  if (--accesses)
    return;
  checkGuards();
  protect(PROT_NONE);
}

} // namespace fake
