// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Samples come in pieces whose scores fit the scratch memory.
#include "runtime/drivers/cuda/attender.h"
#include "runtime/base/dtype.h"
#include "runtime/base/memory.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>

namespace mpc::rt::cuda {
namespace {

// Samples are computed together while their scores take no more than this; a single sample may take
// more.
constexpr int64_t mostScoreBytes = int64_t{128} << 20;
constexpr uint64_t scorePartAlignment = 256;

int64_t samplesOfPiece(const Attention &a) {
  const int64_t bytes = a.scores() / a.batch * static_cast<int64_t>(dtypeSize(a.dtype));
  return std::clamp<int64_t>(mostScoreBytes / bytes, 1, a.batch);
}

uint64_t scorePartBytes(int64_t elements, mpc_rt_dtype_t dtype) {
  return alignUp(static_cast<uint64_t>(elements) * dtypeSize(dtype), scorePartAlignment);
}

// The address of sample `first` in what has `elements` of all samples of `a`.
template <typename Address>
void advance(Address *&address, const Attention &a, int64_t elements, mpc_rt_dtype_t dtype,
             int64_t first) {
  using Byte = std::conditional_t<std::is_const_v<Address>, const uint8_t, uint8_t>;
  address = static_cast<Byte *>(address) +
            static_cast<uint64_t>(elements / a.batch * first) * dtypeSize(dtype);
}

AttentionOperands from(const Attention &a, AttentionOperands o, int64_t first) {
  advance(o.query, a, a.queryElements(), a.dtype, first);
  advance(o.key, a, a.keyElements(), a.dtype, first);
  advance(o.value, a, a.valueElements(), a.dtype, first);
  advance(o.out, a, a.outElements(), a.dtype, first);
  advance(o.logSums, a, a.rows(), a.wide(), first);
  return o;
}

AttentionGradientOperands from(const Attention &a, AttentionGradientOperands o, int64_t first) {
  advance(o.cotangent, a, a.outElements(), a.dtype, first);
  advance(o.out, a, a.outElements(), a.dtype, first);
  advance(o.logSums, a, a.rows(), a.wide(), first);
  advance(o.query, a, a.queryElements(), a.dtype, first);
  advance(o.key, a, a.keyElements(), a.dtype, first);
  advance(o.value, a, a.valueElements(), a.dtype, first);
  advance(o.queryGradient, a, a.queryElements(), a.dtype, first);
  advance(o.keyGradient, a, a.keyElements(), a.dtype, first);
  advance(o.valueGradient, a, a.valueElements(), a.dtype, first);
  return o;
}

// Tensors with their heads in front, in scratch memory; of one head they are where they are.
struct HeadCopies {
  HeadCopies(const Attention &a, uint8_t *begin) : end(begin), a(a) {}

  // Returns where the copy of [samples, count, heads, width] will be.
  const void *add(const void *operand, int64_t count, int64_t width) {
    if (a.heads == 1)
      return operand;
    void *copy = reserve(count, width);
    exchanged.parts[parts++] = {operand, copy, count, a.heads, width, elements(count, width)};
    return copy;
  }
  // Returns where to write a result that is then copied to [samples, count, heads, width].
  void *addResult(void *operand, int64_t count, int64_t width) {
    if (a.heads == 1)
      return operand;
    void *result = reserve(count, width);
    exchanged.parts[parts++] = {result, operand, a.heads, count, width, elements(count, width)};
    return result;
  }

  Exchange exchanged = {};
  uint8_t *end; // of the copies

private:
  int64_t elements(int64_t count, int64_t width) const { return a.batch * count * a.heads * width; }
  void *reserve(int64_t count, int64_t width) {
    return std::exchange(end, end + scorePartBytes(elements(count, width), a.dtype));
  }

