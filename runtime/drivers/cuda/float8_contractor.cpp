// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuBLASLt multiplies rows of float8 with rows. What is stored the other way round is copied first,
// and so are rows of sums over samples that are to be filled up with zeros: every batch will do.
#include "runtime/drivers/cuda/float8_contractor.h"
#include "runtime/base/dtype.h"
#include "runtime/base/memory.h"
#include "runtime/drivers/cuda/library_kernels.h"

namespace mpc::rt::cuda {
namespace {

constexpr uint64_t copyAlignment = 256;
constexpr int64_t rowMultiple = 16;  // bytes: what Tensor Cores and the kernel take at once
constexpr int64_t columnsOfTile = 4; // of the kernel

// The same product of rows with rows. Those over samples, or of copies, may be longer.
Contraction ofRows(const Contraction &c, bool sumsSamples) {
  Contraction result = c;
  if (sumsSamples || (c.transposeLhs && !c.transposeRhs))
    result.k = static_cast<int64_t>(alignUp(static_cast<uint64_t>(c.k), rowMultiple));
  result.transposeLhs = false;
  result.transposeRhs = true;
  return result;
}

int64_t divideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

Widening widening(mpc_rt_dtype_t dtype, const void *from, void *to, uint64_t elements) {
  const auto count = static_cast<int64_t>(elements);
  const bool inPacks = reinterpret_cast<uintptr_t>(from) % 8 == 0; // the copies are aligned
  return {from, to, count, inPacks ? count / 8 : 0, dtype == MPC_RT_FLOAT8_E5M2, 0};
}

} // namespace

mpc_rt_status_t Float8Contractor::contract(const mpc_rt_contract_t &descriptor, const void *lhs,
                                           const void *rhs, void *out, int64_t batch) {
  const char *layer = descriptor.layer ? descriptor.layer : "contraction";
  Contraction stored;
  if (auto status = resolveContraction(descriptor, lhs, rhs, nullptr, out, batch, stored))
    return status;
  if (stored.outElements() == 0)
    return MPC_RT_OK;
  const Contraction rows = ofRows(stored, descriptor.k.per_sample != 0);
  const ProductKey key{ProductKind::contraction, descriptor.id, batch, asFloat8};
  if (hasTensorCores() && Contractor::ruleOf(rows).isOfFloat8() && stored.k != 0 &&
      !refused.count(key)) {
    auto status = multiplyFloat8(key, stored, rows, lhs, rhs, out, layer);
    if (status == MPC_RT_OK) {
      log.note(descriptor.id, batch, layer, stored, "cublaslt");
      return status;
    }
    // No algorithm for it, or a library that does not know the types. Whatever else is wrong is so
    // without float8, too.
    refused.insert(key);
  }
  log.note(descriptor.id, batch, layer, stored, "cublaslt:float16");
  return multiplyFloat16({ProductKind::contraction, descriptor.id, batch, asFloat16}, stored, lhs,
                         rhs, out, layer);
}

mpc_rt_status_t Float8Contractor::multiplyFloat8(const ProductKey &key, const Contraction &stored,
                                                 const Contraction &c, const void *lhs,
                                                 const void *rhs, void *out, const char *layer) {
  const bool isLonger = c.k != stored.k;
  const bool copiesLhs = stored.transposeLhs || isLonger,
             copiesRhs = !stored.transposeRhs || isLonger;
  const uint64_t lhsBytes = copiesLhs ? alignUp(c.lhsElements(), copyAlignment) : 0;
  const uint64_t rhsBytes = copiesRhs ? c.rhsElements() : 0;
  if (lhsBytes + rhsBytes)
    if (auto status = scratch.reserve(lhsBytes + rhsBytes, layer))
      return status;
  Transposes transposes = {};
  int copies = 0;
  auto copy = [&](const void *&operand, uint8_t *to, int64_t columns, bool isTurned) {
    const int64_t threads = c.batch * divideUp(columns, columnsOfTile) * (c.k / rowMultiple);
    transposes.parts[copies++] = {operand, to, stored.k, columns, c.k, threads, isTurned};
    operand = to;
  };
  if (copiesLhs)
    copy(lhs, scratch.data(), c.m, !stored.transposeLhs);
  if (copiesRhs)
    copy(rhs, scratch.data() + lhsBytes, c.n, stored.transposeRhs);
  int64_t count = transposes.parts[0].count + transposes.parts[1].count;
  void *parameters[] = {&transposes, &count};
  if (auto status = kernels.launchNamed("mpc_transposed_operands_8", parameters, count))
    return status;
  return contractor.multiply(key, c, lhs, rhs, nullptr, out, layer);
}

mpc_rt_status_t Float8Contractor::multiplyFloat16(const ProductKey &key, const Contraction &c,
                                                  const void *lhs, const void *rhs, void *out,
                                                  const char *layer) {
  const size_t width = dtypeSize(MPC_RT_FLOAT16);
  const uint64_t lhsBytes = alignUp(c.lhsElements() * width, copyAlignment);
  if (auto status = scratch.reserve(lhsBytes + c.rhsElements() * width, layer))
    return status;
  uint8_t *wideLhs = scratch.data(), *wideRhs = scratch.data() + lhsBytes;
  Widenings widenings = {{widening(c.lhs, lhs, wideLhs, c.lhsElements()),
                          widening(c.rhs, rhs, wideRhs, c.rhsElements())}};
  int64_t count = threadsOf(widenings.parts[0]) + threadsOf(widenings.parts[1]);
  void *parameters[] = {&widenings, &count};
  if (auto status = kernels.launchNamed("mpc_widened_operands_8", parameters, count))
    return status;
  Contraction wide = c;
  wide.lhs = wide.rhs = MPC_RT_FLOAT16;
  return contractor.multiply(key, wide, wideLhs, wideRhs, nullptr, out, layer);
}

} // namespace mpc::rt::cuda
