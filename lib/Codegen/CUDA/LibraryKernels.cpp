// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Text of the driver's own kernels; their structs are in runtime/rules/cuda_kernels.inc. Dtypes are
// mpc_rt_dtype_t, known at run time: the branches are the same for all threads, and one kernel does
// for every combination.
#include "lib/Codegen/CUDA/LibraryKernels.h"
#include "dialects/mpc/IR/Float8.h"
#include "dialects/mpcrt/IR/Turn.h"
#include "mpc/Support/Dtype.h"
#include "runtime/rules/blas_products.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mpc;

static const char kRelu[] = R"cuda(
// relu that keeps NaN.
__device__ inline float positive(float x) { return x <= 0.0f ? 0.0f : x; }
__device__ inline double positive(double x) { return x <= 0.0 ? 0.0 : x; }
__device__ inline f16 positive(f16 x) { return widen(x) <= 0.0f ? f16{0} : x; }
__device__ inline bf16 positive(bf16 x) { return widen(x) <= 0.0f ? bf16{0} : x; }
template <class T> __device__ inline void relu(T *x, const index count) {
  const int width = 16 / sizeof(T);
  const index packs = (size_t)x % 16 == 0 ? count / width : 0;
  for (index i = first_index(); i < packs; i += index_step()) {
    pack<T, width> p = ((const pack<T, width> *)x)[i];
#pragma unroll
    for (int k = 0; k < width; ++k)
      p.at[k] = positive(p.at[k]);
    ((pack<T, width> *)x)[i] = p;
  }
  for (index i = packs * width + first_index(); i < count; i += index_step())
    x[i] = positive(x[i]);
}
extern "C" __global__ void __launch_bounds__(256) mpc_relu_f32(float *x, const index count) {
  relu(x, count);
}
extern "C" __global__ void __launch_bounds__(256) mpc_relu_f64(double *x, const index count) {
  relu(x, count);
}
extern "C" __global__ void __launch_bounds__(256) mpc_relu_f16(f16 *x, const index count) {
  relu(x, count);
}
extern "C" __global__ void __launch_bounds__(256) mpc_relu_bf16(bf16 *x, const index count) {
  relu(x, count);
}
)cuda";

static const char kReluBits[] = R"cuda(
// Bits of relu: bit k of a byte is of element 8 b + k of its row, b being the byte's place in the row,
// which is padded to a multiple of 16 bytes. A thread takes a byte at a time, by packs where rows are
// multiples of 8 elements and aligned.
__device__ inline bool is_positive(float x) { return x > 0.0f; }
__device__ inline bool is_positive(double x) { return x > 0.0; }
__device__ inline bool is_positive(f16 x) { return widen(x) > 0.0f; }
__device__ inline bool is_positive(bf16 x) { return widen(x) > 0.0f; }
template <class T> struct BitElements {
  static const int width = 16 / sizeof(T);
  alignas(16) T at[8];
  T *place;
  int count; // of a row's last byte fewer than 8, of the padding none
  bool by_packs;
  __device__ inline BitElements(T *x, const index columns, const index byte) {
    const index row_bytes = (columns + 127) / 128 * 16;
    const index row = divided(byte, row_bytes), first = (byte - row * row_bytes) * 8;
    place = x + row * columns + first;
    count = columns - first >= 8 ? 8 : columns > first ? (int)(columns - first) : 0;
    by_packs = columns % 8 == 0 && (size_t)x % 16 == 0 && count != 0;
  }
  __device__ inline void load() {
    if (by_packs)
#pragma unroll
      for (int j = 0; j < 8 / width; ++j)
        ((pack<T, width> *)at)[j] = ((const pack<T, width> *)place)[j];
    else
#pragma unroll
      for (int k = 0; k < 8; ++k)
        if (k < count)
          at[k] = place[k];
  }
  __device__ inline void store() const {
    if (by_packs)
#pragma unroll
      for (int j = 0; j < 8 / width; ++j)
        ((pack<T, width> *)place)[j] = ((const pack<T, width> *)at)[j];
    else
#pragma unroll
      for (int k = 0; k < 8; ++k)
        if (k < count)
          place[k] = at[k];
  }
};
template <class T>
__device__ inline void relu_mask(T *x, unsigned char *mask, const index columns, const index count) {
  for (index i = first_index(); i < count; i += index_step()) {
    BitElements<T> elements(x, columns, i);
    elements.load();
    unsigned byte = 0;
#pragma unroll
    for (int k = 0; k < 8; ++k)
      if (k < elements.count) {
        elements.at[k] = positive(elements.at[k]);
        byte |= (unsigned)is_positive(elements.at[k]) << k;
      }
    elements.store();
    mask[i] = (unsigned char)byte;
  }
}
template <class T>
__device__ inline void where(T *x, const unsigned char *bits, const index columns,
                             const index count) {
  for (index i = first_index(); i < count; i += index_step()) {
    BitElements<T> elements(x, columns, i);
    elements.load();
    const unsigned byte = bits[i];
#pragma unroll
    for (int k = 0; k < 8; ++k)
      if (k < elements.count && !(byte >> k & 1))
        elements.at[k] = T{0};
    elements.store();
  }
}
)cuda";

