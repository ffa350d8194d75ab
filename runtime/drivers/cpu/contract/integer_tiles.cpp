// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Floating rows by integer weights, with scales per block or none, by the tiles that are kept of
// the weights.
#include "runtime/drivers/cpu/contract/contraction_kernels.h"
#include "runtime/drivers/cpu/contract/finish_result.h"

namespace mpc::rt {
namespace {

class IntegerTiles final : public ContractionKernel {
public:
  explicit IntegerTiles(IntegerWeights &integers) : integers(integers) {}

  const char *name() const override { return "integer_tiles"; }
  const char *nameOf(const ContractionCall &call) override {
    return call.blocks ? "integer_blocks" : name();
  }
  // Blocks of numbers that 4 bits do not hold have no tiles.
  bool computes(const ContractionCall &call) override {
    const Contraction &c = call.shape;
    return c.rhs == MPC_RT_INT8 && c.lhs != MPC_RT_INT8 && !call.extras.largest &&
           (!call.blocks || c.packedRhs) && !call.hasFloat64();
  }
  Verdict takes(const ContractionCall &call) override {
    return integers.readsTiles(call.descriptor, call.shape, call.blocks);
  }
  void reserve(const ContractionCall &call, ContractionMemory &memory) override;
  void run(const ContractionCall &call, ContractionMemory &memory) override;

private:
  // The sums go here before the epilogue.
  static float *sumsOf(const Contraction &c, ContractionMemory &memory, void *out) {
    if (c.out == MPC_RT_FLOAT32)
      return static_cast<float *>(out);
    rt::reserve(memory.sumBlock, c.outElements() * sizeof(float));
    return memory.sumBlock.floats();
  }

  IntegerWeights &integers;
};

void IntegerTiles::reserve(const ContractionCall &call, ContractionMemory &memory) {
  const Contraction &c = call.shape;
  void *out = memory.resultMemory(c, call.out);
  memory.reserveBias(c);
  sumsOf(c, memory, out);
  integers.reserveFor(call.descriptor, c);
}

void IntegerTiles::run(const ContractionCall &call, ContractionMemory &memory) {
  const Contraction &c = call.shape;
  void *out = memory.resultMemory(c, call.out);
  const float *bias = memory.prepareBias(c, call.bias);
  float *sums = sumsOf(c, memory, out);
  integers.multiply(call.descriptor, c, call.lhs, call.rhs, call.blocks, sums);
  if (c.out != MPC_RT_FLOAT32 || c.hasBias || c.relu)
    applyEpilogue(c, memory, sums, bias, out, c.m);
  finishResult(call, memory, out);
}

} // namespace

std::unique_ptr<ContractionKernel> makeIntegerTiles(IntegerWeights &integers) {
  return std::make_unique<IntegerTiles>(integers);
}

} // namespace mpc::rt
