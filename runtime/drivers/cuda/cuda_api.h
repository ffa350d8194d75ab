// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of CUDA's driver API that is used: stable C functions, found by name in libcuda.so.1.
// Declared here, so that the runtime builds, and is the same, without a CUDA toolkit.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_CUDA_API_H
#define MPC_RUNTIME_DRIVERS_CUDA_CUDA_API_H

#include <cstddef>
#include <cstdint>

namespace mpc::rt::cuda {

using Result = int; // CUresult; 0 is success
using Device = int;
using DevicePointer = unsigned long long;
using Context = struct OpaqueContext *;
using Stream = struct OpaqueStream *;
using Module = struct OpaqueModule *;
using Function = struct OpaqueFunction *;
using Graph = struct OpaqueGraph *;
using GraphExec = struct OpaqueGraphExec *;

// CUdevice_attribute.
enum Attribute : int {
  multiprocessorCount = 16,
  computeCapabilityMajor = 75,
  computeCapabilityMinor = 76
};
constexpr Result notReady = 600;          // CUDA_ERROR_NOT_READY
constexpr unsigned streamNonBlocking = 1; // CU_STREAM_NON_BLOCKING
constexpr int captureModeThreadLocal = 1; // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
constexpr int oldestDriver = 12000;       // cuDriverGetVersion: CUDA 12.0

// FIELD, SYMBOL, parameters.
#define MPC_CUDA_FUNCTIONS(FUNCTION)                                                               \
  FUNCTION(init, "cuInit", (unsigned flags))                                                       \
  FUNCTION(driverGetVersion, "cuDriverGetVersion", (int *version))                                 \
  FUNCTION(getErrorString, "cuGetErrorString", (Result error, const char **text))                  \
  FUNCTION(deviceGetCount, "cuDeviceGetCount", (int *count))                                       \
  FUNCTION(deviceGet, "cuDeviceGet", (Device * device, int ordinal))                               \
  FUNCTION(deviceGetName, "cuDeviceGetName", (char *name, int length, Device device))              \
  FUNCTION(deviceGetAttribute, "cuDeviceGetAttribute",                                             \
           (int *value, Attribute attribute, Device device))                                       \
  FUNCTION(deviceTotalMem, "cuDeviceTotalMem_v2", (size_t *bytes, Device device))                  \
  FUNCTION(primaryContextRetain, "cuDevicePrimaryCtxRetain", (Context * context, Device device))   \
  FUNCTION(primaryContextRelease, "cuDevicePrimaryCtxRelease_v2", (Device device))                 \
  FUNCTION(contextSetCurrent, "cuCtxSetCurrent", (Context context))                                \
  FUNCTION(streamCreate, "cuStreamCreate", (Stream * stream, unsigned flags))                      \
  FUNCTION(streamDestroy, "cuStreamDestroy_v2", (Stream stream))                                   \
  FUNCTION(streamSynchronize, "cuStreamSynchronize", (Stream stream))                              \
  FUNCTION(streamQuery, "cuStreamQuery", (Stream stream))                                          \
  FUNCTION(streamBeginCapture, "cuStreamBeginCapture_v2", (Stream stream, int mode))               \
  FUNCTION(streamEndCapture, "cuStreamEndCapture", (Stream stream, Graph * graph))                 \
  FUNCTION(graphInstantiate, "cuGraphInstantiateWithFlags",                                        \
           (GraphExec * executable, Graph graph, unsigned long long flags))                        \
  FUNCTION(graphDestroy, "cuGraphDestroy", (Graph graph))                                          \
  FUNCTION(graphExecDestroy, "cuGraphExecDestroy", (GraphExec executable))                         \
  FUNCTION(graphLaunch, "cuGraphLaunch", (GraphExec executable, Stream stream))                    \
  FUNCTION(memAlloc, "cuMemAlloc_v2", (DevicePointer * pointer, size_t bytes))                     \
  FUNCTION(memGetInfo, "cuMemGetInfo_v2", (size_t *free, size_t *total))                           \
  FUNCTION(memFree, "cuMemFree_v2", (DevicePointer pointer))                                       \
  FUNCTION(memAllocHost, "cuMemAllocHost_v2", (void **pointer, size_t bytes))                      \
  FUNCTION(memFreeHost, "cuMemFreeHost", (void *pointer))                                          \
  FUNCTION(memcpyToDevice, "cuMemcpyHtoDAsync_v2",                                                 \
           (DevicePointer to, const void *from, size_t bytes, Stream stream))                      \
  FUNCTION(memcpyToHost, "cuMemcpyDtoHAsync_v2",                                                   \
           (void *to, DevicePointer from, size_t bytes, Stream stream))                            \
  FUNCTION(memcpyOnDevice, "cuMemcpyDtoDAsync_v2",                                                 \
           (DevicePointer to, DevicePointer from, size_t bytes, Stream stream))                    \
  FUNCTION(memsetBytes, "cuMemsetD8Async",                                                         \
           (DevicePointer to, unsigned char value, size_t count, Stream stream))                   \
  FUNCTION(moduleLoadData, "cuModuleLoadData", (Module * module, const void *image))               \
  FUNCTION(moduleUnload, "cuModuleUnload", (Module module))                                        \
  FUNCTION(moduleGetFunction, "cuModuleGetFunction",                                               \
           (Function * function, Module module, const char *name))                                 \
  FUNCTION(launchCooperative, "cuLaunchCooperativeKernel",                                         \
           (Function function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,    \
            unsigned blockY, unsigned blockZ, unsigned sharedBytes, Stream stream,                 \
            void **parameters))                                                                    \
  FUNCTION(launchKernel, "cuLaunchKernel",                                                         \
           (Function function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,    \
            unsigned blockY, unsigned blockZ, unsigned sharedBytes, Stream stream,                 \
            void **parameters, void **extra))

struct Api {
#define MPC_CUDA_FIELD(field, symbol, parameters) Result(*field) parameters;
  MPC_CUDA_FUNCTIONS(MPC_CUDA_FIELD)
#undef MPC_CUDA_FIELD
};

// The functions, with CUDA initialised; null when there is no usable driver, and `problem` then
// says what is missing and what to do. The same answer for the whole process.
const Api *api(const char *&problem) noexcept;

} // namespace mpc::rt::cuda

#endif