static const char kElements[] = R"cuda(
// Elements of a dtype known at run time, which is a dtype_code.
template <class Sum> __device__ inline Sum element(const void *x, int dtype, index i) {
  return dtype == dtype_float32 ? (Sum)((const float *)x)[i]
         : dtype == dtype_bfloat16 ? (Sum)widen(((const bf16 *)x)[i])
         : dtype == dtype_float16 ? (Sum)widen(((const f16 *)x)[i])
         : dtype == dtype_float64 ? (Sum)((const double *)x)[i]
         : dtype == dtype_int8 ? (Sum)((const signed char *)x)[i]
                      : (Sum)((const int *)x)[i];
}
template <class Sum> __device__ inline void set_element(void *x, int dtype, index i, Sum value) {
  if (dtype == dtype_float32)
    ((float *)x)[i] = (float)value;
  else if (dtype == dtype_bfloat16)
    ((bf16 *)x)[i] = narrow_bf16(value);
  else if (dtype == dtype_float16)
    ((f16 *)x)[i] = narrow_f16(value);
  else if (dtype == dtype_float64)
    ((double *)x)[i] = (double)value;
  else
    ((int *)x)[i] = (int)value;
}
template <class Sum> __device__ inline Sum rounded_to(int dtype, Sum value) {
  return dtype == dtype_float32 ? (Sum)(float)value
         : dtype == dtype_bfloat16 ? (Sum)widen(narrow_bf16(value))
         : dtype == dtype_float16 ? (Sum)widen(narrow_f16(value))
                      : value;
}
// The epilogue of a sum: rounding, bias and its rounding, relu that keeps NaN.
template <class Sum>
__device__ inline Sum finished(Sum sum, int dtype, const void *bias, int bias_dtype, index column,
                               int relu) {
  sum = rounded_to(dtype, sum);
  if (bias)
    sum = rounded_to(dtype, sum + element<Sum>(bias, bias_dtype, column));
  return relu && sum <= 0 ? (Sum)0 : sum;
}
)cuda";

static const char kProduct[] = R"cuda(
// Products that cuBLASLt does not take: operands of two dtypes, int8. One thread, one element.
template <class Sum>
__device__ inline void product(const ProductArguments p, const void *lhs, const void *rhs, const void *bias,
                               void *out, const index count) {
  for (index i = first_index(); i < count; i += index_step()) {
    const index row = divided(i, p.n), n = i - row * p.n, b = divided(row, p.m), m = row - b * p.m;
    Sum sum = 0;
    for (index k = 0; k < p.k; ++k)
      sum += element<Sum>(lhs, p.lhs, b * p.m * p.k + (p.transpose_lhs ? k * p.m + m : m * p.k + k)) *
             element<Sum>(rhs, p.rhs, b * p.n * p.k + (p.transpose_rhs ? n * p.k + k : k * p.n + n));
    sum = finished(sum, p.out, bias, p.bias, n, p.relu);
    if (p.accumulate)
      sum += element<Sum>(out, p.out, i);
    set_element(out, p.out, i, sum);
  }
}
extern "C" __global__ void __launch_bounds__(256)
    mpc_product_f32(const ProductArguments p, const void *lhs, const void *rhs, const void *bias, void *out,
                    const index count) {
  product<float>(p, lhs, rhs, bias, out, count);
}
extern "C" __global__ void __launch_bounds__(256)
    mpc_product_f64(const ProductArguments p, const void *lhs, const void *rhs, const void *bias, void *out,
                    const index count) {
  product<double>(p, lhs, rhs, bias, out, count);
}
extern "C" __global__ void __launch_bounds__(256)
    mpc_product_i32(const ProductArguments p, const void *lhs, const void *rhs, const void *, void *out,
                    const index count) {
  for (index i = first_index(); i < count; i += index_step()) {
    const index row = divided(i, p.n), n = i - row * p.n, b = divided(row, p.m), m = row - b * p.m;
    int sum = p.accumulate ? ((const int *)out)[i] : 0;
    for (index k = 0; k < p.k; ++k)
      sum += ((const signed char *)lhs)[b * p.m * p.k + (p.transpose_lhs ? k * p.m + m : m * p.k + k)] *
             ((const signed char *)rhs)[b * p.n * p.k + (p.transpose_rhs ? n * p.k + k : k * p.n + n)];
    ((int *)out)[i] = sum;
  }
}
)cuda";

