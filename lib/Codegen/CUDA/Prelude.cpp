// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The text before the kernels.
#include "lib/Codegen/CUDA/Prelude.h"

// float16 and bfloat16 are bits: NVRTC's headers for them cost more time than all kernels of a
// model. The compiler's own conversions are one instruction each; the portable ones beside them
// give the same numbers (a NaN may have another payload).
static const char kPrelude[] = R"cuda(typedef long long index;

struct f16 {
  unsigned short bits;
};
struct bf16 {
  unsigned short bits;
};

template <class To, class From> __device__ inline To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}
__device__ inline float f32_of_bits(unsigned bits) { return bits_as<float>(bits); }
__device__ inline double f64_of_bits(unsigned long long bits) { return bits_as<double>(bits); }

__device__ inline float widen(bf16 x) { return f32_of_bits((unsigned)x.bits << 16); }
__device__ inline bf16 narrow_bf16(float x) {
  bf16 y;
#if defined(__CUDACC_RTC__) && __CUDA_ARCH__ >= 800
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
#else
  const unsigned bits = bits_as<unsigned>(x);
  y.bits = x != x ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
#endif
  return y;
}

#ifdef __CUDACC_RTC__
__device__ inline float widen(f16 x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}
__device__ inline f16 narrow_f16(float x) {
  f16 y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
  return y;
}
#else
inline float widen(f16 x) {
  const unsigned magnitude = (x.bits & 0x7fffu) << 13, exponent = magnitude & 0x0f800000;
  const unsigned normal = magnitude + (112u << 23);
  const float subnormal = f32_of_bits(normal + (1u << 23)) - f32_of_bits(113u << 23);
  const unsigned bits = exponent == 0x0f800000 ? normal + (112u << 23)
                        : exponent == 0        ? bits_as<unsigned>(subnormal)
                                               : normal;
  return f32_of_bits(bits | (x.bits & 0x8000u) << 16);
}
inline f16 narrow_f16(float x) {
  const unsigned bits = bits_as<unsigned>(x), sign = bits & 0x80000000u, magnitude = bits ^ sign;
  // 0.5: its last bit has the weight of the smallest number.
  const unsigned magic = 126u << 23;
  unsigned y;
  if (magnitude >= 143u << 23)
    y = magnitude > 0x7f800000 ? 0x7e00 : 0x7c00;
  else if (magnitude < 113u << 23)
    y = bits_as<unsigned>(f32_of_bits(magnitude) + f32_of_bits(magic)) - magic;
  else
    y = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
  return f16{(unsigned short)(y | sign >> 16)};
}
#endif

// float8: bits that only products read. What is too large is NaN where there is no infinity.
struct f8e4m3 {
  unsigned char bits;
};
struct f8e5m2 {
  unsigned char bits;
};
template <int fraction, int smallest> __device__ inline unsigned narrow_8(unsigned magnitude) {
  // Its last bit has the weight of the smallest number.
  const unsigned magic = (unsigned)(smallest + 23 - fraction) << 23;
  const int lost = 23 - fraction;
  if (magnitude < (unsigned)smallest << 23)
    return bits_as<unsigned>(f32_of_bits(magnitude) + f32_of_bits(magic)) - magic;
  const unsigned half = (1u << (lost - 1)) - 1 + (magnitude >> lost & 1);
  return (magnitude - ((unsigned)(smallest - 1) << 23) + half) >> lost;
}
__device__ inline f8e4m3 narrow_f8e4m3(float x) {
  const unsigned magnitude = bits_as<unsigned>(x) & 0x7fffffffu;
#if defined(__CUDACC_RTC__) && __CUDA_ARCH__ >= 890
  unsigned short pair;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(f32_of_bits(magnitude)));
  const unsigned y = pair;
#else
  const unsigned y = narrow_8<3, 121>(magnitude);
#endif
  // 464 and less rounds to 448, the largest number.
  const unsigned sign = bits_as<unsigned>(x) >> 24 & 0x80;
  return f8e4m3{(unsigned char)(magnitude > 0x43e80000 ? sign | 0x7f : sign | y)};
}
__device__ inline f8e5m2 narrow_f8e5m2(float x) {
  const unsigned magnitude = bits_as<unsigned>(x) & 0x7fffffffu;
#if defined(__CUDACC_RTC__) && __CUDA_ARCH__ >= 890
  unsigned short pair;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(f32_of_bits(magnitude)));
  const unsigned y = pair;
#else
  const unsigned y = narrow_8<2, 113>(magnitude);
#endif
  // Less than 61440 rounds to 57344, the largest number.
  const unsigned sign = bits_as<unsigned>(x) >> 24 & 0x80;
  return f8e5m2{(unsigned char)(magnitude > 0x7f800000    ? sign | 0x7e
                                : magnitude >= 0x47700000 ? sign | 0x7c
                                                          : sign | y)};
}

// float64 to a small float in one rounding: through float32 with the last bit set when inexact.
__device__ inline float round_to_odd(double x) {
  const float nearest = (float)x;
  const bool inexact = (double)nearest < x || (double)nearest > x;
  const bool away = fabs((double)nearest) > fabs(x);
  return f32_of_bits((bits_as<unsigned>(nearest) - (away ? 1u : 0u)) | (inexact ? 1u : 0u));
}
__device__ inline f16 narrow_f16(double x) { return narrow_f16(round_to_odd(x)); }
__device__ inline bf16 narrow_bf16(double x) { return narrow_bf16(round_to_odd(x)); }

