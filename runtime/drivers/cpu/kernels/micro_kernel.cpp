// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which kernels run on which CPU: one table. Feature bits tell what runs, not what is fast: rows
// name the CPUs where a kernel was measured to be worth it. Beside oneDNN's they are in
// contraction_rules.cpp and convolution_rules.cpp.
#include "runtime/drivers/cpu/kernels/micro_kernel.h"
#include "mpc-rt/device.h"
#include "runtime/base/cpu.h"
#include "runtime/drivers/cpu/kernels/cpu_kind.h"
#include "runtime/drivers/cpu/kernels/int8_kernel.h"
#include "runtime/drivers/cpu/kernels/weight_kernel.h"
#include "runtime/drivers/cpu/onednn/onednn.h"

namespace mpc::rt {
namespace {

bool has(uint64_t features) { return (cpu().features & features) == features; }

bool always() { return true; }
// Our kernels leave alone what DNNL_MAX_CPU_ISA forbids to oneDNN, too.
bool mayUseLibraryTiles() { return mayUseTiles() && onednn::hasAmx(); }

// The first row that fits a CPU, a level of x86-64 and a dtype has the kernel.
template <typename Kernel> struct Row {
  uint32_t cpus; // of CpuKind
  int isa;       // at least
  int dtype;     // of both operands
  uint64_t features;
  bool (*mayRun)();
  const Kernel *kernel;
};

constexpr int v2 = MPC_RT_ISA_X86_64_V2, v3 = MPC_RT_ISA_X86_64_V3, v4 = MPC_RT_ISA_X86_64_V4;

constexpr Row<MicroKernel> microKernels[] = {
    // Granite and Emerald Rapids.
    {everyCpu, v4, MPC_RT_BFLOAT16, 0, mayUseLibraryTiles, &amxBFloat16},
    // Twice as fast as float32 on Zen 4 and 5; on Granite Rapids half as fast.
    {amdCpus, v4, MPC_RT_BFLOAT16, MPC_RT_FEATURE_AVX512_BF16, always, &avx512BFloat16},
    {amdCpus, v4, MPC_RT_FLOAT32, MPC_RT_FEATURE_AVX512_V4, always, &avx512Float32},
    // Measured on an Intel with AMX; no other Intel was at hand (docs/decisions/0102).
    {everyCpu, v4, MPC_RT_FLOAT32, MPC_RT_FEATURE_AVX512_V4, always, &avx512Float32Ahead},
    // Zen 3, and Zen 5 without its AVX-512.
    {everyCpu, v3, MPC_RT_FLOAT32, 0, always, &avx2Float32},
    // Zen 4 without its AVX.
    {everyCpu, v2, MPC_RT_FLOAT32, 0, always, &sse4Float32},
};

// Weights of a few rows come from memory, half as many bytes as in panels of float32. VDPBF16PS has
// half of float32's rate on Emerald Rapids, where this was measured.
constexpr Row<MicroKernel> streamedKernels[] = {
    {intelWithoutAmx, v4, MPC_RT_BFLOAT16, MPC_RT_FEATURE_AVX512_V4, always, &avx512Widened}};

// oneDNN's kernels are as fast, but its threads are not ours, and a few rows wait for them (Zen 4,
// Emerald Rapids).
constexpr Row<Int8Kernel> int8Kernels[] = {
    {everyCpu, v4, MPC_RT_INT8, MPC_RT_FEATURE_AMX_INT8, mayUseLibraryTiles, &amxInt8},
    {everyCpu, v4, MPC_RT_INT8, MPC_RT_FEATURE_AVX512_VNNI, always, &vnniInt8},
    // oneDNN has no exact one for such CPUs.
    {everyCpu, v3, MPC_RT_INT8, 0, always, &avx2Int8},
};

template <typename Kernel, size_t N>
const Kernel *find(const Row<Kernel> (&rows)[N], int isa, int dtype) {
  for (const Row<Kernel> &row : rows)
    if ((row.cpus & cpuKind()) && isa >= row.isa && dtype == row.dtype && has(row.features) &&
        row.mayRun())
      return row.kernel;
  return nullptr;
}

} // namespace

// Measured on Zen 4 and 5, on Zen 3 (docs/decisions/0163), and on Intel's (Emerald Rapids), where a
// step in float32 is as fast and takes 0.8 of the memory; with tiles it was not, whose products of
// 1024 rows spent a quarter of their time on packing all of rhs before (docs/decisions/0034).
bool packsColumnsOnce(const MicroKernel &kernel) noexcept { return isaOf(kernel) >= v3; }

const MicroKernel *bfloat16MicroKernel(int isa) noexcept {
  return find(microKernels, isa, MPC_RT_BFLOAT16);
}

const MicroKernel *float32MicroKernel(int isa) noexcept {
  return find(microKernels, isa, MPC_RT_FLOAT32);
}

// Without tiles it takes VDPBF16PS.
bool convolvesBFloat16() noexcept {
  return onednn::hasNativeBFloat16() && !(cpuKind() & intelWithoutAmx);
}

FinishPixels nativeFinishOfBFloat16(int64_t lanes) noexcept {
  constexpr int64_t lanesOfV4 = 16;
  return lanes == lanesOfV4 && has(MPC_RT_FEATURE_AVX512_BF16) ? avx512FinishBFloat16 : nullptr;
}

const MicroKernel *streamedMicroKernel(int isa) noexcept {
  return find(streamedKernels, isa, MPC_RT_BFLOAT16);
}

const Int8Kernel *int8Kernel(int isa) noexcept { return find(int8Kernels, isa, MPC_RT_INT8); }

const WeightKernel *weightKernel(int isa, int dtype) noexcept {
  const MicroKernel *kernel = find(microKernels, isa, dtype);
  return kernel ? kernel->weights : nullptr;
}

int isaOf(const MicroKernel &kernel) noexcept {
  for (const auto &row : microKernels)
    if (row.kernel == &kernel)
      return row.isa;
  return v4; // the streamed one
}

int packedDtype(const MicroKernel &kernel) noexcept {
  constexpr int64_t bytesOfBFloat16 = 2;
  return kernel.pieces[0]->laneBytes == kernel.depth * bytesOfBFloat16 ? MPC_RT_BFLOAT16
                                                                       : MPC_RT_FLOAT32;
}

const PieceKernel &pieceKernelFor(const MicroKernel &kernel, int64_t columns) noexcept {
  const PieceKernel &many = *kernel.pieces[0], &few = *kernel.pieces[1];
  const PieceKernel *between = kernel.piecesBetween, *vector = kernel.piecesOfVector;
  if (vector && columns <= vector->columns)
    return *vector;
  if (between && columns % between->columns == 0 && columns % many.columns != 0)
    return *between;
  return columns % many.columns == 0 || columns % many.columns > few.columns ? many : few;
}

} // namespace mpc::rt