static const char kConvolution[] = R"cuda(
// Convolutions: columns for a product, or directly when they have groups.
// Where the tap `k` of the kernel meets the image for the output `o`; -1: in the padding.
__device__ inline index image_of(const WindowArguments &w, index o, index k) {
  index place = 0, scale = 1;
  for (int d = 2; d >= 0; --d) {
    const index rows = divided(o, w.outputs[d]), taps = divided(k, w.kernel[d]);
    const index at = (o - rows * w.outputs[d]) * w.strides[d] - w.low[d] +
                     (k - taps * w.kernel[d]) * w.dilations[d];
    if (at < 0 || at >= w.images[d])
      return -1;
    place += at * scale;
    scale *= w.images[d];
    o = rows;
    k = taps;
  }
  return place;
}
// The other way round: the output that meets place `x` of the image with tap `k`; -1: none.
__device__ inline index output_of(const WindowArguments &w, index x, index k) {
  index place = 0, scale = 1;
  for (int d = 2; d >= 0; --d) {
    const index rows = divided(x, w.images[d]), taps = divided(k, w.kernel[d]);
    const index from =
        x - rows * w.images[d] + w.low[d] - (k - taps * w.kernel[d]) * w.dilations[d];
    if (from < 0)
      return -1;
    const index step = divided(from, w.strides[d]);
    if (step * w.strides[d] != from || step >= w.outputs[d])
      return -1;
    place += step * scale;
    scale *= w.outputs[d];
    x = rows;
    k = taps;
  }
  return place;
}
__device__ inline index volume(const index *extents) { return extents[0] * extents[1] * extents[2]; }

// Rows [first, ...) of the matrix whose product with the filter is the convolution: a row per output
// (per place of the image for the input's gradient), a column per tap and channel.
template <class T>
__device__ inline void columns(const WindowArguments w, const T *x, T *y, const index first,
                               const index count) {
  const bool adjoint = w.direction == 1;
  const index depth = adjoint ? w.filters : w.channels, taps = volume(w.kernel);
  const index rows = volume(adjoint ? w.images : w.outputs);
  const index places = volume(adjoint ? w.outputs : w.images);
  for (index i = first_index(); i < count; i += index_step()) {
    const index pair = divided(i, depth), c = i - pair * depth;
    const index above = divided(pair, taps), k = pair - above * taps;
    const index b = divided(first + above, rows), o = first + above - b * rows;
    const index place = adjoint ? output_of(w, o, k) : image_of(w, o, k);
    y[i] = place < 0 ? (T)0 : x[(b * places + place) * depth + c];
  }
}
extern "C" __global__ void __launch_bounds__(256)
    mpc_columns_16(const WindowArguments w, const unsigned short *x, unsigned short *y, const index first,
                   const index count) {
  columns(w, x, y, first, count);
}
extern "C" __global__ void __launch_bounds__(256)
    mpc_columns_32(const WindowArguments w, const unsigned *x, unsigned *y, const index first,
                   const index count) {
  columns(w, x, y, first, count);
}
extern "C" __global__ void __launch_bounds__(256)
    mpc_columns_64(const WindowArguments w, const unsigned long long *x, unsigned long long *y,
                   const index first, const index count) {
  columns(w, x, y, first, count);
}

// The filter [taps, channels, filters] as [taps, filters, channels].
template <class T>
__device__ inline void transposed_filter(const WindowArguments w, const T *x, T *y, const index count) {
  for (index i = first_index(); i < count; i += index_step()) {
    const index pair = divided(i, w.channels), c = i - pair * w.channels;
    const index k = divided(pair, w.filters), f = pair - k * w.filters;
    y[i] = x[(k * w.channels + c) * w.filters + f];
  }
}
extern "C" __global__ void __launch_bounds__(256)
    mpc_transposed_filter_16(const WindowArguments w, const unsigned short *x, unsigned short *y,
                         const index count) {
  transposed_filter(w, x, y, count);
}
extern "C" __global__ void __launch_bounds__(256)
    mpc_transposed_filter_32(const WindowArguments w, const unsigned *x, unsigned *y, const index count) {
  transposed_filter(w, x, y, count);
}
extern "C" __global__ void __launch_bounds__(256)
    mpc_transposed_filter_64(const WindowArguments w, const unsigned long long *x, unsigned long long *y,
                         const index count) {
  transposed_filter(w, x, y, count);
}

