// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* libcuda for planning alone: cuDNN compiles the kernels of attention when it makes a plan, and
 * wants a driver that loads them. This one loads everything and runs nothing; whatever else it is
 * asked, it is a stub (CUDA_ERROR_STUB_LIBRARY), as the toolkit's. */

enum { success = 0, stubLibrary = 34 };

/* Receives a module, or something in it. */
#define LOADS(name)                                                                                \
  int name(void **result) {                                                                        \
    *result = (void *)16;                                                                          \
    return success;                                                                                \
  }
#define ACCEPTS(name)                                                                              \
  int name(void) { return success; }
#define REFUSES(name)                                                                              \
  int name(void) { return stubLibrary; }

LOADS(cuLibraryLoadData)
LOADS(cuLibraryGetKernel)
LOADS(cuKernelGetFunction)
LOADS(cuModuleLoadData)
LOADS(cuModuleLoadDataEx)
LOADS(cuModuleGetFunction)
ACCEPTS(cuFuncGetAttribute)
ACCEPTS(cuFuncSetAttribute)
ACCEPTS(cuKernelGetAttribute)
ACCEPTS(cuKernelSetAttribute)
ACCEPTS(cuLibraryUnload)
ACCEPTS(cuModuleUnload)
REFUSES(cuCtxGetCurrent)
REFUSES(cuCtxGetDevice)
REFUSES(cuCtxGetLimit)
REFUSES(cuCtxPopCurrent)
REFUSES(cuCtxPushCurrent)
REFUSES(cuDeviceGet)
REFUSES(cuDeviceGetAttribute)
REFUSES(cuDeviceGetCount)
REFUSES(cuDevicePrimaryCtxRelease)
REFUSES(cuDevicePrimaryCtxReset)
REFUSES(cuDevicePrimaryCtxRetain)
REFUSES(cuDriverGetVersion)
REFUSES(cuGetErrorName)
REFUSES(cuGetErrorString)
REFUSES(cuGetProcAddress)
REFUSES(cuGetProcAddress_v2)
REFUSES(cuInit)
REFUSES(cuLaunchCooperativeKernel)
REFUSES(cuLaunchKernel)
REFUSES(cuLaunchKernelEx)
REFUSES(cuLibraryLoadFromFile)
REFUSES(cuLinkAddData)
REFUSES(cuLinkAddData_v2)
REFUSES(cuLinkAddFile_v2)
REFUSES(cuLinkComplete)
REFUSES(cuLinkCreate)
REFUSES(cuLinkCreate_v2)
REFUSES(cuLinkDestroy)
REFUSES(cuMemcpyDtoH_v2)
REFUSES(cuModuleGetGlobal_v2)
REFUSES(cuModuleLoadFatBinary)
REFUSES(cuOccupancyMaxActiveBlocksPerMultiprocessor)
REFUSES(cuOccupancyMaxPotentialClusterSize)
REFUSES(cuStreamGetCtx)
REFUSES(cuStreamGetGreenCtx)
REFUSES(cuStreamSynchronize)
REFUSES(cuTensorMapEncodeTiled)
