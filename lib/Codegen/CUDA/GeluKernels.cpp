// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Text of the kernels that apply gelu and its derivative behind products that cuBLASLt computes
// without them (runtime/drivers/cuda/contractor.cpp).
#include "dialects/mpc/IR/Gelu.h"
#include "lib/Codegen/CUDA/LibraryKernels.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mpc;

static const char kGelu[] = R"cuda(
// gelu in the form with tanh, and a cotangent times its derivative; in float32, rounded once.
// 0.5 (1 + tanh(u)) as 1 / (1 + e^-2u): nothing cancels where tanh is near -1.
template <class Sum> __device__ inline Sum gelu_share(Sum x) {
  return (Sum)1 / ((Sum)1 + exp((Sum)(-2 * GELU_SCALE) * (x + (Sum)GELU_CUBE * (x * x * x))));
}
template <class Sum> __device__ inline Sum gelu_of(Sum x) { return x * gelu_share(x); }
template <class Sum> __device__ inline Sum gelu_gradient_of(Sum y, Sum x) {
  const Sum p = gelu_share(x);
  return y * (p + x * p * ((Sum)1 - p) * (Sum)(2 * GELU_SCALE) * ((Sum)1 + (Sum)(3 * GELU_CUBE) * (x * x)));
}
__device__ inline f16 gelu_element(f16 x) { return narrow_f16(gelu_of(widen(x))); }
__device__ inline bf16 gelu_element(bf16 x) { return narrow_bf16(gelu_of(widen(x))); }
__device__ inline float gelu_element(float x) { return gelu_of(x); }
__device__ inline double gelu_element(double x) { return gelu_of(x); }
__device__ inline f16 gelu_gradient_element(f16 y, f16 x) {
  return narrow_f16(gelu_gradient_of(widen(y), widen(x)));
}
__device__ inline bf16 gelu_gradient_element(bf16 y, bf16 x) {
  return narrow_bf16(gelu_gradient_of(widen(y), widen(x)));
}
__device__ inline float gelu_gradient_element(float y, float x) { return gelu_gradient_of(y, x); }
__device__ inline double gelu_gradient_element(double y, double x) { return gelu_gradient_of(y, x); }
// y = gelu(x); y may be x.
template <class T> __device__ inline void gelu(T *y, const T *x, const index count) {
  const int width = 16 / sizeof(T);
  const index packs = ((size_t)x | (size_t)y) % 16 == 0 ? count / width : 0;
  for (index i = first_index(); i < packs; i += index_step()) {
    pack<T, width> p = ((const pack<T, width> *)x)[i];
#pragma unroll
    for (int k = 0; k < width; ++k)
      p.at[k] = gelu_element(p.at[k]);
    ((pack<T, width> *)y)[i] = p;
  }
  for (index i = packs * width + first_index(); i < count; i += index_step())
    y[i] = gelu_element(x[i]);
}
// y, times the derivative at x.
template <class T> __device__ inline void gelu_gradient(T *y, const T *x, const index count) {
  const int width = 16 / sizeof(T);
  const index packs = ((size_t)x | (size_t)y) % 16 == 0 ? count / width : 0;
  for (index i = first_index(); i < packs; i += index_step()) {
    pack<T, width> p = ((const pack<T, width> *)y)[i];
    const pack<T, width> at = ((const pack<T, width> *)x)[i];
#pragma unroll
    for (int k = 0; k < width; ++k)
      p.at[k] = gelu_gradient_element(p.at[k], at.at[k]);
    ((pack<T, width> *)y)[i] = p;
  }
  for (index i = packs * width + first_index(); i < count; i += index_step())
    y[i] = gelu_gradient_element(y[i], x[i]);
}
)cuda";

std::string mpc::getCudaGeluKernels() {
  std::string text =
      llvm::formatv("\n#define GELU_SCALE {0:F16}\n#define GELU_CUBE {1:F6}", kGeluScale, kGeluCube)
          .str();
  text += kGelu;
  for (auto [suffix, type] :
       {std::pair("f32", "float"), {"f64", "double"}, {"f16", "f16"}, {"bf16", "bf16"}})
    for (llvm::StringRef name : {"gelu", "gelu_gradient"})
      text += llvm::formatv("extern \"C\" __global__ void __launch_bounds__(256)\n"
                            "    mpc_{0}_{1}({2} *y, const {2} *x, const index count) {{\n  "
                            "{0}(y, x, count);\n}\n",
                            name, suffix, type)
                  .str();
  return text;
}