// The matrix [rows, columns] as [columns, rows]: filters as cuDNN wants them, and back.
template <class T>
__device__ inline void transposed(const T *x, T *y, const index rows, const index columns,
                                  const index count) {
  for (index i = first_index(); i < count; i += index_step()) {
    const index column = divided(i, rows);
    y[i] = x[(i - column * rows) * columns + column];
  }
}
extern "C" __global__ void __launch_bounds__(256)
    mpc_transposed_16(const unsigned short *x, unsigned short *y, const index rows,
                      const index columns, const index count) {
  transposed(x, y, rows, columns, count);
}
extern "C" __global__ void __launch_bounds__(256)
    mpc_transposed_32(const unsigned *x, unsigned *y, const index rows, const index columns,
                      const index count) {
  transposed(x, y, rows, columns, count);
}

// Bias and relu behind a convolution that has them not in its graph.
extern "C" __global__ void __launch_bounds__(256)
    mpc_biased(void *x, const void *bias, const int dtype, const int relu, const index columns,
               const index count) {
  for (index i = first_index(); i < count; i += index_step())
    set_element(x, dtype, i, finished(element<float>(x, dtype, i), dtype, bias, dtype, modulo(i, columns), relu));
}

// Sums of float32 as `dtype`.
extern "C" __global__ void __launch_bounds__(256)
    mpc_rounded(const float *x, void *y, const int dtype, const index count) {
  for (index i = first_index(); i < count; i += index_step())
    set_element(y, dtype, i, x[i]);
}

template <class Sum>
__device__ inline Sum convolved(const WindowArguments &w, const void *lhs, const void *rhs, index i) {
  const index channels = w.channels / w.groups, filters = w.filters / w.groups;
  const index images = volume(w.images), outputs = volume(w.outputs), taps = volume(w.kernel);
  Sum sum = 0;
  if (w.direction == 0) {
    const index above = divided(i, w.filters), f = i - above * w.filters;
    const index b = divided(above, outputs), o = above - b * outputs;
    for (index k = 0; k < taps; ++k) {
      const index place = image_of(w, o, k);
      for (index c = 0; place >= 0 && c < channels; ++c)
        sum += element<Sum>(lhs, w.lhs, (b * images + place) * w.channels + f / filters * channels + c) *
               element<Sum>(rhs, w.rhs, (k * channels + c) * w.filters + f);
    }
  } else if (w.direction == 1) {
    const index above = divided(i, w.channels), c = i - above * w.channels;
    const index b = divided(above, images), x = above - b * images;
    for (index k = 0; k < taps; ++k) {
      const index place = output_of(w, x, k), from = c / channels * filters;
      for (index f = from; place >= 0 && f < from + filters; ++f)
        sum += element<Sum>(lhs, w.lhs, (b * outputs + place) * w.filters + f) *
               element<Sum>(rhs, w.rhs, (k * channels + c % channels) * w.filters + f);
    }
  } else {
    const index pair = divided(i, w.filters), f = i - pair * w.filters;
    const index k = divided(pair, channels), c = pair - k * channels;
    for (index b = 0; b < w.batch; ++b)
      for (index o = 0; o < outputs; ++o) {
        const index place = image_of(w, o, k);
        if (place >= 0)
          sum += element<Sum>(lhs, w.lhs, (b * images + place) * w.channels + f / filters * channels + c) *
                 element<Sum>(rhs, w.rhs, (b * outputs + o) * w.filters + f);
      }
  }
  return sum;
}
template <class Sum>
__device__ inline void convolve(const WindowArguments &w, const void *lhs, const void *rhs, const void *bias,
                                void *out, const index count) {
  const index columns = w.direction == 1 ? w.channels : w.filters;
  for (index i = first_index(); i < count; i += index_step())
    set_element(out, w.out, i,
                finished(convolved<Sum>(w, lhs, rhs, i), w.out, bias, w.bias, modulo(i, columns), w.relu));
}
extern "C" __global__ void __launch_bounds__(256)
    mpc_convolve_f32(const WindowArguments w, const void *lhs, const void *rhs, const void *bias, void *out,
                     const index count) {
  convolve<float>(w, lhs, rhs, bias, out, count);
}
extern "C" __global__ void __launch_bounds__(256)
    mpc_convolve_f64(const WindowArguments w, const void *lhs, const void *rhs, const void *bias, void *out,
                     const index count) {
  convolve<double>(w, lhs, rhs, bias, out, count);
}
)cuda";

