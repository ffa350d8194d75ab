// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `convolve` service on the CPU: plans per (descriptor, batch), packed filters, conversions of
// 16-bit operands, epilogues.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_CONVOLVER_H
#define MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_CONVOLVER_H

#include "runtime/base/memory.h"
#include "runtime/base/vector_kernels.h"
#include "runtime/drivers/convolution.h"
#include "runtime/drivers/cpu/convolve/depthwise_convolution.h"
#include "runtime/drivers/cpu/convolve/filter_gradient.h"
#include "runtime/drivers/cpu/convolve/image_product.h"
#include "runtime/drivers/cpu/kernels/int8_kernel.h"
#include "runtime/drivers/cpu/kernels/kernel_choices.h"
#include "runtime/drivers/cpu/kernels/micro_kernel.h"
#include "runtime/drivers/cpu/onednn/onednn_convolution.h"
#include "runtime/drivers/kernel_log.h"
#include "runtime/threads/thread_team.h"

#include <map>
#include <memory>
#include <tuple>

namespace mpc::rt {

class Convolver {
public:
  // The arguments are Contractor's.
  Convolver(ThreadTeam &team, int isa, KernelChoices &choices, KernelLog &log,
            bool nativeBFloat16 = convolvesBFloat16())
      : team(team), kernels(vectorKernels(isa)), depthwise(depthwiseKernels(isa)),
        bfloat16(bfloat16MicroKernel(isa)), float32(float32MicroKernel(isa)), int8(int8Kernel(isa)),
        hasAvx2(isa >= MPC_RT_ISA_X86_64_V3), choices(choices), log(log),
        nativeBFloat16(nativeBFloat16) {}

  // `weightsConstant`: packed copies of variables may be kept until forgetWeights().
  void setWeightsConstant(bool constant) { weightsConstant = constant; }
  void forgetWeights() noexcept { weightVersion++; }

  mpc_rt_status_t convolve(const mpc_rt_convolution_t &descriptor,
                           const mpc_rt_convolve_call_t &call);
  // Takes the memory that convolve() will need, and computes nothing.
  mpc_rt_status_t reserveFor(const mpc_rt_convolution_t &descriptor,
                             const mpc_rt_convolve_call_t &call);
  uint64_t bytes() const noexcept;

  // Does what Contractor's do.
  bool hasKernel(const std::string &name) const;
  void forgetPlans() noexcept { plans.clear(); }

private:
  // How one convolution is done: `block` samples at a time; the gradient of a filter at once.
  struct Plan {
    Convolution shape;
    onednn::Element element = onednn::Element::float32;
    bool widenLhs = false, widenRhs = false; // to float32 first
    bool padsChannels = false;               // of images and filter, by one of zeros
    bool throughScratch = false;             // sums go to a float32 block, the epilogue to out
    bool roundsSums = false; // oneDNN stores bfloat16, where the epilogue is applied
    bool epilogue = false;
    bool addBias = false; // by oneDNN itself
    int64_t block = 0;
    // The first one that there is; none: convolveDirectly.
    std::unique_ptr<DepthwiseConvolution> depthwise;
    std::unique_ptr<ImageProduct> product;
    std::unique_ptr<FilterGradient> filterGradient;
    std::unique_ptr<onednn::ConvolutionPrimitive> body, tail;
    const MicroKernel *micro = nullptr; // of `product` and `filterGradient`; null: of integers
    const char *integerKernel = "";     // its name, without `micro`
    Reason reason;                      // why it is done so

    const char *kernel() const;
    bool copiesFilter() const { return widenRhs || padsChannels; }
    // Elements of what has channels, as oneDNN sees it.
    int64_t librarySize(int64_t elements) const {
      return padsChannels ? elements / shape.channels * (shape.channels + 1) : elements;
    }
  };
  using PlanKey = std::tuple<uint32_t, int64_t, bool>; // descriptor, batch, whether rhs is kept
  struct PackedFilter {
    Buffer buffer;
    uint64_t version = 0;
  };

  Plan &findPlan(const mpc_rt_convolution_t &descriptor, const Convolution &shape, int64_t batch);
  // Plans with the kernel that was measured, or by rules where nothing was.
  std::unique_ptr<Plan> makePlan(const Convolution &shape, const std::string *kernel);
  // Whether the kernel could be taken.
  bool take(Plan &plan, const std::string &kernel);
  void takeByRules(Plan &plan);
  // `widens`: oneDNN would widen 16-bit operands.
  bool takeOwnByRules(Plan &plan, bool widens);
  bool takeDepthwise(Plan &plan);
  // The kernel of this CPU for the shape's operands; null: none.
  const MicroKernel *findMicroKernel(const Convolution &shape) const;
  bool takeMicroKernel(Plan &plan, const MicroKernel *kernel);
  // `native`: 16-bit operands are not widened.
  bool takeLibrary(Plan &plan, bool native);
  void makePrimitives(Plan &plan);
  // Runs the convolution by each kernel, into memory of its own, and chooses the fastest.
  void measure(const mpc_rt_convolution_t &descriptor, const Convolution &shape,
               const mpc_rt_convolve_call_t &call);

  void run(Plan &plan, const mpc_rt_convolution_t &descriptor, const mpc_rt_convolve_call_t &call,
           const ConvolutionResult &result);
  void execute(Plan &plan, const mpc_rt_convolution_t &descriptor,
               const mpc_rt_convolve_call_t &call, const ConvolutionResult &result);
  const void *prepareFilter(Plan &plan, int32_t variable, const void *filter);
  const void *prepareImages(const Plan &plan, const void *images, int64_t first, int64_t samples);
  const void *prepareOperand(bool wide, mpc_rt_dtype_t dtype, const void *from, int64_t elements,
                             Buffer &buffer);
  const float *prepareBias(const Convolution &shape, const void *bias);
  // `sums` in float32, or null where `out` holds them rounded.
  void applyEpilogue(const Convolution &shape, const float *sums, const float *bias, void *out,
                     int64_t elements);

  ThreadTeam &team;
  const VectorKernels &kernels;
  const DepthwiseKernels &depthwise;
  const MicroKernel *bfloat16, *float32; // or null
  const Int8Kernel *int8;                // or null
  const bool hasAvx2;
  KernelChoices &choices;
  KernelLog &log;
  bool nativeBFloat16;
  bool weightsConstant = false;
  uint64_t weightVersion = 1;
  onednn::FilterLayouts layouts; // outlives the plans
  std::map<PlanKey, std::unique_ptr<Plan>> plans;
  // The keys are the variable, element, direction and layout.
  std::map<std::tuple<int32_t, onednn::Element, mpc_rt_convolution_direction_t, const void *>,
           PackedFilter>
      weights;
  Buffer lhsBlock, rhsWhole, packedOnce, sumBlock, biasWide, libraryScratch, filterScratch,
      consumedResult;
};

// Any convolution by plain loops, sums in float64: those with float64 operands or results, and
// shapes that oneDNN has no kernel for.
void convolveDirectly(ThreadTeam &team, const Convolution &shape, const void *lhs, const void *rhs,
                      const void *bias, void *out);

} // namespace mpc::rt

#endif
