// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only memory that will be packed may be fetched ahead: a mistake there costs time and no value, so
// that no product shows it.
#include "runtime/drivers/cpu/contract/panel_operand.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace mpc::rt {
namespace {

constexpr int64_t lanes = 37, depth = 45, panelLanes = 16, stepDepth = 2;

// The elements of `rows`, as indices in the operand of float32.
std::set<int64_t> indicesOf(const MemoryRows &rows, const std::vector<float> &operand) {
  std::set<int64_t> indices;
  for (int64_t row = 0; row < rows.rows; ++row) {
    const auto *first = reinterpret_cast<const float *>(rows.first + row * rows.stride);
    for (int64_t i = 0; i < rows.bytes / static_cast<int64_t>(sizeof(float)); ++i)
      indices.insert(first + i - operand.data());
  }
  return indices;
}

class PanelOperands : public ::testing::TestWithParam<bool> {};

TEST_P(PanelOperands, FetchWhatTheyPack) {
  const bool depthContiguous = GetParam();
  const std::vector<float> memory(lanes * depth);
  const PanelOperand operand = {memory.data(),
                                MPC_RT_FLOAT32,
                                lanes,
                                depth,
                                depthContiguous ? depth : lanes,
                                depthContiguous,
                                panelLanes,
                                panelLanes * stepDepth * static_cast<int64_t>(sizeof(float)),
                                stepDepth,
                                nullptr};
  for (int64_t panel : {0, 1, 2})
    for (int64_t panels : {1, 2, 3})
      for (int64_t first : {0, 3, 20})
        for (int64_t count : {1, 3, 30}) {
          std::set<int64_t> expected;
          for (int64_t lane = panel * panelLanes; lane < (panel + panels) * panelLanes; ++lane)
            for (int64_t k = first * stepDepth; k < (first + count) * stepDepth; ++k)
              if (lane < lanes && k < depth)
                expected.insert(depthContiguous ? lane * depth + k : k * lanes + lane);
          EXPECT_EQ(indicesOf(operand.rowsOf(panel, panels, first, count), memory), expected)
              << panels << " panels from " << panel << ", " << count << " steps from " << first;
        }
}

INSTANTIATE_TEST_SUITE_P(Layouts, PanelOperands, ::testing::Bool(), [](const auto &parameter) {
  return parameter.param ? "DepthContiguous" : "LanesContiguous";
});

} // namespace
} // namespace mpc::rt
