// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/attend/attender.h"
#include "runtime/drivers/cpu/attend/attention_head.h"
#include "runtime/drivers/cpu/kernels/work_blocks.h"

#include <algorithm>
#include <atomic>

namespace mpc::rt {

Attender::Attender(ThreadTeam &team, int isa, bool nativeBFloat16)
    : team(team), vectors(vectorKernels(isa)), rows(attentionRows(isa)),
      bfloat16(nativeBFloat16 ? bfloat16MicroKernel(isa) : nullptr),
      float32(float32MicroKernel(isa)), workspaces(team.threads()) {}

const MicroKernel *Attender::findKernel(const Attention &shape) const noexcept {
  if (shape.dtype == MPC_RT_FLOAT64)
    return nullptr;
  return shape.dtype == MPC_RT_BFLOAT16 && bfloat16 ? bfloat16 : float32;
}

const char *Attender::kernelOf(const Attention &shape) const noexcept {
  const MicroKernel *kernel = findKernel(shape);
  return kernel ? kernel->name : nullptr;
}

Reason Attender::reasonOf(const Attention &shape) const noexcept {
  if (shape.dtype == MPC_RT_FLOAT64)
    return {"no other kernel sums in float64"};
  if (!findKernel(shape))
    return {"no micro-kernel for this CPU"};
  return {shape.dtype == MPC_RT_FLOAT16
              ? "scores stay in the caches, operands are widened on the way"
              : "scores stay in the caches",
          "Zen 4"};
}

uint64_t Attender::bytes() const noexcept {
  uint64_t total = 0;
  for (auto &workspace : workspaces)
    total += workspace.size();
  return total;
}

void Attender::reserveFor(const Attention &shape, bool isGradient) {
  const AttentionKernels kernels = {*findKernel(shape), vectors, rows};
  for (auto &workspace : workspaces)
    reserve(workspace, AttentionHead::bytes(kernels, shape, isGradient));
}

namespace {

// Calls body(head, item) for all items.
template <typename Body>
void forEachItem(ThreadTeam &team, const AttentionKernels &kernels, const Attention &shape,
                 bool isGradient, const std::vector<Buffer> &workspaces, int64_t items,
                 const Body &body) {
  team.shareOut(items, team.threads(), [&](Turns &turns) {
    alignas(64) uint8_t state[microKernelStateBytes];
    kernels.micro.enter(state);
    AttentionHead head(kernels, shape, isGradient, workspaces[turns.slot()].data());
    for (int64_t item; turns.take(item);)
      body(head, item);
    kernels.micro.leave(state);
  });
}

} // namespace

void Attender::attend(const Attention &shape, const AttentionOperands &operands) {
  reserveFor(shape, /*isGradient=*/false);
  const AttentionKernels kernels = {*findKernel(shape), vectors, rows};
  // The blocks of a head are shared out where there are few heads.
  const int64_t pairs = shape.batch * shape.heads, block = AttentionHead::blockOf(shape);
  const int64_t blocks = ceilDivide(shape.targets, block);
  const int64_t wanted = pairs ? ceilDivide(2 * team.threads(), pairs) : 1;
  const int64_t parts = std::clamp<int64_t>(wanted, 1, blocks);
  forEachItem(team, kernels, shape, /*isGradient=*/false, workspaces, pairs * parts,
              [&](AttentionHead &head, int64_t item) {
                const int64_t part = item % parts;
                head.attend(operands, item / parts, blocks * part / parts * block,
                            std::min(blocks * (part + 1) / parts * block, shape.targets));
              });
}

void Attender::attendGradient(const Attention &shape, const AttentionGradientOperands &operands) {
  reserveFor(shape, /*isGradient=*/true);
  forEachItem(team, {*findKernel(shape), vectors, rows}, shape, /*isGradient=*/true, workspaces,
              shape.batch * shape.heads,
              [&](AttentionHead &head, int64_t pair) { head.differentiate(operands, pair); });
}

} // namespace mpc::rt