/// Whether a kernel may have to compute the product: cuBLASLt does not take it, and it is more than
/// zeros. An extent that the batch decides is no multiple of anything, and not 0 in a sum.
static bool needsKernel(mpcrt::ContractOp op) {
  auto dtypeOf = [](Value value) {
    return runtimeDtypeOf(getElementTypeOrSelf(value)).value_or(0);
  };
  auto extentOf = [](Value value, bool isLast) {
    auto type = cast<ShapedType>(value.getType());
    const int64_t axis = type.getRank() - (isLast ? 1 : 2);
    return type.isDynamicDim(axis) ? 1 : type.getDimSize(axis);
  };
  rules::BlasProduct product;
  product.lhs = dtypeOf(op.getLhs()), product.rhs = dtypeOf(op.getRhs());
  product.out = dtypeOf(op.getOut());
  product.bias = op.getBias() ? dtypeOf(op.getBias()) : product.out;
  product.n = extentOf(op.getRhs(), !op.getTransposeRhs());
  product.k = extentOf(op.getRhs(), op.getTransposeRhs());
  product.transposeLhs = mpcrt::isLhsTransposed(op),
  product.transposeRhs = mpcrt::isRhsTransposed(op);
  product.accumulate = op.getAccumulate();
  product.relu = op.getActivation() != Activation::None;
  product.hasBias = bool(op.getBias());
  const bool isZero = product.k == 0 && !product.hasBias;
  return !isZero && !product.isTaken();
}

/// The kernels of kReluBits, for each dtype.
static std::string reluBitKernels() {
  std::string text = kReluBits;
  for (auto [suffix, type] :
       {std::pair("f32", "float"), {"f64", "double"}, {"f16", "f16"}, {"bf16", "bf16"}})
    for (auto [name, bits] :
         {std::pair("relu_mask", "unsigned char *"), {"where", "const unsigned char *"}})
      text += llvm::formatv("extern \"C\" __global__ void __launch_bounds__(256)\n"
                            "    mpc_{0}_{1}({2} *x, {3}bits, const index columns, const index "
                            "count) {{\n  {0}(x, bits, columns, count);\n}\n",
                            name, suffix, type, bits)
                  .str();
  return text;
}

std::string mpc::getCudaLibraryKernels(ModuleOp module, Fp32Precision fp32Precision) {
  bool relu = false, bits = false, gelu = false, sums = false, products = false,
       convolutions = false, attention = false, float8 = false, split = false;
  module.walk([&](mpcrt::ContractOp op) {
    relu |= op.getActivation() != Activation::None;
    bits |= op.getMask() || op.getWhere();
    gelu |= op.hasGelu();
    sums |= bool(op.getSums());
    const bool isPair = isFloat8(getElementTypeOrSelf(op.getLhs()));
    float8 |= isPair;
    split |= getElementTypeOrSelf(op.getLhs()).isF32();
    products |= !isPair && needsKernel(op);
  });
  module.walk(
      [&](Operation *op) { attention |= isa<mpcrt::AttendOp, mpcrt::AttendGradientOp>(op); });
  // A convolution brings all kernels: runtime/cts runs on the library of such a model.
  module.walk([&](mpcrt::ConvolveOp) {
    relu = bits = gelu = sums = products = convolutions = attention = float8 = split = true;
  });
  bool traces = false;
  module.walk([&](mpcrt::TraceOp) { traces = true; });
  split = (split || attention) && fp32Precision == Fp32Precision::tf32x3;
  std::string text;
  if (relu || bits)
    text += kRelu; // whose functions those of bits call
  if (bits)
    text += reluBitKernels();
  if (gelu)
    text += getCudaGeluKernels();
  if (products || convolutions || attention || float8 || sums || split || traces)
    text += getCudaKernelArguments();
  if (sums)
    text += getCudaColumnSumKernels();
  if (products || convolutions || attention)
    text += kElements;
  if (products)
    text += kProduct;
  if (float8)
    text += getCudaFloat8Kernels();
  if (split)
    text += getCudaSplitKernels();
  if (convolutions)
    text += kConvolution;
  if (attention)
    text += getCudaAttentionKernels();
  if (traces)
    text += getCudaStatisticsKernels();
  return text;
}
