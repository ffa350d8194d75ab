// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/contract/library_plan.h"
#include "runtime/drivers/cpu/kernels/work_blocks.h"

#include <algorithm>

namespace mpc::rt {
namespace {

using onednn::Element;

// Packing the right-hand side once per call pays from this many rows on.
constexpr int64_t packingRows = 16;

bool isBFloat16(const Contraction &c) {
  return c.lhs == MPC_RT_BFLOAT16 && c.rhs == MPC_RT_BFLOAT16;
}

// oneDNN's threads that find no matrix of their own share columns, or terms, of one, and lose some:
// then matrices are multiplied one at a time
// (test/Unit/runtime/drivers/cpu/contract/library_contraction_test.cpp). Of so many, at most `most`
// at once, so that none of those or the rest are fewer than threads.
int64_t matricesAtOnce(int64_t matrices, int64_t most, int64_t threads) {
  auto isTooFew = [&](int64_t count) { return count > 1 && count < threads; };
  while (isTooFew(most) || isTooFew(matrices % most))
    --most;
  return most;
}

} // namespace

std::unique_ptr<LibraryPlan> LibraryPlanner::make(const Contraction &shape,
                                                  const LibraryPlanUse &use) {
  auto plan = std::make_unique<LibraryPlan>();
  plan->shape = shape;
  plan->findLargest = use.findsLargest;
  plan->launches = use.launches;
  if (shape.lhs == MPC_RT_INT8)
    chooseIntegers(*plan, use.keepsWeights);
  else
    choose(*plan, use.keepsWeights);
  if (shape.k > 0)
    makeProducts(*plan);
  return plan;
}

void LibraryPlanner::chooseIntegers(LibraryPlan &plan, bool keepWeights) {
  const Contraction &c = plan.shape;
  plan.element = Element::int8;
  plan.batched = c.batch > 1;
  plan.units = plan.batched ? c.batch : c.m;
  plan.block = plan.batched ? matricesAtOnce(c.batch, c.batch, threads) : plan.units;
  if (!plan.batched && (keepWeights || c.m >= packingRows))
    plan.packed = layout(c.k, c.n, plan.element);
}

void LibraryPlanner::choose(LibraryPlan &plan, bool keepWeights) {
  const Contraction &c = plan.shape;
  bool native = isBFloat16(c) && nativeBFloat16 && onednn::multipliesTerms(Element::bfloat16, c.k);
  plan.element = native ? Element::bfloat16 : Element::float32;
  plan.batched = c.batch > 1;
  plan.widenLhs = !native && c.lhs != MPC_RT_FLOAT32;
  bool convertRhs = !native && c.rhs != MPC_RT_FLOAT32;
  bool pack = !plan.batched && c.k > 0 && (keepWeights || c.m >= packingRows || convertRhs);
  // oneDNN may pack and widen bfloat16 at once; float16 it does not know.
  plan.widenRhs =
      convertRhs && !(pack && c.rhs == MPC_RT_BFLOAT16 && onednn::packsBFloat16WithVectors());

  plan.roundsSums = native && c.out == MPC_RT_BFLOAT16 && !c.accumulate;
  plan.throughScratch =
      !plan.roundsSums && (c.out != MPC_RT_FLOAT32 || (c.accumulate && (c.relu || c.hasBias)));
  plan.epilogue = plan.throughScratch || c.relu || (plan.roundsSums && c.hasBias);
  plan.addBias = c.hasBias && !plan.epilogue;
  if (pack)
    plan.packed = layout(c.k, c.n, plan.element);

  chooseBlock(plan);
}

void LibraryPlanner::chooseBlock(LibraryPlan &plan) const {
  const Contraction &c = plan.shape;
  plan.units = plan.batched ? c.batch : c.m;
  plan.block = plan.units;
  // An update of weights reads so much else that blocks would save little.
  const bool launches = plan.launches && !c.transposeLhs;
  const bool readsResult =
      plan.epilogue || plan.findLargest || launches || c.makesMask || c.readsMask;
  if (plan.widenLhs || readsResult) {
    int64_t rows = plan.batched ? c.m : 1;
    int64_t unitBytes = 4 * rows * ((plan.widenLhs ? c.k : 0) + (readsResult ? c.n : 0));
    int64_t block = std::max<int64_t>(blockBytes / std::max<int64_t>(unitBytes, 1), 1);
    if (!plan.batched)
      block = std::max<int64_t>(block / 128 * 128, 128);
    plan.block = std::min(plan.units, block);
  }
  if (plan.batched)
    plan.block = matricesAtOnce(plan.units, plan.block, threads);
}

void LibraryPlanner::makeProducts(LibraryPlan &plan) {
  auto make = [&] {
    plan.body = makeProduct(plan, plan.block);
    int64_t rest = plan.units % plan.block;
    plan.tail = rest ? makeProduct(plan, rest) : nullptr;
  };
  make();
  bool slow = !plan.body->isFast() || (plan.tail && !plan.tail->isFast());
  if (slow && plan.packed) {
    plan.packed = nullptr;
    plan.widenRhs = plan.element == Element::float32 && plan.shape.rhs != MPC_RT_FLOAT32;
    make();
  }
}

std::unique_ptr<onednn::Product> LibraryPlanner::makeProduct(const LibraryPlan &plan,
                                                             int64_t units) const {
  const Contraction &c = plan.shape;
  onednn::ProductShape shape;
  shape.batch = plan.batched ? units : 1;
  shape.m = plan.batched ? c.m : units;
  shape.n = c.n;
  shape.k = c.k;
  shape.element = plan.element;
  // A widened block of a transposed, unbatched lhs is [k, units]; the original is [k, m].
  int64_t lhsRows = plan.widenLhs ? shape.m : c.m;
  shape.lhs = c.transposeLhs ? onednn::ProductShape::Strides{lhsRows * c.k, 1, lhsRows}
                             : onednn::ProductShape::Strides{lhsRows * c.k, c.k, 1};
  shape.rhs = c.transposeRhs ? onednn::ProductShape::Strides{c.k * c.n, 1, c.k}
                             : onednn::ProductShape::Strides{c.k * c.n, c.n, 1};
  shape.out = {c.m * c.n, c.n, 1};
  shape.packed = plan.packed.get();
  shape.bias = plan.addBias;
  shape.accumulate = c.accumulate && !plan.throughScratch;
  shape.isRounded = plan.roundsSums;
  return std::make_unique<onednn::Product>(shape);
}

std::shared_ptr<onednn::PackedLayout> LibraryPlanner::layout(int64_t k, int64_t n,
                                                             Element element) {
  auto &slot = layouts[{k, n, element}];
  if (!slot)
    slot = std::make_shared<onednn::PackedLayout>(k, n, element);
  return slot;
}

} // namespace mpc::rt
