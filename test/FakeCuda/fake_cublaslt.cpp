// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libcublasLt of the software device: a plain product, summed in float64 and rounded once, with
// what the real one refuses refused.
#include "test/FakeCuda/cublaslt_algorithms.h"
#include "test/FakeCuda/cublaslt_matrices.h"
#include "test/FakeCuda/driver_functions.h"
#include "test/FakeCuda/lost_time.h"
#include "test/FakeCuda/tensor_cores.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

using namespace fake;

namespace {

// Counts objects that were made and not yet destroyed: handles, descriptions, layouts, preferences.
std::atomic<int> alive[4];
enum Kind { handleKind, descriptionKind, layoutKind, preferenceKind };

// At the end of the process everything must have been given back.
void checkLeaks() {
  if (!(alive[0] | alive[1] | alive[2] | alive[3]))
    return;
  std::fprintf(stderr,
               "fake-cuda: error: leaked: %d cuBLASLt handles, %d descriptions, %d layouts, %d "
               "preferences\n",
               alive[0].load(), alive[1].load(), alive[2].load(), alive[3].load());
  std::fflush(stderr);
  _exit(98);
}

int born(Kind kind) {
  static const int registered = std::atexit(checkLeaks);
  ++alive[kind];
  return registered;
}

template <typename Type> int destroy(Kind kind, void *object) {
  alive[kind] -= object != nullptr;
  delete static_cast<Type *>(object);
  return success;
}

// The part of cublasLtEpilogue_t that is played here. MPC_FAKE_CUBLASLT_BITS=none: a library that
// knows nothing of the bits of relu.
const std::string bitsPlayed = [] {
  const char *value = std::getenv("MPC_FAKE_CUBLASLT_BITS");
  return std::string(value ? value : "");
}();

// MPC_FAKE_CUBLASLT_GELU: "none", a library without gelu; "coarse", one whose tanh is the
// hardware's instruction, off by 2^-11; "result", one that keeps gelu's result.
const std::string geluPlayed = [] {
  const char *value = std::getenv("MPC_FAKE_CUBLASLT_GELU");
  return std::string(value ? value : "");
}();

// MPC_FAKE_CUBLASLT_BGRAD: "none", a library without sums of operands; "narrow", one that adds up
// in 16 bits, or what is rounded to TF32; "reversed", one that stores sums from the end; "finite",
// one that leaves out what is not finite.
const std::string sumsPlayed = [] {
  const char *value = std::getenv("MPC_FAKE_CUBLASLT_BGRAD");
  return std::string(value ? value : "");
}();

double bend(double x) {
  const double t = std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
  return geluPlayed == "coarse" ? t * (1 + 0x1p-11) : t;
}
double gelu(double x) { return 0.5 * x * (1 + bend(x)); }
double geluSlope(double x) {
  const double t = bend(x);
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
}

// The header on the attributes: bits of one matrix, 16-byte aligned, rows of multiples of 128 that
// the columns of D fit in; arguments of gelu, in D's type, rows of multiples of 8. Nobody gives a
// bias to a derivative. Sums of A, in D's type, of one matrix: batches would need a stride,
// which nobody gives. The heuristic must see their place.
bool isLegalEpilogue(const Description &desc, const Layout &d) {
  switch (desc.epilogue) {
  case 1: // default
  case 2: // relu
  case 4: // bias
  case 6: // relu and bias
    return true;
  case 130: // relu and bits
  case 134: // relu, bias and bits
  case 136: // derivative of relu
    return bitsPlayed != "none" && (d.type == r16f || d.type == r16bf || d.type == r32f) &&
           d.batchCount == 1 && desc.aux && reinterpret_cast<uintptr_t>(desc.aux) % 16 == 0 &&
           desc.auxLeading % 128 == 0 && desc.auxLeading >= static_cast<int64_t>(d.rows);
  case 32: // gelu
  case 36: // gelu and bias
    return geluPlayed != "none" && (d.type == r16f || d.type == r16bf || d.type == r32f);
  case 160: // gelu, its arguments kept
  case 164: // gelu and bias, its arguments kept
  case 192: // derivative of gelu
    return geluPlayed != "none" && (d.type == r16f || d.type == r16bf || d.type == r32f) &&
           d.batchCount == 1 && desc.aux && desc.auxLeading % 8 == 0 &&
           desc.auxLeading >= static_cast<int64_t>(d.rows);
  case 256: // sums of A over the contracted dimension
    return sumsPlayed != "none" && (d.type == r16f || d.type == r16bf || d.type == r32f) &&
           d.batchCount == 1 && desc.bias &&
           reinterpret_cast<uintptr_t>(desc.bias) % (d.type == r32f ? 4 : 2) == 0;
  default:
    return false;
  }
}

bool isOnDevice(const void *memory, size_t bytes) {
  static auto isDevice = fake::findInDriver<decltype(&mpc_fake_is_device)>("mpc_fake_is_device");
  return isDevice(memory, bytes);
}

// Whether the sums of A's rows lie in memory of the device; the bits or arguments.
bool hasSums(const Description &desc, const Layout &d) {
  return isOnDevice(desc.bias, d.rows * (d.type == r32f ? 4 : 2));
}
bool hasAux(const Description &desc, const Layout &d) {
  const size_t leading = static_cast<size_t>(desc.auxLeading);
  const size_t rowBytes =
      desc.epilogue & (32 | 64) ? leading * (d.type == r32f ? 4 : 2) : leading / 8;
  return isOnDevice(desc.aux, rowBytes * d.columns);
}

bool isLegal(const Description &desc, const Layout &a, const Layout &b, const Layout &d) {
  uint64_t m = desc.transA ? a.columns : a.rows, k = desc.transA ? a.rows : a.columns;
  uint64_t n = desc.transB ? b.rows : b.columns, kb = desc.transB ? b.columns : b.rows;
  if (m != d.rows || n != d.columns || k != kb || m == 0 || n == 0 || k == 0)
    return false;
  for (const Layout *layout : {&a, &b, &d})
    if (layout->leading < static_cast<int64_t>(layout->rows) || layout->batchCount != d.batchCount)
      return false;
  if (isFloat8(a.type) && isFloat8(b.type))
    return isLegalInFloat8(desc, a, b, d);
  if (isFloat8(a.type) || a.type != b.type || !isLegalEpilogue(desc, d))
    return false;
  if (a.type == r8i || d.type == r32i || desc.compute == 72)
    return isLegalInIntegers(desc, a, b, d);
  if (d.type != a.type && !(d.type == r32f && a.type != r64f))
    return false;
  bool isDouble = a.type == r64f;
  return desc.compute == (isDouble ? 70 : 68) ||
         (a.type == r32f && desc.compute == fake::computeTf32);
}

struct Product {
  Description desc;
  Layout a, b, d;
  const void *pointerA, *pointerB;
  void *pointerD;
  double alpha, beta;
  uint64_t algorithm;
};

// Nothing documents what relu makes of NaN: both are played. Nor whether the bit of 0 is set ("at
// zero"), or what the derivative makes of NaN where it is not ("multiplied").
const bool keepsNaN = std::getenv("MPC_FAKE_CUBLASLT_RELU_KEEPS_NAN") != nullptr;

// Sums of rows of `count` numbers each, to what a bias has in other epilogues.
void sumRows(const Product &p, const std::vector<double> &matrix, int64_t rows, int64_t count) {
  auto *sums = const_cast<void *>(p.desc.bias);
  for (int64_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      const double number = matrix[static_cast<size_t>(row * count + i)];
      if (sumsPlayed == "finite" && !std::isfinite(number))
        continue;
      // float16 has the digits of TF32, and the range of what the trials add up.
      if (sumsPlayed == "narrow" && p.d.type == r32f)
        sum += mpc::rt::roundElement(MPC_RT_FLOAT16, number);
      else if (sumsPlayed == "narrow")
        sum = mpc::rt::roundElement(dtypeOf(p.d.type), sum + number);
      else
        sum += number;
    }
    write(sums, p.d.type, sumsPlayed == "reversed" ? rows - 1 - row : row, sum);
  }
}

