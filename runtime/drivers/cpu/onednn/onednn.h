// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products into float32 by oneDNN, and packed weights. The 2.x and 3.x APIs differ, so only
// onednn_internal.h includes its headers. Failures are C++ exceptions.
#ifndef MPC_RUNTIME_DRIVERS_CPU_ONEDNN_ONEDNN_H
#define MPC_RUNTIME_DRIVERS_CPU_ONEDNN_ONEDNN_H

#include "runtime/base/memory.h"

#include <cstdint>
#include <memory>

namespace mpc::rt::onednn {

enum class Element { float32, bfloat16, int8 };

// True if oneDNN multiplies bfloat16 in hardware here (AMX or AVX512-BF16).
bool hasNativeBFloat16();
// True if oneDNN packs bfloat16 as float32 with vectors; its scalar code takes 20 times as long.
bool packsBFloat16WithVectors();
// True if oneDNN's products of int8 are exact here. Without VNNI its kernels add pairs of products
// in 16 bits, which saturate.
bool hasExactInt8();
// True if oneDNN may use AMX here: what DNNL_MAX_CPU_ISA forbids to it, our kernels leave alone,
// too.
bool hasAmx();
// False of a product over so many terms that ends the program: kernels with tiles take a rest that
// lacks less than a group of terms (pairs of bfloat16, four of int8) for a whole tile of one
// operand, and have none set up for the other's.
bool multipliesTerms(Element element, int64_t k);
// "2.6.3", as loaded.
const char *version();

// Layout of a packed [k, n] right-hand side. A function of k, n and element alone, so that one copy
// serves every batch.
class PackedLayout {
public:
  PackedLayout(int64_t k, int64_t n, Element element);
  ~PackedLayout();
  uint64_t bytes() const;
  // Packs a dense row-major [k, n], or [n, k] when transposed, converting to the layout's element.
  // `scratch` grows as oneDNN needs.
  void pack(const void *from, Element fromElement, bool transposed, void *to, Buffer &scratch);

private:
  friend class Product;
  struct Implementation;
  std::unique_ptr<Implementation> implementation;
};

// out[b, m, n] (float32; int32 of int8; bfloat16 where it is rounded) = lhs[b, m, k] * rhs[b, k, n]
// (+ bias[n]) (+ out).
struct ProductShape {
  int64_t batch = 1, m = 0, n = 0, k = 0;
  Element element = Element::float32; // of lhs and rhs
  struct Strides {
    int64_t batch, row, column; // in elements
  } lhs = {}, rhs = {}, out = {};
  const PackedLayout *packed = nullptr; // instead of rhs strides; batch must be 1
  bool bias = false, accumulate = false;
  bool isRounded = false; // each sum of bfloat16, once
};

class Product {
public:
  explicit Product(const ProductShape &shape);
  ~Product();
  // oneDNN's name of the kernel ("brg:avx512_core").
  const char *kernel() const;
  // False when only oneDNN's reference loop fits the request.
  bool isFast() const;
  // The memory that run() reserves.
  uint64_t scratchBytes() const;
  void run(const void *lhs, const void *rhs, const float *bias, void *out, Buffer &scratch);

private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation;
};

} // namespace mpc::rt::onednn

#endif
