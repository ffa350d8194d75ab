// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products that touch float64, which oneDNN does not know, and of float8, which models for a CPU do
// not have: rows in parallel, columns in blocks whose sums stay in cache, sums in float64.
#include "runtime/base/element.h"
#include "runtime/drivers/cpu/contract/contraction_kernels.h"
#include "runtime/drivers/cpu/contract/finish_result.h"

#include <algorithm>

namespace mpc::rt {
namespace {

constexpr int64_t nBlock = 256; // columns whose sums stay in the first-level cache

void multiply(ThreadTeam &team, const Contraction &c, const void *lhs, const void *rhs,
              const void *bias, void *out) {
  int64_t rowWork = std::max<int64_t>(c.n * c.k, 1);
  int64_t grain = std::max<int64_t>(1, 32768 / rowWork);
  team.forRange(c.batch * c.m, grain, [&](int64_t begin, int64_t end) {
    double sums[nBlock];
    for (int64_t row = begin; row < end; ++row) {
      int64_t b = row / c.m, m = row % c.m;
      for (int64_t n0 = 0; n0 < c.n; n0 += nBlock) {
        int64_t width = std::min(nBlock, c.n - n0);
        std::fill_n(sums, width, 0.0);
        for (int64_t k = 0; k < c.k; ++k) {
          double a =
              loadElement(c.lhs, lhs, b * c.m * c.k + (c.transposeLhs ? k * c.m + m : m * c.k + k));
          int64_t base = b * c.k * c.n;
          if (c.rhs == MPC_RT_FLOAT64 && !c.transposeRhs) {
            const double *panel = static_cast<const double *>(rhs) + base + k * c.n + n0;
            for (int64_t n = 0; n < width; ++n)
              sums[n] += a * panel[n];
          } else {
            for (int64_t n = 0; n < width; ++n)
              sums[n] +=
                  a * loadElement(c.rhs, rhs,
                                  base + (c.transposeRhs ? (n0 + n) * c.k + k : k * c.n + n0 + n));
          }
        }
        for (int64_t n = 0; n < width; ++n) {
          double value = roundElement(c.out, sums[n]);
          if (c.hasBias)
            value = roundElement(c.out, value + loadElement(c.bias, bias, n0 + n));
          if (c.relu)
            value = value < 0.0 ? 0.0 : value;
          int64_t position = row * c.n + n0 + n;
          if (c.accumulate)
            value += loadElement(c.out, out, position);
          storeElement(c.out, out, position, value);
        }
      }
    }
  });
}

class Float64Loop final : public ContractionKernel {
public:
  const char *name() const override { return "loop"; }
  bool computes(const ContractionCall &call) override {
    return isFloat8(call.shape.lhs) || call.hasFloat64();
  }
  Verdict takes(const ContractionCall &call) override {
    return taken(isFloat8(call.shape.lhs) ? "no other kernel reads float8"
                                          : "no other kernel sums in float64");
  }
  void reserve(const ContractionCall &call, ContractionMemory &memory) override {
    memory.resultMemory(call.shape, call.out);
    memory.reserveRounded(call.shape);
  }
  void run(const ContractionCall &call, ContractionMemory &memory) override {
    void *out = memory.resultMemory(call.shape, call.out);
    multiply(memory.team, call.shape, memory.roundLhs(call.shape, call.lhs), call.rhs, call.bias,
             out);
    finishResult(call, memory, out);
  }
};

} // namespace

std::unique_ptr<ContractionKernel> makeFloat64Loop() { return std::make_unique<Float64Loop>(); }

} // namespace mpc::rt