void multiply(void *data) {
  const Product &p = *static_cast<Product *>(data);
  fake::loseTime("MPC_FAKE_CUBLASLT_SLOW", p.desc.epilogue);
  static const std::vector<std::string> played = algorithmsPlayed();
  if (const int milliseconds = std::atoi(played[p.algorithm].c_str()))
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  static bool isOddRun = false;
  isOddRun = !isOddRun;
  auto m = static_cast<int64_t>(p.d.rows), n = static_cast<int64_t>(p.d.columns);
  auto k = static_cast<int64_t>(p.desc.transA ? p.a.rows : p.a.columns);
  for (int32_t batch = 0; batch < p.d.batchCount; ++batch) {
    std::vector<double> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(k * n));
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < k; ++j)
        a[i * k + j] = read(p.pointerA, p.a.type,
                            batch * p.a.batchStride +
                                (p.desc.transA ? j + i * p.a.leading : i + j * p.a.leading));
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = 0; i < k; ++i)
        b[j * k + i] = read(p.pointerB, p.b.type,
                            batch * p.b.batchStride +
                                (p.desc.transB ? j + i * p.b.leading : i + j * p.b.leading));
    if (p.desc.epilogue & 256)
      sumRows(p, a, m, k);
    if (p.desc.compute == fake::computeTf32)
      fake::roundToTf32(a), fake::roundToTf32(b);
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = 0; i < m; ++i) {
        double sum = p.alpha * fake::addUp(&a[i * k], &b[j * k], k, p.desc.compute);
        int64_t place = batch * p.d.batchStride + i + j * p.d.leading;
        if (p.beta != 0)
          sum += p.beta * read(p.pointerD, p.d.type, place);
        if (p.desc.epilogue & 4)
          sum += read(p.desc.bias, p.d.type, i);
        const int64_t auxPlace = i + j * p.desc.auxLeading;
        if (p.desc.epilogue & 32) {
          const double argument = sum;
          sum = gelu(argument);
          if (p.desc.epilogue & 128)
            write(p.desc.aux, p.d.type, auxPlace, geluPlayed == "result" ? sum : argument);
        }
        if (p.desc.epilogue & 64)
          sum *= geluSlope(read(p.desc.aux, p.d.type, auxPlace));
        uint8_t *bits =
            p.desc.epilogue & 128 ? static_cast<uint8_t *>(p.desc.aux) + auxPlace / 8 : nullptr;
        if (p.desc.epilogue & 8)
          sum = *bits >> i % 8 & 1 ? sum : bitsPlayed == "multiplied" ? sum * 0 : 0;
        if ((p.desc.epilogue & 130) == 130) {
          const bool bit = bitsPlayed == "at zero" ? !(sum < 0) : sum > 0;
          *bits = static_cast<uint8_t>((*bits & ~(1 << i % 8)) | bit << i % 8);
        }
        if (p.desc.epilogue & 2)
          sum = sum > 0 || (keepsNaN && sum != sum) ? sum : 0;
        if (i == 0 && isOddRun && isPlayed(p.algorithm, "atomic"))
          sum += 1;
        write(p.pointerD, p.d.type, place, sum);
      }
  }
}

