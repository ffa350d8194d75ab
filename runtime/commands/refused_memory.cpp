// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An operator new that remembers what it could not give. Sanitizers have their own.
#include "commands/refused_memory.h"

#include <cstdlib>
#include <new>

static thread_local uint64_t refused = 0;

uint64_t mpc::commands::lastRefusedBytes() { return refused; }

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) ||                         \
    __has_feature(thread_sanitizer)
#define MPC_SANITIZER_ALLOCATES
#endif
#endif

#ifndef MPC_SANITIZER_ALLOCATES
// The library's operator delete frees what malloc gave, and its other forms of new call this one.
void *operator new(std::size_t size) {
  if (void *memory = std::malloc(size ? size : 1))
    return memory;
  refused = size;
  throw std::bad_alloc();
}
#endif
