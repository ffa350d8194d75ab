// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libcuda.so.1 of the software device: the functions that runtime/drivers/cuda calls.
//
//   MPC_FAKE_CUDA_CAPABILITY  compute capability times ten (default 90)
//   MPC_FAKE_CUDA_DEVICES     how many there are (default 1)
//   MPC_FAKE_CUDA_DRIVER      cuDriverGetVersion (default 13000)
//   MPC_FAKE_CUDA_LOG         a file that gets a line for whatever is done
#include "test/FakeCuda/device_memory.h"
#include "test/FakeCuda/kernels.h"
#include "test/FakeCuda/stream.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <unistd.h>

using namespace fake;

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

enum : int {
  success = 0,
  invalidValue = 1,
  outOfMemory = 2,
  notInitialized = 3,
  invalidDevice = 101,
  invalidContext = 201,
  noBinary = 209,
  invalidHandle = 400,
  notFound = 500,
  notReady = 600,
  cooperativeLaunchTooLarge = 720,
  notSupported = 801,
  captureUnsupported = 900
};

int setting(const char *name, int otherwise) {
  const char *text = std::getenv(name);
  return text && *text ? std::atoi(text) : otherwise;
}

struct LoadedModule {
  std::unique_ptr<KernelLibrary> kernels;
  std::map<std::string, const HostKernel *> found; // handles are their addresses
};

bool initialized = false;
thread_local bool hasContext = false;
int retained = 0;
std::set<LoadedModule *> modules;
std::set<Graph *> graphs, executables;
std::map<void *, size_t> pinned;

Stream *streamOf(void *handle) { return handle ? static_cast<Stream *>(handle) : &defaultStream(); }

// At the end of the process everything must have been given back.
void checkLeaks() {
  size_t left = liveAllocations() + liveStreams() + modules.size() + graphs.size() +
                executables.size() + pinned.size() + static_cast<size_t>(retained);
  if (!left)
    return;
  std::fprintf(stderr,
               "fake-cuda: error: leaked: %zu allocations (%zu bytes), %zu pinned, %zu streams, "
               "%zu modules, %zu graphs, %d contexts\n",
               liveAllocations(), liveBytes(), pinned.size(), liveStreams(), modules.size(),
               graphs.size() + executables.size(), retained);
  std::fflush(stderr);
  _exit(98);
}

} // namespace

EXPORT int cuInit(unsigned) {
  const OneAtATime lock;
  // Registered now: it runs before what it looks at is destroyed.
  if (!initialized)
    std::atexit(checkLeaks);
  initialized = true;
  return setting("MPC_FAKE_CUDA_DEVICES", 1) > 0 ? success : 100; // CUDA_ERROR_NO_DEVICE
}
EXPORT int cuDriverGetVersion(int *version) {
  const OneAtATime lock;
  *version = setting("MPC_FAKE_CUDA_DRIVER", 13000);
  return success;
}
EXPORT int cuGetErrorString(int error, const char **text) {
  const OneAtATime lock;
  switch (error) {
  case invalidValue:
    *text = "invalid argument";
    break;
  case outOfMemory:
    *text = "out of memory";
    break;
  case 100:
    *text = "no CUDA-capable device is detected";
    break;
  case invalidContext:
    *text = "invalid device context";
    break;
  case noBinary:
    *text = "no kernel image is available for execution on the device";
    break;
  case notFound:
    *text = "named symbol not found";
    break;
  case captureUnsupported:
    *text = "operation not permitted when stream is capturing";
    break;
  default:
    *text = "software device";
  }
  return success;
}
// NVRTC asks for tables of the real driver; without them it goes on by itself.
EXPORT int cuGetExportTable(const void **table, const void *) {
  const OneAtATime lock;
  *table = nullptr;
  return notFound;
}
// The real cuDNN is linked with these two (cudnn_agreement_test.cpp opens it); none of its kernels
// runs here.
EXPORT int cuTensorMapEncodeIm2col() {
  const OneAtATime lock;
  return notSupported;
}
EXPORT int cuTensorMapEncodeTiled() {
  const OneAtATime lock;
  return notSupported;
}
EXPORT int cuDeviceGetCount(int *count) {
  const OneAtATime lock;
  if (!initialized)
    return notInitialized;
  *count = setting("MPC_FAKE_CUDA_DEVICES", 1);
  return success;
}
EXPORT int cuDeviceGet(int *device, int ordinal) {
  const OneAtATime lock;
  if (ordinal < 0 || ordinal >= setting("MPC_FAKE_CUDA_DEVICES", 1))
    return invalidDevice;
  *device = ordinal;
  return success;
}
EXPORT int cuDeviceGetName(char *name, int length, int) {
  const OneAtATime lock;
  std::snprintf(name, static_cast<size_t>(length), "mpc software device");
  return success;
}
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int) {
  const OneAtATime lock;
  int capability = setting("MPC_FAKE_CUDA_CAPABILITY", 90);
  *value = attribute == 75 ? capability / 10 : attribute == 76 ? capability % 10 : 2;
  return success;
}
EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int) {
  const OneAtATime lock;
  *bytes = size_t{8} << 30;
  return success;
}
// MPC_FAKE_CUDA_FREE: so many MiB are left.
EXPORT int cuMemGetInfo_v2(size_t *available, size_t *all) {
  const OneAtATime lock;
  const char *left = std::getenv("MPC_FAKE_CUDA_FREE");
  *all = size_t{8} << 30;
  *available = left ? std::strtoull(left, nullptr, 10) << 20 : *all;
  return success;
}
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device) {
  const OneAtATime lock;
  *context = reinterpret_cast<void *>(static_cast<uintptr_t>(device + 1));
  ++retained;
  return success;
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int) {
  const OneAtATime lock;
  return retained-- > 0 ? success : invalidContext;
}
EXPORT int cuCtxSetCurrent(void *context) {
  const OneAtATime lock;
  hasContext = context != nullptr;
  return success;
}

