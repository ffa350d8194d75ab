// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An operand of a blocked product as its micro-kernel packs it.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONTRACT_PANEL_OPERAND_H
#define MPC_RUNTIME_DRIVERS_CPU_CONTRACT_PANEL_OPERAND_H

#include "runtime/base/dtype.h"
#include "runtime/drivers/cpu/kernels/micro_kernel.h"

namespace mpc::rt {

constexpr int64_t cacheLine = 64; // bytes

// Lanes are rows of lhs or columns of rhs.
struct PanelOperand {
  const void *data;
  mpc_rt_dtype_t dtype;
  int64_t lanes, depth, stride; // stride: as in PanelSource
  bool depthContiguous;
  int64_t panelLanes, stepBytes, stepDepth;
  PackPanels packPanels;
  // Rounds float32 from memory to the dtype that packPanels takes; null: memory has that dtype.
  void (*round)(const float *from, uint16_t *to, size_t count) = nullptr;

  int64_t steps() const { return (depth + stepDepth - 1) / stepDepth; }
  // Steps [first, first + count) of `panels` panels, one panel after the other.
  void pack(int64_t panel, int64_t panels, int64_t first, int64_t count, void *to) const;
  // The same of rounded numbers.
  void packRounded(int64_t panel, int64_t panels, int64_t first, int64_t count, void *to) const;
  // The memory that pack() reads for these steps.
  MemoryRows rowsOf(int64_t panel, int64_t panels, int64_t first, int64_t count) const;
};

} // namespace mpc::rt

#endif