// NaN wins; +0 is more than -0.
__device__ inline float maximum(float a, float b) {
  return a != a   ? a
         : b != b ? b
         : a == b ? f32_of_bits(bits_as<unsigned>(a) & bits_as<unsigned>(b))
         : a > b  ? a
                  : b;
}
__device__ inline float minimum(float a, float b) { return -maximum(-a, -b); }
__device__ inline double maximum(double a, double b) {
  return a != a   ? a
         : b != b ? b
         : a == b ? f64_of_bits(bits_as<unsigned long long>(a) & bits_as<unsigned long long>(b))
         : a > b  ? a
                  : b;
}
__device__ inline double minimum(double a, double b) { return -maximum(-a, -b); }
template <class T> __device__ inline T maximum_number(T a, T b) {
  return a != a ? b : b != b ? a : maximum(a, b);
}
template <class T> __device__ inline T minimum_number(T a, T b) {
  return a != a ? b : b != b ? a : minimum(a, b);
}
__device__ inline float reciprocal_sqrt(float x) { return 1.0f / sqrtf(x); }
__device__ inline double reciprocal_sqrt(double x) { return 1.0 / sqrt(x); }
template <class T> __device__ inline bool is_nan(T x) { return x != x; }
template <class T> __device__ inline bool is_infinite(T x) { return x == x && x - x != x - x; }
template <class T> __device__ inline bool is_finite(T x) { return x - x == x - x; }

// Neighbours that are read and written at once.
template <class T, int count> struct alignas(sizeof(T) * count) pack {
  T at[count];
};

// Divides numbers that are not negative. A division of 64 bits takes some hundred instructions, one
// of 32 twenty.
__device__ inline index divided(const index a, const index b) {
  return (a | b) >> 32 ? a / b : (index)((unsigned)a / (unsigned)b);
}
__device__ inline index modulo(const index a, const index b) {
  return (a | b) >> 32 ? a % b : (index)((unsigned)a % (unsigned)b);
}

// Every kernel covers its iterations in steps of the whole grid. The first iterations are those of
// the thread so many blocks further on.
__device__ inline index first_index() { return blockIdx.x * (index)blockDim.x + threadIdx.x; }
__device__ inline index first_index(const unsigned first_block) {
  return (blockIdx.x + gridDim.x - first_block % gridDim.x) % gridDim.x * (index)blockDim.x + threadIdx.x;
}
__device__ inline unsigned blocks_of(const index threads) {
  return (unsigned)((threads + blockDim.x - 1) / blockDim.x);
}
__device__ inline index index_step() { return gridDim.x * (index)blockDim.x; }

// Rows that a thread takes of its columns, where they share more than they have of their own: fewer
// where that would leave too few threads to fill the GPU.
__device__ inline index rows_of_thread(const index packs) {
  const index most = 8, threads = 65536, rows = packs / threads;
  return rows < 1 ? 1 : rows < most ? rows : most;
}

// Where a warp takes an iteration: all its lanes come to the same places.
__device__ inline index first_row() { return first_index() / 32; }
__device__ inline index first_row(const unsigned first_block) { return first_index(first_block) / 32; }
__device__ inline index row_step() { return index_step() / 32; }
// The variable of the lane whose number differs in `bit`.
#ifdef __CUDACC_RTC__
template <class T> __device__ inline T other_lane(const T x, const int bit) {
  T y;
  if constexpr (sizeof(T) == 8) {
    const auto bits = __shfl_xor_sync(0xffffffffu, bits_as<unsigned long long>(x), bit);
    memcpy(&y, &bits, sizeof y);
  } else {
    unsigned bits = 0;
    memcpy(&bits, &x, sizeof x);
    bits = __shfl_xor_sync(0xffffffffu, bits, bit);
    memcpy(&y, &bits, sizeof y);
  }
  return y;
}
#else
template <class T> inline T other_lane(T x, const int bit) {
  exchange(&x, sizeof x, bit); // the software device's
  return x;
}
#endif

// Stages of a kernel, from `first_stage` up to `end_stage`: before each but the first, all threads of
// the grid wait for all others, unless it runs beside the one before it. The launch is cooperative, so
// that every block runs; the highest bit of `grid_arrivals` flips when the last one has come. (The
// software device runs stage after stage, those beside each other from the last to the first.)
#ifndef MPC_STAGE
__device__ unsigned grid_arrivals = 0;
__device__ __noinline__ void wait_for_grid() {
  __syncthreads();
  if (threadIdx.x == 0) {
    const unsigned mine = blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1u;
    __threadfence();
    const unsigned before = atomicAdd(&grid_arrivals, mine);
    while (((before ^ *(volatile unsigned *)&grid_arrivals) & 0x80000000u) == 0)
      ;
    __threadfence();
  }
  __syncthreads();
}
#define MPC_STAGE(number)                                                                          \
  if (number > first_stage && number < end_stage)                                                  \
    wait_for_grid();                                                                               \
  if (number >= first_stage && number < end_stage)
#define MPC_BESIDE(number) if (number >= first_stage && number < end_stage)
#endif
)cuda";

llvm::StringRef mpc::getCudaPrelude() { return kPrelude; }