EXPORT int cuStreamCreate(void **stream, unsigned) {
  const OneAtATime lock;
  if (!hasContext)
    return invalidContext;
  *stream = makeStream();
  return success;
}
EXPORT int cuStreamDestroy_v2(void *stream) {
  waitUntil([&] { return advance(*streamOf(stream)); });
  const OneAtATime lock;
  return destroyStream(streamOf(stream)) ? success : invalidHandle;
}
EXPORT int cuStreamSynchronize(void *stream) {
  {
    const OneAtATime lock;
    if (streamOf(stream)->recording)
      return captureUnsupported;
    log("wait");
  }
  waitUntil([&] { return advance(*streamOf(stream)); });
  return success;
}
// Nobody else does the work: only what waits for another process is found under way.
EXPORT int cuStreamQuery(void *stream) {
  const OneAtATime lock;
  if (streamOf(stream)->recording)
    return captureUnsupported;
  return advance(*streamOf(stream)) ? success : notReady;
}
EXPORT int cuStreamBeginCapture_v2(void *stream, int) {
  const OneAtATime lock;
  if (streamOf(stream)->recording)
    return captureUnsupported;
  streamOf(stream)->recording = new Graph;
  streamOf(stream)->recorder = std::this_thread::get_id();
  graphs.insert(streamOf(stream)->recording);
  return success;
}
EXPORT int cuStreamEndCapture(void *stream, void **graph) {
  const OneAtATime lock;
  if (!streamOf(stream)->recording)
    return invalidValue;
  *graph = streamOf(stream)->recording;
  streamOf(stream)->recording = nullptr;
  return success;
}
EXPORT int cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long) {
  const OneAtATime lock;
  auto *made = new Graph(*static_cast<Graph *>(graph));
  executables.insert(made);
  *executable = made;
  return success;
}
EXPORT int cuGraphDestroy(void *graph) {
  const OneAtATime lock;
  if (!graphs.erase(static_cast<Graph *>(graph)))
    return invalidHandle;
  delete static_cast<Graph *>(graph);
  return success;
}
EXPORT int cuGraphExecDestroy(void *executable) {
  const OneAtATime lock;
  if (!executables.erase(static_cast<Graph *>(executable)))
    return invalidHandle;
  delete static_cast<Graph *>(executable);
  return success;
}
EXPORT int cuGraphLaunch(void *executable, void *stream) {
  const OneAtATime lock;
  if (!executables.count(static_cast<Graph *>(executable)))
    return invalidHandle;
  auto &graph = *static_cast<Graph *>(executable);
  log("graph of " + std::to_string(graph.work.size()));
  for (const Work &work : graph.work)
    enqueue(*streamOf(stream), work);
  return success;
}

EXPORT int cuMemAlloc_v2(unsigned long long *pointer, size_t bytes) {
  const OneAtATime lock;
  if (!hasContext)
    return invalidContext;
  if (anyRecording())
    return captureUnsupported;
  if (bytes == 0)
    return invalidValue;
  void *address = allocateDevice(bytes);
  *pointer = reinterpret_cast<unsigned long long>(address);
  return address ? success : outOfMemory;
}
EXPORT int cuMemFree_v2(unsigned long long pointer) {
  waitUntil(advanceAll);
  const OneAtATime lock;
  return freeDevice(reinterpret_cast<void *>(pointer)) ? success : invalidValue;
}
EXPORT int cuMemAllocHost_v2(void **pointer, size_t bytes) {
  const OneAtATime lock;
  if (anyRecording())
    return captureUnsupported;
  *pointer = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (!*pointer)
    return outOfMemory;
  pinned[*pointer] = bytes;
  return success;
}
EXPORT int cuMemFreeHost(void *pointer) {
  waitUntil(advanceAll);
  const OneAtATime lock;
  if (!pinned.erase(pointer))
    return invalidValue;
  std::free(pointer);
  return success;
}
EXPORT int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes,
                                void *stream) {
  const OneAtATime lock;
  void *target = reinterpret_cast<void *>(to);
  if (!isDevice(target, bytes))
    return invalidValue;
  // Pinned memory is read when its turn comes, other memory at once.
  bool isPinned = false;
  for (auto &[start, size] : pinned)
    isPinned |= from >= start && from < static_cast<char *>(start) + size;
  auto copy = std::make_shared<std::string>();
  if (!isPinned) {
    if (streamOf(stream)->recording)
      return captureUnsupported;
    copy->assign(static_cast<const char *>(from), bytes);
  }
  enqueue(*streamOf(stream), "copy to device " + std::to_string(bytes),
          [=] { std::memcpy(target, isPinned ? from : copy->data(), bytes); });
  return success;
}
EXPORT int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t bytes, void *stream) {
  const OneAtATime lock;
  const void *source = reinterpret_cast<const void *>(from);
  if (!isDevice(source, bytes))
    return invalidValue;
  enqueue(*streamOf(stream), "copy to host " + std::to_string(bytes),
          [=] { std::memcpy(to, source, bytes); });
  return success;
}
EXPORT int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes,
                                void *stream) {
  const OneAtATime lock;
  void *target = reinterpret_cast<void *>(to);
  const void *source = reinterpret_cast<const void *>(from);
  if (!isDevice(target, bytes) || !isDevice(source, bytes))
    return invalidValue;
  enqueue(*streamOf(stream), "copy on device " + std::to_string(bytes),
          [=] { std::memcpy(target, source, bytes); });
  return success;
}
EXPORT int cuMemsetD8Async(unsigned long long to, unsigned char value, size_t count, void *stream) {
  const OneAtATime lock;
  void *target = reinterpret_cast<void *>(to);
  if (!isDevice(target, count))
    return invalidValue;
  enqueue(*streamOf(stream), "fill " + std::to_string(count),
          [=] { std::memset(target, value, count); });
  return success;
}

