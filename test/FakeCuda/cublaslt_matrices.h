// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers and structs of cublasLt.h as the look-alike has them, and which matrices of narrow types
// the real one takes.
#ifndef MPC_TEST_FAKECUDA_CUBLASLT_MATRICES_H
#define MPC_TEST_FAKECUDA_CUBLASLT_MATRICES_H

#include "runtime/base/element.h"
#include "runtime/data/half.h"

#include <cstdint>
#include <cstdlib>
#include <string>

namespace fake {

enum : int { success = 0, invalidValue = 7, notSupported = 15 };
enum : int {
  r32f = 0,
  r64f = 1,
  r16f = 2,
  r8i = 3,
  r32i = 10,
  r16bf = 14,
  r8fE4M3 = 28,
  r8fE5M2 = 29
};

struct Description {
  int compute, scale;
  int32_t transA = 0, transB = 0;
  uint32_t epilogue = 1;
  const void *bias = nullptr;
  void *aux = nullptr; // bits of relu, or arguments of gelu
  int64_t auxLeading = 0;
};
struct Layout {
  int type;
  uint64_t rows, columns;
  int64_t leading;
  int32_t batchCount = 1;
  int64_t batchStride = 0;
};
struct Preference {
  uint64_t workspace = 0;
  uint32_t alignment[4] = {256, 256, 256, 256}; // A, B, C, D
};
struct Algorithm {
  uint64_t data[8];
};
constexpr uint64_t algorithmMark = 0x6d7063; // "mpc"
// The words that say which of several algorithms it is, and how it adds up parts.
enum : int { numberWord = 5, schemeWord = 6, markWord = 7 };
struct Heuristic {
  Algorithm algorithm;
  size_t workspaceBytes;
  int state;
  float wavesCount;
  int reserved[4];
};

inline mpc_rt_dtype_t dtypeOf(int type) {
  return type == r64f      ? MPC_RT_FLOAT64
         : type == r32f    ? MPC_RT_FLOAT32
         : type == r16f    ? MPC_RT_FLOAT16
         : type == r8i     ? MPC_RT_INT8
         : type == r32i    ? MPC_RT_INT32
         : type == r8fE4M3 ? MPC_RT_FLOAT8_E4M3FN
         : type == r8fE5M2 ? MPC_RT_FLOAT8_E5M2
                           : MPC_RT_BFLOAT16;
}

inline double read(const void *base, int type, int64_t i) {
  return mpc::rt::loadElement(dtypeOf(type), base, i);
}

inline void write(void *base, int type, int64_t i, double value) {
  const bool is16Bit = type == r16f || type == r16bf;
  mpc::rt::storeElement(dtypeOf(type), base, i,
                        is16Bit ? static_cast<double>(mpc::data::toFloatOdd(value)) : value);
}

// The table of cublasLtMatmul() for int8 in columns: integers in and out, "TN" only, no epilogue,
// and multiples of 4.
inline bool isLegalInIntegers(const Description &desc, const Layout &a, const Layout &b,
                              const Layout &d) {
  bool isMultiple = d.rows % 4 == 0 && a.rows % 4 == 0;
  for (const Layout *layout : {&a, &b, &d})
    isMultiple &= layout->leading % 4 == 0;
  return a.type == r8i && d.type == r32i && desc.compute == 72 && desc.scale == r32i &&
         desc.transA == 1 && desc.transB == 0 && desc.epilogue == 1 && isMultiple;
}

inline bool isFloat8(int type) { return type == r8fE4M3 || type == r8fE5M2; }

// The guide's rules "to use FP8 kernels": compute capability 8.9 at least, sums in float32, "TN"
// there and on 9.0 and 12.x, and every extent and leading dimension of 16 bytes, that of D in its
// own type. Its tables have no pair of E5M2. MPC_FAKE_CUBLASLT_FLOAT8=none: a library without an
// algorithm.
inline bool isLegalInFloat8(const Description &desc, const Layout &a, const Layout &b,
                            const Layout &d) {
  static const int capability = [] {
    const char *text = std::getenv("MPC_FAKE_CUDA_CAPABILITY");
    return text ? std::atoi(text) : 90;
  }();
  static const char *played = std::getenv("MPC_FAKE_CUBLASLT_FLOAT8");
  bool isMultiple = d.rows * sizeof(float) % 16 == 0;
  for (const Layout *layout : {&a, &b})
    isMultiple &= layout->rows % 16 == 0 && layout->leading % 16 == 0;
  return capability >= 89 && !(played && std::string(played) == "none") &&
         !(a.type == r8fE5M2 && b.type == r8fE5M2) && d.type == r32f && desc.compute == 68 &&
         desc.scale == r32f && desc.transA == 1 && desc.transB == 0 && desc.epilogue == 1 &&
         isMultiple;
}

} // namespace fake

#endif
