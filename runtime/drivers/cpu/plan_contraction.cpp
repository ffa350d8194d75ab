// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a contraction is done: by which kernel, in which blocks, what is packed and widened before.
#include "runtime/drivers/cpu/contractor.h"
#include "runtime/drivers/cpu/onednn_blocks.h"

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
// then matrices are multiplied one at a time (test/Unit/runtime/cpu/library_contraction_test.cpp).
// Of so many, at most `most` at once, so that none of those or the rest are fewer than threads.
int64_t matricesAtOnce(int64_t matrices, int64_t most, int64_t threads) {
  auto isTooFew = [&](int64_t count) { return count > 1 && count < threads; };
  while (isTooFew(most) || isTooFew(matrices % most))
    --most;
  return most;
}

} // namespace

Contractor::Plan &Contractor::findPlan(const mpc_rt_contract_t &descriptor,
                                       const Contraction &shape, bool findLargest, bool launches,
                                       int64_t batch, bool byRows) {
  bool keep = state.keeps(descriptor);
  PlanKey key{descriptor.id, keep, findLargest, launches, byRows, batch};
  auto found = plans.find(key);
  // The comparison guards against two descriptors with one id: a wrong plan would write out of
  // bounds.
  if (found != plans.end() && found->second->shape == shape)
    return *found->second;
  BlockedProduct *blocked = findBlocked(shape);
  if (blocked) {
    const bool mayUseLibrary =
        !isBFloat16(shape) || onednn::multipliesTerms(Element::bfloat16, shape.k);
    const std::string *chosen =
        choices.find({KernelChoices::Operation::contraction, descriptor.id, batch, keep});
    if (chosen ? *chosen != blocked->name()
               : mayUseLibrary && !blocked->isWorthwhile(shape, keep, launches) &&
                     !(byRows && blocked->isWorthwhileByRows(shape)))
      blocked = nullptr;
  }
  auto plan = makePlan(shape, keep, findLargest, launches, blocked);
  if (plans.size() >= mostPlans)
    plans.clear();
  return *(plans[key] = std::move(plan));
}

std::unique_ptr<Contractor::Plan> Contractor::makePlan(const Contraction &shape, bool rhsKept,
                                                       bool findLargest, bool launches,
                                                       BlockedProduct *blocked) {
  auto plan = std::make_unique<Plan>();
  plan->shape = shape;
  plan->findLargest = findLargest;
  plan->launches = launches;
  plan->blocked = blocked;
  if (!blocked) {
    choose(*plan, rhsKept);
    if (shape.k > 0)
      makeProducts(*plan);
  }
  return plan;
}

BlockedProduct *Contractor::findBlocked(const Contraction &c) const {
  for (auto *product : {bfloat16Product.get(), float32Product.get()})
    if (product && product->multiplies(c))
      return product;
  return nullptr;
}

const char *Contractor::kernelOf(const mpc_rt_contract_t &descriptor,
                                 int64_t batch) const noexcept {
  for (auto &[key, plan] : plans)
    if (key.id == descriptor.id && key.batch == batch)
      return plan->blocked ? plan->blocked->name() : plan->body ? plan->body->kernel() : "";
  return "";
}

void Contractor::choose(Plan &plan, bool keepWeights) {
  const Contraction &c = plan.shape;
  if (c.lhs == MPC_RT_INT8) {
    plan.element = Element::int8;
    plan.batched = c.batch > 1;
    plan.units = plan.batched ? c.batch : c.m;
    plan.block = plan.batched ? matricesAtOnce(c.batch, c.batch, team.threads()) : plan.units;
    if (!plan.batched && (keepWeights || c.m >= packingRows))
      plan.packed = layout(c.k, c.n, plan.element);
    return;
  }
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
    plan.block = matricesAtOnce(plan.units, plan.block, team.threads());
}

void Contractor::makeProducts(Plan &plan) {
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

std::unique_ptr<onednn::Product> Contractor::makeProduct(const Plan &plan, int64_t units) const {
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

std::shared_ptr<onednn::PackedLayout> Contractor::layout(int64_t k, int64_t n, Element element) {
  auto &slot = layouts[{k, n, element}];
  if (!slot)
    slot = std::make_shared<onednn::PackedLayout>(k, n, element);
  return slot;
}

} // namespace mpc::rt
