// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of cuBLASLt that is used, found by name. Numbers are those of cublasLt.h, which are
// the same in CUDA 12 and 13.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_CUBLASLT_API_H
#define MPC_RUNTIME_DRIVERS_CUDA_CUBLASLT_API_H

#include "runtime/drivers/cuda/cuda_api.h"

namespace mpc::rt::cuda::lt {

using Handle = struct OpaqueLt *;
using MatmulDesc = struct OpaqueMatmulDesc *;
using Layout = struct OpaqueLayout *;
using Preference = struct OpaquePreference *;

enum DataType : int {
  r32f = 0,
  r64f = 1,
  r16f = 2,
  r8i = 3,
  r32i = 10,
  r16bf = 14,
  r8fE4M3 = 28,
  r8fE5M2 = 29
}; // cudaDataType_t
enum ComputeType : int { // cublasComputeType_t
  compute32f = 68,
  compute64f = 70,
  compute32i = 72,
  compute32fTf32 = 77
};
enum DescAttribute : int {
  transA = 3,
  transB = 4,
  epilogue = 7,
  biasPointer = 8, // also of sums, which have the type of the result
  // Bits of relu, a row of a row-major result after the other, 16-byte aligned; or arguments of
  // gelu, in the type of the result.
  auxPointer = 11,
  auxLeading = 12 // of a row: bits, a multiple of 128; or elements, a multiple of 8
};
enum LayoutAttribute : int { batchCount = 5, batchStride = 6 };
enum PreferenceAttribute : int {
  workspaceBytes = 1,
  reductionSchemeMask = 3,
  alignmentA = 5,
  alignmentB = 6,
  alignmentC = 7,
  alignmentD = 8
};
enum Epilogue : uint32_t { // flags
  epilogueDefault = 1,     // none of them
  epilogueRelu = 2,
  epilogueBias = 4,
  epilogueBeside = 128,             // with what is at auxPointer; never alone
  epilogueReluMask = 2 | 128,       // and its bits go to auxPointer
  epilogueReluDerivative = 8 | 128, // by the bits at auxPointer
  epilogueGelu = 32,
  epilogueGeluKept = 32 | 128,       // and its arguments go to auxPointer
  epilogueGeluDerivative = 64 | 128, // at the arguments at auxPointer
  // Sums of A over the contracted dimension, one per row of D, go to biasPointer: of the row-major
  // right operand, which is A, the columns (BGRADA).
  epilogueColumnSums = 256
};
enum LibraryProperty : int { majorVersion = 0, minorVersion = 1, patchLevel = 2 };
enum Operation : int32_t { none = 0, transpose = 1 };
enum ConfigAttribute : int { configReductionScheme = 3 };
// A contraction is not split, or its partial sums stay in the compute type.
constexpr uint32_t reduceNothing = 0, reduceInComputeType = 2;

struct Algorithm {
  uint64_t data[8];
};
struct Heuristic {
  Algorithm algorithm;
  size_t workspaceBytes;
  int state; // 0: usable
  float wavesCount;
  int reserved[4];
};

#define MPC_CUBLASLT_FUNCTIONS(FUNCTION)                                                           \
  FUNCTION(create, "cublasLtCreate", (Handle * handle))                                            \
  FUNCTION(destroy, "cublasLtDestroy", (Handle handle))                                            \
  FUNCTION(descCreate, "cublasLtMatmulDescCreate",                                                 \
           (MatmulDesc * desc, ComputeType compute, DataType scale))                               \
  FUNCTION(descDestroy, "cublasLtMatmulDescDestroy", (MatmulDesc desc))                            \
  FUNCTION(descSet, "cublasLtMatmulDescSetAttribute",                                              \
           (MatmulDesc desc, DescAttribute attribute, const void *value, size_t bytes))            \
  FUNCTION(layoutCreate, "cublasLtMatrixLayoutCreate",                                             \
           (Layout * layout, DataType type, uint64_t rows, uint64_t columns, int64_t leading))     \
  FUNCTION(layoutDestroy, "cublasLtMatrixLayoutDestroy", (Layout layout))                          \
  FUNCTION(layoutSet, "cublasLtMatrixLayoutSetAttribute",                                          \
           (Layout layout, LayoutAttribute attribute, const void *value, size_t bytes))            \
  FUNCTION(preferenceCreate, "cublasLtMatmulPreferenceCreate", (Preference * preference))          \
  FUNCTION(preferenceDestroy, "cublasLtMatmulPreferenceDestroy", (Preference preference))          \
  FUNCTION(                                                                                        \
      preferenceSet, "cublasLtMatmulPreferenceSetAttribute",                                       \
      (Preference preference, PreferenceAttribute attribute, const void *value, size_t bytes))     \
  FUNCTION(property, "cublasLtGetProperty", (LibraryProperty property, int *value))                \
  FUNCTION(algorithmCheck, "cublasLtMatmulAlgoCheck",                                              \
           (Handle handle, MatmulDesc desc, Layout a, Layout b, Layout c, Layout d,                \
            const Algorithm *algorithm, Heuristic *result))                                        \
  FUNCTION(configGet, "cublasLtMatmulAlgoConfigGetAttribute",                                      \
           (const Algorithm *algorithm, ConfigAttribute attribute, void *value, size_t bytes,      \
            size_t *written))                                                                      \
  FUNCTION(heuristic, "cublasLtMatmulAlgoGetHeuristic",                                            \
           (Handle handle, MatmulDesc desc, Layout a, Layout b, Layout c, Layout d,                \
            Preference preference, int wanted, Heuristic *results, int *found))                    \
  FUNCTION(matmul, "cublasLtMatmul",                                                               \
           (Handle handle, MatmulDesc desc, const void *alpha, const void *a, Layout layoutA,      \
            const void *b, Layout layoutB, const void *beta, const void *c, Layout layoutC,        \
            void *d, Layout layoutD, const Algorithm *algorithm, void *workspace,                  \
            size_t workspaceBytes, Stream stream))

struct Api {
#define MPC_CUBLASLT_FIELD(field, symbol, parameters) int(*field) parameters;
  MPC_CUBLASLT_FUNCTIONS(MPC_CUBLASLT_FIELD)
#undef MPC_CUBLASLT_FIELD
};

// Null when the library is missing; `problem` then says what to do.
const Api *api(const char *&problem) noexcept;

} // namespace mpc::rt::cuda::lt

#endif
