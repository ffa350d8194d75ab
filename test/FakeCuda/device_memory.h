// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of the software device: the host cannot touch it, kernels cannot leave it.
#ifndef MPC_TEST_FAKECUDA_DEVICE_MEMORY_H
#define MPC_TEST_FAKECUDA_DEVICE_MEMORY_H

#include <cstddef>
#include <cstdint>

namespace fake {

// Ends the process with a message: what a real GPU would only sometimes notice.
[[noreturn]] void abortWith(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Filled with 0xFF, which is NaN in every floating type. Null when there is no memory.
void *allocateDevice(size_t bytes);
// False for an address that is not the start of an allocation. Ends the process when a guard
// around it was written.
bool freeDevice(void *address);
// Whether [address, address + bytes) lies in one allocation.
bool isDevice(const void *address, size_t bytes);
size_t liveAllocations();
size_t liveBytes();

// While one exists, the memory can be read and written.
class DeviceAccess {
public:
  DeviceAccess();
  ~DeviceAccess();
};

} // namespace fake

#endif
