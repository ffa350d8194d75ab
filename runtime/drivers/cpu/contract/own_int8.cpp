// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of int8 into int32 by the kernels of int8_kernel.h, on weights that are kept as these
// read them.
#include "runtime/drivers/cpu/contract/contraction_kernels.h"
#include "runtime/drivers/cpu/contract/finish_result.h"
#include "runtime/drivers/cpu/onednn/onednn.h"

namespace mpc::rt {
namespace {

class OwnInt8 final : public ContractionKernel {
public:
  explicit OwnInt8(const Int8Kernel &kernel) : kernel(kernel) {}

  const char *name() const override { return kernel.name; }
  bool computes(const ContractionCall &call) override {
    const Contraction &c = call.shape;
    return c.lhs == MPC_RT_INT8 && call.isKept && c.batch == 1 && c.k > 0 && !c.transposeLhs &&
           !c.accumulate;
  }
  Verdict takes(const ContractionCall &call) override {
    constexpr int64_t manyRows = 1024;
    const Contraction &c = call.shape;
    if (c.m < manyRows)
      return taken("less than 1024 rows of kept int8", "Zen 4 and Emerald Rapids");
    if (c.n >= kernel.fewestColumns)
      return taken("many rows and columns of kept int8", "Zen 4 and Emerald Rapids");
    return onednn::multipliesTerms(onednn::Element::int8, c.k)
               ? refused("many rows of few columns", "Emerald Rapids")
               : taken("oneDNN's tiles do not multiply so many terms");
  }
  void reserve(const ContractionCall &call, ContractionMemory &memory) override {
    memory.resultMemory(call.shape, call.out);
    memory.integers.findTiles(kernel, call.descriptor, call.shape, /*rhs=*/nullptr);
    rt::reserve(memory.sumBlock, kernel.scratchBytes(call.shape));
  }
  void run(const ContractionCall &call, ContractionMemory &memory) override {
    const Contraction &c = call.shape;
    void *out = memory.resultMemory(c, call.out);
    const int8_t *packed = memory.integers.findTiles(kernel, call.descriptor, c,
                                                     static_cast<const int8_t *>(call.rhs));
    rt::reserve(memory.sumBlock, kernel.scratchBytes(c));
    kernel.multiply(memory.team, c, static_cast<const int8_t *>(call.lhs), packed,
                    memory.sumBlock.data(), static_cast<int32_t *>(out));
    finishResult(call, memory, out);
  }
  bool isTuned() const override { return true; }

private:
  const Int8Kernel &kernel;
};

} // namespace

std::unique_ptr<ContractionKernel> makeOwnInt8(const Int8Kernel &kernel) {
  return std::make_unique<OwnInt8>(kernel);
}

} // namespace mpc::rt