  const Attention &a;
  int parts = 0;
};

} // namespace

mpc_rt_status_t Attender::launch(const char *kernel, const Attention &a, void **parameters,
                                 int64_t count) {
  const std::string name = std::string(kernel) + (a.dtype == MPC_RT_FLOAT64 ? "_f64" : "_f32");
  return kernels.launchNamed(name.c_str(), parameters, count);
}

mpc_rt_status_t Attender::exchange(const Attention &a, Exchange &exchanged) {
  if (a.heads == 1)
    return MPC_RT_OK;
  int64_t count = 0;
  for (const ExchangePart &part : exchanged.parts)
    count += part.count;
  void *parameters[] = {&exchanged, &count};
  const std::string name = "mpc_exchanged_" + std::to_string(8 * dtypeSize(a.dtype));
  return kernels.launchNamed(name.c_str(), parameters, count);
}

mpc_rt_status_t Attender::multiply(const Call &call, Product which, const void *lhs,
                                   const void *rhs, void *out) {
  const Attention &a = call.shape;
  Contraction c;
  c.batch = a.batch * a.heads;
  c.lhs = c.rhs = c.out = c.bias = a.dtype;
  switch (which) {
  case scoresOf: // query key^T
    c.m = a.targets, c.n = a.sources, c.k = a.width, c.transposeRhs = true;
    break;
  case valuesOf: // weights value
    c.m = a.targets, c.n = a.valueWidth, c.k = a.sources;
    break;
  case valueGradientOf: // weights^T cotangent
    c.m = a.sources, c.n = a.valueWidth, c.k = a.targets, c.transposeLhs = true;
    break;
  case weightGradientOf: // cotangent value^T
    c.m = a.targets, c.n = a.sources, c.k = a.valueWidth, c.transposeRhs = true;
    break;
  case queryGradientOf: // derivative key
    c.m = a.targets, c.n = a.width, c.k = a.sources;
    break;
  case keyGradientOf: // derivative^T query
    c.m = a.sources, c.n = a.width, c.k = a.targets, c.transposeLhs = true;
    break;
  }
  return contractor.multiply({ProductKind::attention, call.id, a.batch, which}, c, lhs, rhs,
                             nullptr, out, call.layer);
}

mpc_rt_status_t Attender::byProducts(const Call &call, const AttentionOperands &o) {
  const Attention &a = call.shape;
  const uint64_t scoreBytes = scorePartBytes(a.scores(), a.dtype);
  if (auto status = scratch.reserve(scoreBytes + scorePartBytes(a.queryElements(), a.dtype) +
                                        scorePartBytes(a.keyElements(), a.dtype) +
                                        scorePartBytes(a.valueElements(), a.dtype) +
                                        scorePartBytes(a.outElements(), a.dtype),
                                    call.layer))
    return status;
  uint8_t *scores = scratch.data();
  HeadCopies copies(a, scores + scoreBytes);
  const void *query = copies.add(o.query, a.targets, a.width),
             *key = copies.add(o.key, a.sources, a.width),
             *value = copies.add(o.value, a.sources, a.valueWidth);
  if (auto status = exchange(a, copies.exchanged))
    return status;
  if (auto status = multiply(call, scoresOf, query, key, scores))
    return status;
  ScoreArguments matrix = argumentsOf(a);
  void *logSums = o.logSums;
  int64_t lanes = a.rows() * lanesOfWarp;
  void *parameters[] = {&matrix, &scores, &logSums, &lanes};
  if (auto status = launch("mpc_attention_softmax", a, parameters, lanes))
    return status;
  HeadCopies results(a, copies.end);
  if (auto status = multiply(call, valuesOf, scores, value,
                             results.addResult(o.out, a.targets, a.valueWidth)))
    return status;
  return exchange(a, results.exchanged);
}

mpc_rt_status_t Attender::byProducts(const Call &call, const AttentionGradientOperands &o) {
  const Attention &a = call.shape;
  const uint64_t scoreBytes = scorePartBytes(a.scores(), a.dtype),
                 rowBytes = scorePartBytes(a.rows(), a.wide());
  // Two matrices like the scores, the sums of rows, operands and gradients.
  if (auto status = scratch.reserve(2 * scoreBytes + rowBytes +
                                        2 * scorePartBytes(a.queryElements(), a.dtype) +
                                        2 * scorePartBytes(a.keyElements(), a.dtype) +
                                        2 * scorePartBytes(a.valueElements(), a.dtype) +
                                        scorePartBytes(a.outElements(), a.dtype),
                                    call.layer))
    return status;
  uint8_t *weights = scratch.data(), *derivative = weights + scoreBytes,
          *sums = derivative + scoreBytes;
  const void *ownCotangent = o.cotangent, *out = o.out, *logSums = o.logSums;
  ScoreArguments matrix = argumentsOf(a);
  int64_t heads = a.heads, width = a.valueWidth, lanes = a.rows() * lanesOfWarp, count = a.scores();
  void *ofSums[] = {&matrix, &ownCotangent, &out, &sums, &heads, &width, &lanes};
  if (auto status = launch("mpc_attention_row_sums", a, ofSums, lanes))
    return status;
  HeadCopies copies(a, sums + rowBytes);
  const void *query = copies.add(o.query, a.targets, a.width),
             *key = copies.add(o.key, a.sources, a.width),
             *value = copies.add(o.value, a.sources, a.valueWidth),
             *cotangent = copies.add(o.cotangent, a.targets, a.valueWidth);
  if (auto status = exchange(a, copies.exchanged))
    return status;
  if (auto status = multiply(call, scoresOf, query, key, weights))
    return status;
  if (auto status = multiply(call, weightGradientOf, cotangent, value, derivative))
    return status;
  void *ofDerivative[] = {&matrix, &weights, &derivative, &logSums, &sums, &count};
  if (auto status = launch("mpc_attention_derivative", a, ofDerivative, count))
    return status;
  HeadCopies results(a, copies.end);
  if (auto status = multiply(call, valueGradientOf, weights, cotangent,
                             results.addResult(o.valueGradient, a.sources, a.valueWidth)))
    return status;
  if (auto status = multiply(call, queryGradientOf, derivative, key,
                             results.addResult(o.queryGradient, a.targets, a.width)))
    return status;
  if (auto status = multiply(call, keyGradientOf, derivative, query,
                             results.addResult(o.keyGradient, a.sources, a.width)))
    return status;
  return exchange(a, results.exchanged);
}

// No GPU computes attention with this as one call; null where one does.
static const char *refusalOf(const mpc_rt_attention_t &descriptor) {
  if (descriptor.flags & MPC_RT_ATTENTION_MASK)
    return "a mask";
  if (descriptor.flags & MPC_RT_ATTENTION_HIDDEN_SCORE)
    return "a score of what is hidden";
  return descriptor.flags & MPC_RT_ATTENTION_DROPOUT ? "dropout" : nullptr;
}

mpc_rt_status_t Attender::attend(const mpc_rt_attention_t &descriptor,
                                 const mpc_rt_attend_call_t &given) {
  const char *layer = descriptor.layer ? descriptor.layer : "attention";
  Attention a;
  if (auto status = resolveAttention(descriptor, given, a))
    return status;
  if (const char *part = refusalOf(descriptor))
    return fail(MPC_RT_FAILED_PRECONDITION,
                "%s: attention with %s as one call, which no GPU has; compile the model with "
                "--target=cuda",
                layer, part);
  if (a.batch == 0)
    return MPC_RT_OK;
  std::string engine;
  const Call call{a, descriptor.id, layer};
  if (auto status = a.isGradient ? run(call, gradientOperandsOf(descriptor, given), engine)
                                 : run(call, operandsOf(descriptor, given), engine))
    return status;
  log.note(descriptor.id, given.batch, layer, a, a.isGradient, engine);
  return MPC_RT_OK;
}

mpc_rt_status_t Attender::run(const Call &call, const AttentionOperands &operands,
                              std::string &engine) {
  const Attention &a = call.shape;
  // All samples: nothing grows with their scores.
  if (auto status = library.attend(a, call.id, operands, call.layer, engine))
    return status;
  if (!engine.empty())
    return MPC_RT_OK;
  engine = "products";
  const int64_t step = samplesOfPiece(a);
  for (int64_t first = 0; first < a.batch; first += step) {
    Call piece = call;
    piece.shape.batch = std::min(step, a.batch - first);
    if (auto status = byProducts(piece, from(a, operands, first)))
      return status;
  }
  return MPC_RT_OK;
}

mpc_rt_status_t Attender::run(const Call &call, const AttentionGradientOperands &operands,
                              std::string &engine) {
  const Attention &a = call.shape;
  const int64_t step = samplesOfPiece(a);
  for (int64_t first = 0; first < a.batch; first += step) {
    Call piece = call;
    piece.shape.batch = std::min(step, a.batch - first);
    const AttentionGradientOperands own = from(a, operands, first);
    if (auto status = library.attendGradient(piece.shape, piece.id, own, piece.layer, engine))
      return status;
    if (!engine.empty())
      continue;
    if (auto status = byProducts(piece, own))
      return status;
    engine = "products";
  }
  return MPC_RT_OK;
}

} // namespace mpc::rt::cuda
