// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Floating rows by integer weights, with scales per block or none, by a copy of the weights in the
// dtype of the rows, which another kernel multiplies.
#include "runtime/drivers/cpu/contract/contraction_kernels.h"

namespace mpc::rt {
namespace {

class IntegerCopy final : public ContractionKernel {
public:
  IntegerCopy(ContractionKernels &kernels, IntegerWeights &integers, bool nativeBFloat16)
      : kernels(kernels), integers(integers), nativeBFloat16(nativeBFloat16) {}

  const char *name() const override { return "integer_copy"; }
  const char *nameOf(const ContractionCall &call) override {
    const Inner inner(call, call.rhs);
    return kernels.choose(inner.call).kernel->nameOf(inner.call);
  }
  bool computes(const ContractionCall &call) override {
    const Contraction &c = call.shape;
    return call.blocks ||
           (c.rhs == MPC_RT_INT8 && c.lhs == MPC_RT_BFLOAT16 && c.batch == 1 && !call.hasFloat64());
  }
  Verdict takes(const ContractionCall &call) override {
    if (call.blocks)
      return taken("a copy of the weights with their scales");
    return nativeBFloat16 ? taken("bfloat16 holds the integers")
                          : refused("products in bfloat16 are no faster");
  }
  void reserve(const ContractionCall &call, ContractionMemory &memory) override {
    const Inner inner(call, integers.reserveCopy(call.descriptor, call.shape).data());
    kernels.choose(inner.call).kernel->reserve(inner.call, memory);
  }
  void run(const ContractionCall &call, ContractionMemory &memory) override {
    const Inner inner(call, integers.findCopy(call.descriptor, call.shape, call.rhs, call.blocks));
    kernels.settle(inner.call).kernel->run(inner.call, memory);
  }

private:
  // The product with the copy.
  struct Inner {
    mpc_rt_contract_t descriptor;
    ContractionCall call;

    Inner(const ContractionCall &outer, const void *copy)
        : descriptor(outer.descriptor),
          call{descriptor, outer.shape,  outer.lhs,   copy,         outer.bias,
               outer.out,  outer.extras, outer.batch, outer.isKept, outer.byRows} {
      Contraction &c = call.shape;
      descriptor.rhs_dtype = c.rhs = c.lhs;
      descriptor.flags &=
          ~static_cast<uint32_t>(MPC_RT_CONTRACT_PACKED_RHS | MPC_RT_CONTRACT_TRANSPOSE_RHS);
      c.packedRhs = c.unsignedRhs = c.transposeRhs = false;
    }
    Inner(const Inner &) = delete;
  };

  ContractionKernels &kernels;
  IntegerWeights &integers;
  const bool nativeBFloat16;
};

} // namespace

std::unique_ptr<ContractionKernel> makeIntegerCopy(ContractionKernels &kernels,
                                                   IntegerWeights &integers, bool nativeBFloat16) {
  return std::make_unique<IntegerCopy>(kernels, integers, nativeBFloat16);
}

} // namespace mpc::rt
