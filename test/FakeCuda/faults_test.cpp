// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The software device notices what a GPU would only sometimes notice: one failing example of each.
#include "runtime/drivers/cuda/cublaslt_api.h"
#include "test/FakeCuda/device_memory.h"
#include "test/FakeCuda/open_device.h"
#include "test/FakeCuda/stream.h"

#include <cstring>
#include <gtest/gtest.h>

namespace {

using ::testing::ExitedWithCode;
using ::testing::KilledBySignal;
using namespace mpc::rt;
using fake::OpenBlas;
using fake::OpenDevice;

TEST(FakeCudaFaults, HostCannotTouchDeviceMemory) {
  auto *memory = static_cast<uint8_t *>(fake::allocateDevice(100));
  EXPECT_EXIT(memory[0] = 1, KilledBySignal(SIGSEGV), "");
  fake::freeDevice(memory);
}

TEST(FakeCudaFaults, WritesBehindAnAllocationAreFound) {
  auto *memory = static_cast<uint8_t *>(fake::allocateDevice(100));
  auto write = [&](ptrdiff_t place) {
    fake::DeviceAccess access;
    memory[place] = 1;
  };
  EXPECT_EXIT(write(100), ExitedWithCode(99), "wrote 1 bytes behind an allocation of 100 bytes");
  EXPECT_EXIT(write(-1), ExitedWithCode(99), "before an allocation");
  EXPECT_EXIT(write(4096), KilledBySignal(SIGSEGV), "");
  write(99);
  fake::freeDevice(memory);
}

TEST(FakeCudaFaults, FreshMemoryIsNaN) {
  auto *memory = static_cast<float *>(fake::allocateDevice(sizeof(float)));
  {
    fake::DeviceAccess access;
    EXPECT_NE(*memory, *memory);
  }
  fake::freeDevice(memory);
}

TEST(FakeCudaFaults, WhoDoesNotWaitSeesOldData) {
  OpenDevice device;
  cuda::DevicePointer memory = 0;
  ASSERT_EQ(device.cuda->memAlloc(&memory, 4), 0);
  ASSERT_EQ(device.cuda->memsetBytes(memory, 7, 4, device.stream), 0);
  uint32_t seen = 0;
  ASSERT_EQ(device.cuda->memcpyToHost(&seen, memory, 4, device.stream), 0);
  EXPECT_EQ(seen, 0u);
  ASSERT_EQ(device.cuda->streamSynchronize(device.stream), 0);
  EXPECT_EQ(seen, 0x07070707u);
  device.cuda->memFree(memory);
}

TEST(FakeCudaFaults, CopiesOutsideAnAllocationAreRefused) {
  OpenDevice device;
  cuda::DevicePointer memory = 0;
  ASSERT_EQ(device.cuda->memAlloc(&memory, 4), 0);
  EXPECT_NE(device.cuda->memsetBytes(memory + 1, 0, 4, device.stream), 0);
  char host[8] = "";
  EXPECT_NE(device.cuda->memcpyToDevice(memory, host, 8, device.stream), 0);
  device.cuda->memFree(memory);
}

TEST(FakeCudaFaults, WaitingWhileRecordingIsRefused) {
  OpenDevice device;
  ASSERT_EQ(device.cuda->streamBeginCapture(device.stream, 0), 0);
  EXPECT_NE(device.cuda->streamSynchronize(device.stream), 0);
  cuda::DevicePointer memory = 0;
  EXPECT_NE(device.cuda->memAlloc(&memory, 4), 0);
  cuda::Graph graph = nullptr;
  ASSERT_EQ(device.cuda->streamEndCapture(device.stream, &graph), 0);
  device.cuda->graphDestroy(graph);
}

TEST(FakeCudaFaults, LeaksEndTheProgram) {
  auto leak = [] {
    const char *problem = nullptr;
    const cuda::Api *api = cuda::api(problem);
    cuda::Context context = nullptr;
    api->primaryContextRetain(&context, 0);
    api->contextSetCurrent(context);
    cuda::DevicePointer memory = 0;
    api->memAlloc(&memory, 4);
    std::exit(0);
  };
  EXPECT_EXIT(leak(), ExitedWithCode(98), "leaked: 1 allocations .4 bytes.");
}

TEST(FakeCudaFaults, LeakedHandlesOfTheLibraryEndTheProgram) {
  auto leak = [] {
    const char *problem = nullptr;
    const cuda::lt::Api *lt = cuda::lt::api(problem);
    cuda::lt::Handle handle = nullptr;
    cuda::lt::Layout layout = nullptr;
    lt->create(&handle);
    lt->layoutCreate(&layout, cuda::lt::r32f, 8, 8, 8);
    lt->layoutDestroy(layout);
    std::exit(0);
  };
  EXPECT_EXIT(leak(), ExitedWithCode(98), "leaked: 1 cuBLASLt handles, 0 descriptions, 0 layouts");
}

// The documented table of int8 products: one order of the operands, multiples of 4, integer
// factors.
TEST(FakeCudaFaults, IllegalProductsOfIntegersAreRefused) {
  const char *problem = nullptr;
  const cuda::lt::Api *lt = cuda::lt::api(problem);
  ASSERT_NE(lt, nullptr) << problem;
  cuda::lt::Handle handle;
  lt->create(&handle);
  auto choose = [&](int32_t transposed, uint64_t sums, cuda::lt::ComputeType compute) {
    cuda::lt::MatmulDesc desc;
    cuda::lt::Layout a, b, d;
    cuda::lt::Preference preference;
    lt->descCreate(&desc, compute, cuda::lt::r32i);
    lt->descSet(desc, cuda::lt::transA, &transposed, sizeof transposed);
    lt->layoutCreate(&a, cuda::lt::r8i, transposed ? sums : 8, transposed ? 8 : sums,
                     transposed ? sums : 8);
    lt->layoutCreate(&b, cuda::lt::r8i, sums, 3, sums);
    lt->layoutCreate(&d, cuda::lt::r32i, 8, 3, 8);
    lt->preferenceCreate(&preference);
    cuda::lt::Heuristic choice;
    int found = 0;
    int code = lt->heuristic(handle, desc, a, b, d, d, preference, 1, &choice, &found);
    lt->preferenceDestroy(preference);
    for (cuda::lt::Layout layout : {a, b, d})
      lt->layoutDestroy(layout);
    lt->descDestroy(desc);
    return code;
  };
  EXPECT_EQ(choose(1, 16, cuda::lt::compute32i), 0);
  EXPECT_NE(choose(0, 16, cuda::lt::compute32i), 0);
  EXPECT_NE(choose(1, 18, cuda::lt::compute32i), 0);
  EXPECT_NE(choose(1, 16, cuda::lt::compute32f), 0);
  lt->destroy(handle);
}

// The guide's rules for float8: one order of the operands, rows of 16 bytes, one operand at least
// in e4m3, sums in float32, which are the result.
TEST(FakeCudaFaults, IllegalProductsOfFloat8AreRefused) {
  OpenBlas device;
  const cuda::lt::Api *lt = device.lt;
  struct Product {
    cuda::lt::DataType a = cuda::lt::r8fE4M3, b = cuda::lt::r8fE4M3, d = cuda::lt::r32f;
    int32_t transposed = cuda::lt::transpose;
    uint64_t columns = 16, sums = 32;
    cuda::lt::ComputeType compute = cuda::lt::compute32f;
    uint32_t epilogue = cuda::lt::epilogueDefault, alignment = 16;
    uint64_t offset = 0;
  };
  auto choose = [&](const Product &p) {
    cuda::lt::MatmulDesc desc;
    cuda::lt::Layout a, b, d;
    cuda::lt::Preference preference;
    lt->descCreate(&desc, p.compute, cuda::lt::r32f);
    lt->descSet(desc, cuda::lt::transA, &p.transposed, sizeof p.transposed);
    lt->descSet(desc, cuda::lt::epilogue, &p.epilogue, sizeof p.epilogue);
    const uint64_t rows = p.transposed ? p.sums : p.columns;
    lt->layoutCreate(&a, p.a, rows, p.transposed ? p.columns : p.sums, rows);
    lt->layoutCreate(&b, p.b, p.sums, 3, p.sums);
    lt->layoutCreate(&d, p.d, p.columns, 3, p.columns);
    lt->preferenceCreate(&preference);
    for (auto which : {cuda::lt::alignmentA, cuda::lt::alignmentB})
      lt->preferenceSet(preference, which, &p.alignment, sizeof p.alignment);
    cuda::lt::Heuristic choice;
    int found = 0;
    int code = lt->heuristic(device.handle, desc, a, b, d, d, preference, 1, &choice, &found);
    float one = 1, zero = 0;
    auto place = [&](uint64_t at) { return reinterpret_cast<void *>(device.memory + at); };
    if (code == 0)
      code =
          lt->matmul(device.handle, desc, &one, place(p.offset), a, place(1024), b, &zero,
                     place(2048), d, place(2048), d, &choice.algorithm, nullptr, 0, device.stream);
    lt->preferenceDestroy(preference);
    for (cuda::lt::Layout layout : {a, b, d})
      lt->layoutDestroy(layout);
    lt->descDestroy(desc);
    return code;
  };
  const auto with = [&](auto change) {
    Product p;
    change(p);
    return choose(p);
  };
  EXPECT_EQ(choose({}), 0);
  EXPECT_EQ(with([](Product &p) { p.a = cuda::lt::r8fE5M2; }), 0);
  EXPECT_EQ(with([](Product &p) { p.b = cuda::lt::r8fE5M2; }), 0);
  EXPECT_NE(with([](Product &p) { p.a = p.b = cuda::lt::r8fE5M2; }), 0);
  EXPECT_NE(with([](Product &p) { p.a = cuda::lt::r16f; }), 0);
  EXPECT_NE(with([](Product &p) { p.transposed = cuda::lt::none; }), 0);
  EXPECT_NE(with([](Product &p) { p.columns = 18; }), 0);
  EXPECT_NE(with([](Product &p) { p.sums = 24; }), 0);
  EXPECT_NE(with([](Product &p) { p.compute = cuda::lt::compute32fTf32; }), 0);
  EXPECT_NE(with([](Product &p) { p.d = cuda::lt::r64f; }), 0);
  EXPECT_NE(with([](Product &p) { p.alignment = 8; }), 0);
  EXPECT_NE(with([](Product &p) { p.offset = 8; }), 0);
  device.cuda->streamSynchronize(device.stream);
}

TEST(FakeCudaFaults, MisalignedProductsAreRefused) {
  OpenBlas device;
  const cuda::lt::Api *lt = device.lt;
  const cuda::DevicePointer memory = device.memory;
  cuda::lt::MatmulDesc desc;
  cuda::lt::Layout layout;
  lt->descCreate(&desc, cuda::lt::compute32f, cuda::lt::r32f);
  lt->layoutCreate(&layout, cuda::lt::r32f, 8, 8, 8);
  cuda::lt::Heuristic choice;
  int found = 0;
  ASSERT_EQ(lt->heuristic(device.handle, desc, layout, layout, layout, layout, device.preference, 1,
                          &choice, &found),
            0);
  float one = 1, zero = 0;
  auto multiply = [&](uint64_t offset) {
    auto *a = reinterpret_cast<void *>(memory + offset);
    auto *d = reinterpret_cast<void *>(memory + 1024);
    return lt->matmul(device.handle, desc, &one, a, layout, a, layout, &zero, d, layout, d, layout,
                      &choice.algorithm, nullptr, 0, device.stream);
  };
  // Chosen for multiples of 256 bytes, which is what is promised when nothing is said.
  EXPECT_EQ(multiply(0), 0);
  EXPECT_NE(multiply(4), 0);
  lt->layoutDestroy(layout);
  lt->descDestroy(desc);
}

// The header on the bits of relu and the arguments of gelu: where they lie, how long their rows
// are, for which results.
TEST(FakeCudaFaults, IllegalBitsOfReluAndArgumentsOfGeluAreRefused) {
  OpenBlas device;
  const cuda::lt::Api *lt = device.lt;
  const cuda::DevicePointer memory = device.memory;
  // One product of 8 x 8, whose bits take 8 rows of 16 bytes, arguments 8 rows of 32.
  auto multiply = [&](uint32_t epilogue, uint64_t bits, int64_t leading, bool inDouble = false) {
    const cuda::lt::DataType type = inDouble ? cuda::lt::r64f : cuda::lt::r32f;
    cuda::lt::MatmulDesc desc;
    cuda::lt::Layout layout;
    lt->descCreate(&desc, inDouble ? cuda::lt::compute64f : cuda::lt::compute32f, type);
    lt->layoutCreate(&layout, type, 8, 8, 8);
    lt->descSet(desc, cuda::lt::epilogue, &epilogue, sizeof epilogue);
    lt->descSet(desc, cuda::lt::auxPointer, &bits, sizeof bits);
    lt->descSet(desc, cuda::lt::auxLeading, &leading, sizeof leading);
    cuda::lt::Heuristic choice;
    int found = 0;
    int code = lt->heuristic(device.handle, desc, layout, layout, layout, layout, device.preference,
                             1, &choice, &found);
    const double one = 1, zero = 0;
    const float oneFloat = 1;
    const void *alpha = inDouble ? static_cast<const void *>(&one) : &oneFloat;
    auto *a = reinterpret_cast<void *>(memory), *d = reinterpret_cast<void *>(memory + 1024);
    code = code ? code
                : lt->matmul(device.handle, desc, alpha, a, layout, a, layout, &zero, d, layout, d,
                             layout, &choice.algorithm, nullptr, 0, device.stream);
    lt->layoutDestroy(layout);
    lt->descDestroy(desc);
    return code;
  };
  const uint64_t bits = memory + 2048, last = memory + 4096 - 128;
  char host[256];
  for (uint32_t epilogue : {cuda::lt::epilogueReluMask, cuda::lt::epilogueReluDerivative}) {
    EXPECT_EQ(multiply(epilogue, bits, 128), 0);
    EXPECT_EQ(multiply(epilogue, last, 128), 0);
    EXPECT_NE(multiply(epilogue, 0, 128), 0);
    EXPECT_NE(multiply(epilogue, bits + 8, 128), 0);
    EXPECT_NE(multiply(epilogue, bits, 0), 0);
    EXPECT_NE(multiply(epilogue, bits, 64), 0);
    EXPECT_NE(multiply(epilogue, last, 256), 0); // ends behind the allocation
    EXPECT_NE(multiply(epilogue, reinterpret_cast<uint64_t>(host) / 16 * 16 + 16, 128), 0);
    EXPECT_NE(multiply(epilogue, bits, 128, /*inDouble=*/true), 0);
  }
  EXPECT_NE(multiply(cuda::lt::epilogueReluDerivative | cuda::lt::epilogueBias, bits, 128), 0);
  for (uint32_t epilogue : {cuda::lt::epilogueGeluKept, cuda::lt::epilogueGeluDerivative}) {
    EXPECT_EQ(multiply(epilogue, bits, 8), 0);
    EXPECT_EQ(multiply(epilogue, last - 128, 8), 0);
    EXPECT_NE(multiply(epilogue, 0, 8), 0);
    EXPECT_NE(multiply(epilogue, bits, 0), 0);
    EXPECT_NE(multiply(epilogue, bits, 12), 0);
    EXPECT_NE(multiply(epilogue, last, 8), 0); // ends behind the allocation
    EXPECT_NE(multiply(epilogue, reinterpret_cast<uint64_t>(host), 8), 0);
    EXPECT_NE(multiply(epilogue, bits, 8, /*inDouble=*/true), 0);
  }
  EXPECT_EQ(multiply(cuda::lt::epilogueGelu, 0, 0), 0);
  EXPECT_NE(multiply(cuda::lt::epilogueGelu, 0, 0, /*inDouble=*/true), 0);
  EXPECT_NE(multiply(cuda::lt::epilogueGeluDerivative | cuda::lt::epilogueBias, bits, 8), 0);
}

} // namespace
