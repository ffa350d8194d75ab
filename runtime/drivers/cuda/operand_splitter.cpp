// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cuda/operand_splitter.h"
#include "runtime/base/memory.h"
#include "runtime/drivers/cuda/library_kernels.h"

namespace mpc::rt::cuda {
namespace {

constexpr uint64_t splitAlignment = 256;
constexpr int64_t partsOfNumber = 3;
constexpr int64_t numbersOfPack = 4;

uint64_t splitBytes(int64_t numbers) {
  return alignUp(static_cast<uint64_t>(numbers * partsOfNumber) * sizeof(float), splitAlignment);
}

// Terms of an operand lie along its rows, or, `byTerms`, each in a row of its own.
SplitPart splitPartOf(const Contraction &c, int64_t first, int64_t terms, int64_t others,
                      bool byTerms, const void *from, const void *to, bool isRight) {
  SplitPart part = {};
  const int64_t rows = byTerms ? c.batch : c.batch * others;
  part.inner = byTerms ? terms * others : terms;
  part.stride = byTerms ? c.k * others : c.k;
  part.from = static_cast<const float *>(from) + (byTerms ? first * others : first);
  part.to = const_cast<void *>(to);
  part.in_packs = part.inner % numbersOfPack == 0 && part.stride % numbersOfPack == 0 &&
                  reinterpret_cast<uintptr_t>(part.from) % (numbersOfPack * sizeof(float)) == 0;
  part.count = rows * part.inner / (part.in_packs ? numbersOfPack : 1);
  part.is_right = isRight;
  return part;
}

} // namespace

mpc_rt_status_t OperandSplitter::reserve(const Contraction &c, int64_t terms,
                                         ProductOperands &operands, const char *layer) {
  const uint64_t lhsBytes = splitBytes(c.batch * c.m * terms);
  if (auto status = scratch.reserve(lhsBytes + splitBytes(c.batch * terms * c.n), layer))
    return status;
  operands.lhs = scratch.data();
  operands.rhs = scratch.data() + lhsBytes;
  return MPC_RT_OK;
}

mpc_rt_status_t OperandSplitter::split(const Contraction &c, int64_t first, int64_t terms,
                                       const ProductOperands &from, const ProductOperands &to) {
  SplitParts parts = {
      {splitPartOf(c, first, terms, c.m, c.transposeLhs, from.lhs, to.lhs, /*isRight=*/false),
       splitPartOf(c, first, terms, c.n, !c.transposeRhs, from.rhs, to.rhs, /*isRight=*/true)}};
  int64_t count = parts.parts[0].count + parts.parts[1].count;
  void *parameters[] = {&parts, &count};
  return kernels.launchNamed("mpc_split_operands", parameters, count);
}

} // namespace mpc::rt::cuda
