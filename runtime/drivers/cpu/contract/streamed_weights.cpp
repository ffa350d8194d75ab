// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of a few rows with weights. Each weight is used once or a few times, so that reading
// them is what takes the time: they are streamed once, as they are, without packing a copy or
// widening one. A first prediction then reads the mapped weights file and nothing else.
#include "runtime/drivers/cpu/contract/contraction_kernels.h"
#include "runtime/drivers/cpu/contract/finish_result.h"
#include "runtime/drivers/cpu/kernels/work_blocks.h"
#include "runtime/drivers/result_kernel.h"

#include <algorithm>

namespace mpc::rt {
namespace {

constexpr int64_t mostRows = 4;
constexpr int64_t panel = 2048; // columns whose sums stay in the first-level cache
constexpr int64_t lines =
    8; // of weights for all rows, one after the other; with `panel` they fit the second level

// Sums of a panel of each row, half a page away from what the weights have at the same column, in
// addresses modulo 4096. Rows of weights often are whole pages, so that eight of them want the same
// ways of the first-level cache at the same time, and loads are taken to depend on stores whose
// addresses agree in the last 12 bits: sums at the same offset as well cost a sixth of the time.
class PanelSums {
public:
  explicit PanelSums(const void *weights) {
    constexpr uintptr_t page = 4096;
    const auto start = reinterpret_cast<uintptr_t>(storage);
    const uintptr_t wanted = reinterpret_cast<uintptr_t>(weights) / 64 * 64 + page / 2;
    const size_t skipped = (wanted - start) % page / sizeof(float);
    first = storage + skipped;
  }
  float *of(int64_t row) { return first + row * panel; }

private:
  alignas(64) float storage[mostRows * panel + 1024];
  float *first;
};

// Writes the result of `call` to `out`, and runs the kernel on it.
void multiply(const ContractionCall &call, ContractionMemory &memory, void *out) {
  const Contraction &c = call.shape;
  reserve(memory.lhsBlock, static_cast<uint64_t>(c.m * c.k) * sizeof(float));
  float *wide = memory.lhsBlock.floats();
  memory.widen(c.lhs, memory.roundLhs(c, call.lhs), wide, static_cast<uint64_t>(c.m * c.k));
  const float *wideBias = memory.prepareBias(c, call.bias);
  const mpc_rt_dtype_t stored = call.isMaster ? mpc_rt_dtype_t{MPC_RT_FLOAT32} : c.rhs;
  auto addProducts =
      call.isMaster ? memory.vectors.addRoundedProducts[c.rhs] : memory.vectors.addProducts[c.rhs];
  EpilogueRow epilogue =
      memory.vectors
          .epilogue[c.out][(c.hasBias ? epilogueBias : 0u) | (c.relu ? epilogueRelu : 0u) |
                           (c.accumulate ? epilogueAccumulate : 0u)];
  // Columns are split, not sums: the result does not depend on the number of threads.
  const int64_t least = std::clamp<int64_t>(conversionGrain / c.k, 64, panel);
  const int64_t parts = (c.n + 15) / 16;
  const int64_t grain = memory.team.grainOfOneChunk(parts, (least + 15) / 16);
  memory.team.forRange(parts, grain, [&](int64_t begin, int64_t end) {
    const int64_t last = std::min(end * 16, c.n);
    for (int64_t first = begin * 16; first < last; first += panel) {
      PanelSums sums(at(call.rhs, first, stored));
      const auto width = static_cast<size_t>(std::min(panel, last - first));
      for (int64_t m = 0; m < c.m; ++m)
        std::fill_n(sums.of(m), width, 0.0f);
      // A single row reads no weight twice, so that it takes all of them at once.
      const int64_t atOnce = c.m == 1 ? c.k : lines;
      for (int64_t k = 0; k < c.k; k += atOnce) {
        const auto height = static_cast<size_t>(std::min(atOnce, c.k - k));
        for (int64_t m = 0; m < c.m; ++m)
          addProducts(wide + m * c.k + k, at(call.rhs, k * c.n + first, stored),
                      static_cast<size_t>(c.n), height, sums.of(m), width);
      }
      for (int64_t m = 0; m < c.m; ++m) {
        const int64_t index = m * c.n + first;
        auto *target = const_cast<uint8_t *>(at(out, index, c.out));
        epilogue(sums.of(m), wideBias ? wideBias + first : nullptr, target, width);
        if (call.extras.kernel)
          call.extras.kernel->run(target, c.out, index, index + static_cast<int64_t>(width));
      }
    }
  });
}

class StreamedWeights final : public ContractionKernel {
public:
  const char *name() const override { return "streamed_weights"; }
  bool computes(const ContractionCall &call) override {
    const Contraction &c = call.shape;
    return !isFloat8(c.lhs) && !call.hasFloat64() && c.rhs != MPC_RT_INT8 && c.batch == 1 &&
           c.m <= mostRows && c.k > 0 && !c.transposeRhs && (!c.transposeLhs || c.m == 1);
  }
  Verdict takes(const ContractionCall &call) override {
    return call.isKept ? taken("at most 4 rows of weights that stay")
                       : refused("weights that change are packed on the way");
  }
  void reserve(const ContractionCall &call, ContractionMemory &memory) override {
    const Contraction &c = call.shape;
    memory.resultMemory(c, call.out);
    memory.reserveRounded(c);
    rt::reserve(memory.lhsBlock, static_cast<uint64_t>(c.m * c.k) * sizeof(float));
    memory.reserveBias(c);
  }
  void run(const ContractionCall &call, ContractionMemory &memory) override {
    void *out = memory.resultMemory(call.shape, call.out);
    multiply(call, memory, out);
    finishResult(call, memory, out, /*runsKernel=*/false);
  }
  bool readsMasters() const override { return true; }
};

} // namespace

std::unique_ptr<ContractionKernel> makeStreamedWeights() {
  return std::make_unique<StreamedWeights>();
}

} // namespace mpc::rt
