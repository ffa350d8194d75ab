// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// im2col: row (sample, pixel), column (tap, channel) holds the pixel that the tap meets there,
// zeros outside. The input's gradient is the same with outputs and images exchanged and the filter
// transposed and mirrored.
#include "runtime/drivers/cuda/convolver.h"
#include "runtime/base/dtype.h"
#include "runtime/base/memory.h"
#include "runtime/drivers/cuda/library_kernels.h"
#include "runtime/drivers/cuda/trial_time.h"

#include <algorithm>
#include <string>

namespace mpc::rt::cuda {
namespace {

// The matrix of im2col of one piece: large enough to fill any GPU, small beside its memory.
constexpr uint64_t pieceBytes = uint64_t{128} << 20;
constexpr uint64_t partAlignment = 256;

bool isByOne(const Convolution &c) {
  Convolution::Extents ones = {1, 1, 1}, zeros = {0, 0, 0};
  return c.kernel == ones && c.strides == ones && c.low == zeros && c.images == c.outputs;
}

std::string sized(const char *name, mpc_rt_dtype_t dtype) {
  return name + std::to_string(8 * dtypeSize(dtype));
}

// Rows of a piece: all, or as many as fit.
int64_t rowsOfPiece(int64_t rows, int64_t width, mpc_rt_dtype_t dtype) {
  auto fit = static_cast<int64_t>(pieceBytes / (static_cast<uint64_t>(width) * dtypeSize(dtype)));
  // A multiple of 64 keeps the pieces in `out` aligned.
  return std::min(rows, std::max<int64_t>(64, fit / 64 * 64));
}

} // namespace

mpc_rt_status_t Convolver::launchIm2col(const Convolution &c, const void *from, uint8_t *to,
                                        int64_t first, int64_t rows, int64_t width) {
  WindowArguments window = argumentsOf(c);
  int64_t count = rows * width;
  void *parameters[] = {&window, &from, &to, &first, &count};
  return kernels.launchNamed(sized("mpc_columns_", c.lhs).c_str(), parameters, count);
}

mpc_rt_status_t Convolver::directly(const Convolution &c, const void *lhs, const void *rhs,
                                    const void *bias, void *out, const char *) {
  WindowArguments window = argumentsOf(c);
  bool inDouble = c.lhs == MPC_RT_FLOAT64 || c.rhs == MPC_RT_FLOAT64 || c.out == MPC_RT_FLOAT64;
  const void *added = c.hasBias ? bias : nullptr;
  int64_t count = c.outElements();
  void *parameters[] = {&window, &lhs, &rhs, &added, &out, &count};
  return kernels.launchNamed(inDouble ? "mpc_convolve_f64" : "mpc_convolve_f32", parameters, count);
}

mpc_rt_status_t Convolver::toPixels(const Convolution &c, uint32_t id, const void *lhs,
                                    const void *rhs, const void *bias, void *out,
                                    const char *layer) {
  bool adjoint = c.direction == MPC_RT_CONVOLUTION_INPUT_GRADIENT;
  Contraction product;
  product.batch = 1;
  product.n = adjoint ? c.channels : c.filters;
  product.k = Convolution::product(c.kernel) * (adjoint ? c.filters : c.channels);
  product.lhs = c.lhs, product.rhs = c.rhs, product.out = c.out, product.bias = c.bias;
  product.hasBias = c.hasBias, product.relu = c.relu;
  int64_t rows = c.batch * Convolution::product(adjoint ? c.images : c.outputs);
  if (isByOne(c)) {
    // The operands as they lie in memory; the filter's columns are the channels.
    product.m = rows;
    product.transposeRhs = adjoint;
    return contractor.multiply({ProductKind::convolution, id, c.batch, 0}, product, lhs, rhs, bias,
                               out, layer);
  }
  int64_t piece = rowsOfPiece(rows, product.k, c.lhs);
  uint64_t filterBytes =
      adjoint ? alignUp(static_cast<uint64_t>(c.filterElements()) * dtypeSize(c.rhs), partAlignment)
              : 0;
  if (auto status = scratch.reserve(
          filterBytes + static_cast<uint64_t>(piece * product.k) * dtypeSize(c.lhs), layer))
    return status;
  const void *filter = rhs;
  if (adjoint) {
    WindowArguments window = argumentsOf(c);
    filter = scratch.data();
    int64_t count = c.filterElements();
    void *parameters[] = {&window, &rhs, &filter, &count};
    if (auto status =
            kernels.launchNamed(sized("mpc_transposed_filter_", c.rhs).c_str(), parameters, count))
      return status;
  }
  uint8_t *matrix = scratch.data() + filterBytes;
  for (int64_t first = 0; first < rows; first += piece) {
    product.m = std::min(piece, rows - first);
    if (auto status = launchIm2col(c, lhs, matrix, first, product.m, product.k))
      return status;
    auto *target =
        static_cast<uint8_t *>(out) + static_cast<uint64_t>(first * product.n) * dtypeSize(c.out);
    if (auto status =
            contractor.multiply({ProductKind::convolution, id, c.batch, product.m == piece ? 0 : 1},
                                product, matrix, filter, bias, target, layer))
      return status;
  }
  return MPC_RT_OK;
}

mpc_rt_status_t Convolver::toFilter(const Convolution &c, uint32_t id, const void *lhs,
                                    const void *rhs, void *out, const char *layer) {
  Contraction product;
  product.batch = 1;
  product.m = Convolution::product(c.kernel) * c.channels;
  product.n = c.filters;
  product.lhs = c.lhs, product.rhs = c.rhs, product.out = product.bias = c.out;
  product.transposeLhs = true;
  int64_t rows = c.batch * Convolution::product(c.outputs);
  if (isByOne(c)) {
    product.k = rows;
    return contractor.multiply({ProductKind::convolution, id, c.batch, 0}, product, lhs, rhs,
                               nullptr, out, layer);
  }
  int64_t piece = rowsOfPiece(rows, product.m, c.lhs);
  // Pieces add up in float32: one rounding, at the end.
  bool inParts = piece < rows && dtypeSize(c.out) == 2;
  uint64_t sumBytes =
      inParts ? alignUp(static_cast<uint64_t>(c.filterElements()) * 4, partAlignment) : 0;
  if (auto status = scratch.reserve(
          sumBytes + static_cast<uint64_t>(piece * product.m) * dtypeSize(c.lhs), layer))
    return status;
  void *sums = inParts ? scratch.data() : out;
  if (inParts)
    product.out = product.bias = MPC_RT_FLOAT32;
  uint8_t *matrix = scratch.data() + sumBytes;
  for (int64_t first = 0; first < rows; first += piece) {
    product.k = std::min(piece, rows - first);
    product.accumulate = first > 0;
    if (auto status = launchIm2col(c, lhs, matrix, first, product.k, product.m))
      return status;
    auto *part = static_cast<const uint8_t *>(rhs) +
                 static_cast<uint64_t>(first * product.n) * dtypeSize(c.rhs);
    int part_of = (product.k == piece ? 0 : 1) + (product.accumulate ? 2 : 0);
    if (auto status = contractor.multiply({ProductKind::convolution, id, c.batch, part_of}, product,
                                          matrix, part, nullptr, sums, layer))
      return status;
  }
  if (!inParts)
    return MPC_RT_OK;
  int64_t count = c.filterElements();
  auto dtype = static_cast<int32_t>(c.out);
  void *parameters[] = {&sums, &out, &dtype, &count};
  return kernels.launchNamed("mpc_rounded", parameters, count);
}

mpc_rt_status_t Convolver::byIm2col(const Convolution &c, uint32_t id, const void *lhs,
                                    const void *rhs, const void *bias, void *out,
                                    const char *layer) {
  return c.direction == MPC_RT_CONVOLUTION_FILTER_GRADIENT
             ? toFilter(c, id, lhs, rhs, out, layer)
             : toPixels(c, id, lhs, rhs, bias, out, layer);
}

bool Convolver::isIm2colFaster(const Convolution &c, uint32_t id, const void *lhs, const void *rhs,
                               const void *bias, void *out, const char *layer) {
  std::string engine;
  auto byLibrary = [&] { return library.convolve(c, id, lhs, rhs, bias, out, layer, engine); };
  auto im2col = [&] { return byIm2col(c, id, lhs, rhs, bias, out, layer); };
  double seconds = 0, secondsOfIm2col = 0;
  return timeOnStream(session, byLibrary, seconds) &&
         timeOnStream(session, im2col, secondsOfIm2col) &&
         seconds > clearlySlower * secondsOfIm2col;
}

mpc_rt_status_t Convolver::convolve(const mpc_rt_convolution_t &descriptor, const void *lhs,
                                    const void *rhs, const void *bias, void *out, int64_t batch) {
  const char *layer = descriptor.layer ? descriptor.layer : "convolution";
  Convolution c;
  if (auto status = resolveConvolution(descriptor, lhs, rhs, bias, out, batch, c))
    return status;
  if (c.isInteger())
    return fail(MPC_RT_FAILED_PRECONDITION,
                "%s: convolution of int8 on a GPU; compile the model for CUDA", layer);
  if (c.outElements() == 0)
    return MPC_RT_OK;
  bool isEmpty = c.lhsElements() == 0 || c.rhsElements() == 0;
  rules::BlasProduct pixels;
  pixels.lhs = c.lhs, pixels.rhs = c.rhs, pixels.out = c.out, pixels.bias = c.bias;
  const bool isProduct = pixels.isOfFloats() && c.groups == 1;
  std::string kernel = isEmpty || !isProduct ? "direct" : isByOne(c) ? "product" : "im2col";
  mpc_rt_status_t status = MPC_RT_OK;
  std::string engine;
  const std::pair key{descriptor.id, batch};
  const auto tried = im2colIsFaster.find(key);
  // A kernel of 1 is a product of what lies in memory already.
  if (!isEmpty && !(isProduct && isByOne(c)) && !(tried != im2colIsFaster.end() && tried->second))
    status = library.convolve(c, descriptor.id, lhs, rhs, bias, out, layer, engine);
  if (!engine.empty() && isProduct && tried == im2colIsFaster.end() &&
      isWorthTrial(c.operations())) {
    im2colIsFaster[key] = isIm2colFaster(c, descriptor.id, lhs, rhs, bias, out, layer);
    engine.clear();
    // The trial may have left the other way's numbers in `out`.
    if (!im2colIsFaster[key])
      status = library.convolve(c, descriptor.id, lhs, rhs, bias, out, layer, engine);
  }
  if (!engine.empty())
    kernel = engine;
  else if (!status)
    status = isEmpty || !isProduct ? directly(c, lhs, rhs, bias, out, layer)
                                   : byIm2col(c, descriptor.id, lhs, rhs, bias, out, layer);
  if (!status)
    log.note(descriptor.id, batch, layer, c, kernel);
  return status;
}

} // namespace mpc::rt::cuda