EXPORT int cuModuleLoadData(void **module, const void *image) {
  const OneAtATime lock;
  std::string problem;
  auto kernels = KernelLibrary::load(image, problem);
  if (!kernels) {
    std::fprintf(stderr, "fake-cuda: error: %s\n", problem.c_str());
    return noBinary;
  }
  auto *loaded = new LoadedModule{std::move(kernels), {}};
  modules.insert(loaded);
  *module = loaded;
  return success;
}
EXPORT int cuModuleUnload(void *module) {
  waitUntil(advanceAll);
  const OneAtATime lock;
  if (!modules.erase(static_cast<LoadedModule *>(module)))
    return invalidHandle;
  delete static_cast<LoadedModule *>(module);
  return success;
}
EXPORT int cuModuleGetFunction(void **function, void *module, const char *name) {
  const OneAtATime lock;
  const HostKernel *kernel = static_cast<LoadedModule *>(module)->kernels->find(name);
  *function = const_cast<HostKernel *>(kernel);
  return kernel ? success : notFound;
}
namespace {
constexpr unsigned blocksPerMultiprocessor = 4, multiprocessors = 2;

// How often the whole grid waits; the last two parameters are the first stage that runs, and the
// one before which it ends.
int countWaits(const HostKernel &kernel, void **parameters) {
  if (kernel.stages == 1)
    return 0;
  const int first = *static_cast<int *>(parameters[kernel.parameters - 2]),
            end = *static_cast<int *>(parameters[kernel.parameters - 1]);
  int waits = 0;
  for (int stage = first + 1; stage < end; ++stage)
    waits += kernel.waits[stage];
  return waits;
}

int launch(void *function, unsigned gridX, unsigned blockX, void *stream, void **parameters,
           bool cooperative) {
  if (!hasContext)
    return invalidContext;
  if (!function || gridX == 0 || blockX == 0 || blockX > 1024)
    return invalidValue;
  auto *kernel = static_cast<const HostKernel *>(function);
  if (kernel->stages > 1 && !cooperative)
    abortWith("%s waits for its whole grid, which only a cooperative launch has running",
              kernel->name);
  std::shared_ptr<void> arguments(kernel->pack(parameters), kernel->drop);
  Grid grid{{gridX, 1, 1}, {blockX, 1, 1}};
  const int waits = countWaits(*kernel, parameters);
  enqueue(*streamOf(stream),
          std::string("launch ") + kernel->name + (waits ? ", waits " + std::to_string(waits) : ""),
          [=] { kernel->run(arguments.get(), grid); });
  return success;
}
} // namespace

EXPORT int cuLaunchKernel(void *function, unsigned gridX, unsigned gridY, unsigned gridZ,
                          unsigned blockX, unsigned blockY, unsigned blockZ, unsigned, void *stream,
                          void **parameters, void **) {
  const OneAtATime lock;
  if (gridY != 1 || gridZ != 1 || blockY != 1 || blockZ != 1)
    return invalidValue;
  return launch(function, gridX, blockX, stream, parameters, false);
}
EXPORT int cuLaunchCooperativeKernel(void *function, unsigned gridX, unsigned gridY, unsigned gridZ,
                                     unsigned blockX, unsigned blockY, unsigned blockZ, unsigned,
                                     void *stream, void **parameters) {
  const OneAtATime lock;
  if (gridY != 1 || gridZ != 1 || blockY != 1 || blockZ != 1)
    return invalidValue;
  if (gridX > blocksPerMultiprocessor * multiprocessors)
    return cooperativeLaunchTooLarge;
  return launch(function, gridX, blockX, stream, parameters, true);
}
