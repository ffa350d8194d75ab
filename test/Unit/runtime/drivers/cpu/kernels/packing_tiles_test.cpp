// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles that pack other panels while they multiply: sums are those of tiles that pack nothing, and
// panels those that the kernel packs between tiles.
#include "test/Unit/runtime/drivers/cpu/kernels/micro_kernels_here.h"

#include "mpc-rt/dtype.h"
#include "runtime/base/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace mpc::rt {
namespace {

class PackingTiles : public ::testing::TestWithParam<const MicroKernel *> {
protected:
  void SetUp() override {
    if (!runsHere(*GetParam()))
      GTEST_SKIP() << "this CPU does not run the kernel";
  }
};

constexpr int64_t laneBytes = 4, behind = 64; // bytes that nobody writes

struct Panels {
  Buffer buffer;
  explicit Panels(int64_t bytes) {
    reserve(buffer, static_cast<uint64_t>(bytes + behind));
    std::memset(buffer.data(), 0x5a, static_cast<size_t>(bytes + behind));
  }
  uint8_t *at(int64_t byte) { return buffer.data() + byte; }
};

// Small integers; read as numbers of 16 bits, their halves.
std::vector<float> numbersOf(int64_t count) {
  std::vector<float> numbers(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    numbers[static_cast<size_t>(i)] = static_cast<float>(i * 7 % 13 - 6);
  return numbers;
}

// Multiplies two panels; packs `packed`, if it has steps.
std::vector<float> multiply(const MicroKernel &kernel, MultiplyTiles multiplyTile, int64_t steps,
                            const PackedSteps &packed) {
  Panels lhs(steps * kernel.lhsStepBytes), rhs(steps * kernel.rhsStepBytes),
      sums(kernel.rows * kernel.columns * laneBytes);
  const std::vector<float> numbers = numbersOf(steps * kernel.columns);
  std::memcpy(lhs.at(0), numbers.data(), static_cast<size_t>(steps * kernel.lhsStepBytes));
  std::memcpy(rhs.at(0), numbers.data(), static_cast<size_t>(steps * kernel.rhsStepBytes));
  MicroTile tile = {};
  tile.lhs = lhs.at(0);
  tile.rhs = rhs.at(0);
  tile.steps = steps;
  tile.sums = reinterpret_cast<float *>(sums.at(0));
  tile.sumStride = kernel.columns;
  tile.first = true;
  tile.packed = packed;
  multiplyTile(tile);
  return {tile.sums, tile.sums + kernel.rows * kernel.columns};
}

// `steps` of a group's `all` steps are packed, from `first` on.
struct Part {
  int64_t first, steps, all;
};

void expectSamePanels(const MicroKernel &kernel, int dtype, bool isAlongK, const Part &part) {
  const int64_t panels = isAlongK ? 1 : kernel.groupPanels, lanes = panels * kernel.columns;
  const int64_t stride = (isAlongK ? part.all : lanes) + 5;
  const int64_t bytes = dtype == MPC_RT_FLOAT32 ? 4 : 2;
  const std::vector<float> numbers = numbersOf((isAlongK ? lanes : part.all) * stride);
  const auto *source = reinterpret_cast<const uint8_t *>(numbers.data());
  const int64_t panelBytes = part.all * kernel.rhsStepBytes;
  Panels wanted(panels * panelBytes), found(panels * panelBytes);
  for (int64_t panel = 0; panel < panels; ++panel)
    kernel.packRhs[dtype][isAlongK](
        {source + (panel * kernel.columns + part.first * (isAlongK ? 1 : stride)) * bytes, stride,
         lanes, part.steps},
        1, part.steps, wanted.at(panel * panelBytes + part.first * kernel.rhsStepBytes));
  const std::vector<float> sums = multiply(kernel, kernel.multiply, part.all, {});
  const int64_t lanesOfTile = isAlongK ? PackedSteps::vectorLanes : lanes;
  for (int64_t lane = 0; lane < lanes; lane += lanesOfTile) {
    const int64_t element = isAlongK ? lane * stride + part.first : part.first * stride;
    const PackedSteps packed = {source + element * bytes,
                                stride,
                                part.steps,
                                found.at(part.first * kernel.rhsStepBytes + lane * laneBytes),
                                panels,
                                panelBytes};
    EXPECT_EQ(multiply(kernel, kernel.multiplyAndPack[dtype][isAlongK], part.all, packed), sums);
  }
  EXPECT_EQ(
      std::memcmp(found.at(0), wanted.at(0), static_cast<size_t>(panels * panelBytes + behind)), 0)
      << dtype << (isAlongK ? " along k, " : " across k, ") << part.steps << " of " << part.all;
}

TEST_P(PackingTiles, PackAsBetweenTiles) {
  const MicroKernel &kernel = *GetParam();
  ASSERT_TRUE(kernel.multiplyAndPack);
  for (int dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16})
    for (bool isAlongK : {false, true}) {
      if (!kernel.multiplyAndPack[dtype][isAlongK])
        continue;
      // Whole lines and parts of them, and more steps than the loop has turns.
      for (const Part &part : {Part{16, 16, 64}, Part{0, 40, 40}, Part{8, 24, 37}, Part{0, 8, 8}})
        expectSamePanels(kernel, dtype, isAlongK, part);
    }
}

TEST_P(PackingTiles, PackNothing) {
  const MicroKernel &kernel = *GetParam();
  EXPECT_EQ(multiply(kernel, kernel.multiplyAndPack[MPC_RT_FLOAT32][0], 30, {}),
            multiply(kernel, kernel.multiply, 30, {}));
}

INSTANTIATE_TEST_SUITE_P(Every, PackingTiles, ::testing::Values(&avx512Float32Ahead, &avx2Float32),
                         [](const auto &kernel) { return testNameOf(*kernel.param); });

} // namespace
} // namespace mpc::rt