void enqueue(void *stream, const char *name, Product *product) {
  static auto function = fake::findInDriver<decltype(&mpc_fake_enqueue)>("mpc_fake_enqueue");
  auto run = [](void *p) {
    multiply(p);
    return 1;
  };
  function(stream, name, run, product, [](void *p) { delete static_cast<Product *>(p); });
}

template <typename Type> int set(Type &field, const void *value, size_t bytes) {
  if (bytes != sizeof field)
    return invalidValue;
  std::memcpy(&field, value, bytes);
  return success;
}

} // namespace

EXPORT int cublasLtCreate(void **handle) {
  *handle = new int(0);
  return born(handleKind);
}
EXPORT int cublasLtDestroy(void *handle) { return destroy<int>(handleKind, handle); }
EXPORT int cublasLtMatmulDescCreate(void **desc, int compute, int scale) {
  *desc = new Description{compute, scale};
  return born(descriptionKind);
}
EXPORT int cublasLtMatmulDescDestroy(void *desc) {
  return destroy<Description>(descriptionKind, desc);
}
EXPORT int cublasLtMatmulDescSetAttribute(void *handle, int attribute, const void *value,
                                          size_t bytes) {
  auto &desc = *static_cast<Description *>(handle);
  switch (attribute) {
  case 3:
    return set(desc.transA, value, bytes);
  case 4:
    return set(desc.transB, value, bytes);
  case 7:
    return set(desc.epilogue, value, bytes);
  case 8:
    return set(desc.bias, value, bytes);
  case 11:
    return set(desc.aux, value, bytes);
  case 12:
    return set(desc.auxLeading, value, bytes);
  default:
    return invalidValue;
  }
}
EXPORT int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t columns,
                                      int64_t leading) {
  *layout = new Layout{type, rows, columns, leading};
  return born(layoutKind);
}
EXPORT int cublasLtMatrixLayoutDestroy(void *layout) { return destroy<Layout>(layoutKind, layout); }
EXPORT int cublasLtMatrixLayoutSetAttribute(void *handle, int attribute, const void *value,
                                            size_t bytes) {
  auto &layout = *static_cast<Layout *>(handle);
  return attribute == 5   ? set(layout.batchCount, value, bytes)
         : attribute == 6 ? set(layout.batchStride, value, bytes)
                          : invalidValue;
}
EXPORT int cublasLtMatmulPreferenceCreate(void **preference) {
  *preference = new Preference;
  return born(preferenceKind);
}
EXPORT int cublasLtMatmulPreferenceDestroy(void *preference) {
  return destroy<Preference>(preferenceKind, preference);
}
EXPORT int cublasLtMatmulPreferenceSetAttribute(void *handle, int attribute, const void *value,
                                                size_t bytes) {
  auto &preference = *static_cast<Preference *>(handle);
  if (attribute == 1)
    return set(preference.workspace, value, bytes);
  if (attribute >= 5 && attribute <= 8)
    return set(preference.alignment[attribute - 5], value, bytes);
  return attribute == 3 ? success : invalidValue;
}
EXPORT int cublasLtGetProperty(int property, int *value) {
  const char *patch = std::getenv("MPC_FAKE_CUBLASLT_PATCH");
  const int version[] = {13, 1, patch ? std::atoi(patch) : 0};
  if (property < 0 || property > 2)
    return invalidValue;
  *value = version[property];
  return success;
}
EXPORT int cublasLtMatmulAlgoCheck(void *, void *desc, void *a, void *b, void *, void *d,
                                   const Algorithm *algorithm, Heuristic *result) {
  bool legal = isLegal(*static_cast<Description *>(desc), *static_cast<Layout *>(a),
                       *static_cast<Layout *>(b), *static_cast<Layout *>(d));
  // The last word says that a heuristic of this library made it.
  legal &= algorithm->data[markWord] == algorithmMark &&
           !isPlayed(algorithm->data[numberWord], "refused");
  std::memset(result, 0, sizeof *result);
  result->algorithm = *algorithm;
  return legal ? success : notSupported;
}
EXPORT int cublasLtMatmulAlgoGetHeuristic(void *, void *desc, void *a, void *b, void *, void *d,
                                          void *preference, int wanted, Heuristic *results,
                                          int *found) {
  *found = 0;
  if (!isLegal(*static_cast<Description *>(desc), *static_cast<Layout *>(a),
               *static_cast<Layout *>(b), *static_cast<Layout *>(d)))
    return notSupported;
  // The choice relies on the alignments that it was promised.
  auto &alignment = static_cast<Preference *>(preference)->alignment;
  if (isFloat8(static_cast<Layout *>(a)->type))
    for (uint32_t promised : alignment)
      if (promised % 16)
        return notSupported;
  static const size_t played = algorithmsPlayed().size();
  *found = static_cast<int>(std::min(played, static_cast<size_t>(wanted)));
  for (int number = 0; number < *found; ++number) {
    Heuristic &result = results[number];
    std::memset(&result, 0, sizeof result);
    uint64_t (&data)[8] = result.algorithm.data;
    for (int i = 0; i < 4; ++i)
      data[i] = alignment[i];
    data[numberWord] = static_cast<uint64_t>(number);
    data[schemeWord] = isPlayed(data[numberWord], "inplace") ? 1 : 0;
    data[markWord] = algorithmMark;
    result.workspaceBytes = static_cast<Preference *>(preference)->workspace;
  }
  static auto log = fake::findInDriver<decltype(&mpc_fake_log)>("mpc_fake_log");
  log("heuristic");
  return success;
}
EXPORT int cublasLtMatmulAlgoConfigGetAttribute(const Algorithm *algorithm, int attribute,
                                                void *value, size_t bytes, size_t *written) {
  if (attribute != 3 || bytes != sizeof(uint32_t)) // the reduction scheme
    return invalidValue;
  const auto scheme = static_cast<uint32_t>(algorithm->data[schemeWord]);
  std::memcpy(value, &scheme, sizeof scheme);
  *written = sizeof scheme;
  return success;
}
EXPORT int cublasLtMatmul(void *, void *desc, const void *alpha, const void *a, void *layoutA,
                          const void *b, void *layoutB, const void *beta, const void *c, void *,
                          void *d, void *layoutD, const Algorithm *algorithm, void *, size_t,
                          void *stream) {
  auto *product = new Product{*static_cast<Description *>(desc),
                              *static_cast<Layout *>(layoutA),
                              *static_cast<Layout *>(layoutB),
                              *static_cast<Layout *>(layoutD),
                              a,
                              b,
                              d,
                              0,
                              0,
                              algorithm->data[numberWord]};
  product->alpha = read(alpha, product->desc.scale, 0);
  product->beta = read(beta, product->desc.scale, 0);
  auto isAligned = [&](const void *pointer, int i) {
    return reinterpret_cast<uintptr_t>(pointer) % algorithm->data[i] == 0;
  };
  const unsigned narrow = product->a.type == r8i ? 4 : isFloat8(product->a.type) ? 16 : 1;
  if ((reinterpret_cast<uintptr_t>(a) | reinterpret_cast<uintptr_t>(b)) % narrow) {
    delete product;
    return invalidValue;
  }
  bool legal = !isPlayed(product->algorithm, "refused") &&
               isLegal(product->desc, product->a, product->b, product->d) && isAligned(a, 0) &&
               isAligned(b, 1) && isAligned(c, 2) && isAligned(d, 3) &&
               (!(product->desc.epilogue & 4) || product->desc.bias) &&
               (!(product->desc.epilogue & 128) || hasAux(product->desc, product->d)) &&
               (!(product->desc.epilogue & 256) || hasSums(product->desc, product->d));
  if (!legal) {
    delete product;
    return invalidValue;
  }
  const Description &p = product->desc;
  std::string name = "multiply " + std::to_string(product->d.columns) + "x" +
                     std::to_string(product->d.rows) + "x" +
                     std::to_string(p.transA ? product->a.rows : product->a.columns) + " type " +
                     std::to_string(product->a.type) + " compute " + std::to_string(p.compute) +
                     " epilogue " + std::to_string(p.epilogue);
  if (product->algorithm)
    name += " algorithm " + std::to_string(product->algorithm + 1);
  enqueue(stream, name.c_str(), product);
  return success;
}
