// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The list of the kernels that contract, and the one place that chooses among them: computing,
// reserving memory, loops over rows, --tune and what is said of a kernel all ask choose().
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONTRACT_CONTRACTION_KERNELS_H
#define MPC_RUNTIME_DRIVERS_CPU_CONTRACT_CONTRACTION_KERNELS_H

#include "runtime/drivers/cpu/contract/contraction_kernel.h"
#include "runtime/drivers/cpu/kernels/int8_kernel.h"
#include "runtime/drivers/cpu/kernels/kernel_choices.h"
#include "runtime/drivers/cpu/kernels/micro_kernel.h"

#include <memory>
#include <string>
#include <vector>

namespace mpc::rt {

// The abilities of a context; tests set them to reach kernels that their CPU would not take.
struct ContractionAbilities {
  bool nativeBFloat16; // oneDNN multiplies bfloat16 as it is, instead of through float32
  bool exactInt8;      // oneDNN multiplies int8
  bool ownKernels;     // micro-kernels; without, oneDNN multiplies everything
};

class ContractionKernels {
public:
  // `choices` decide where they have one, else the kernels.
  ContractionKernels(ContractionMemory &memory, int isa, KernelChoices &choices,
                     const ContractionAbilities &abilities);

  struct Choice {
    ContractionKernel *kernel;
    Reason reason;
  };
  Choice choose(const ContractionCall &call) const;
  // The same of a call that is about to run: where nothing was chosen and --tune asks for it, the
  // kernels are measured first.
  Choice settle(const ContractionCall &call);
  // Whether settle() would measure.
  bool measures(const ContractionCall &call) const;

  // Whether the kernel of that name runs here, beside oneDNN's.
  bool hasKernel(const std::string &name) const;
  void forgetPlans() noexcept;
  uint64_t bytes() const noexcept;

private:
  Verdict ask(ContractionKernel &kernel, const ContractionCall &call) const;
  const std::string *choiceOf(const ContractionCall &call) const;
  // Runs the call by each kernel, into memory of its own, and keeps the fastest.
  void measure(const ContractionCall &call);

  ContractionMemory &memory;
  KernelChoices &choices;
  std::vector<std::unique_ptr<ContractionKernel>> kernels;
};

// The kernels, each in the file of its name (float64_loop.cpp and so on).
std::unique_ptr<ContractionKernel> makeFloat64Loop();
std::unique_ptr<ContractionKernel> makeIntegerTiles(IntegerWeights &integers);
// `kernels` multiply the copy; `nativeBFloat16` as above.
std::unique_ptr<ContractionKernel> makeIntegerCopy(ContractionKernels &kernels,
                                                   IntegerWeights &integers, bool nativeBFloat16);
std::unique_ptr<ContractionKernel> makeStreamedWeights();
// Multiplies everything that `preferred`, which may be null, does not multiply. `onlyStreams`: few
// rows by weights that stay.
std::unique_ptr<ContractionKernel> makeBlockedKernel(ThreadTeam &team, int isa,
                                                     const MicroKernel &kernel,
                                                     ContractionKernel *preferred,
                                                     bool onlyStreams = false);
std::unique_ptr<ContractionKernel> makeOwnInt8(const Int8Kernel &kernel);
std::unique_ptr<ContractionKernel> makeLibraryKernel(ThreadTeam &team,
                                                     const ContractionAbilities &abilities);
// `avx2`: the CPU has it.
std::unique_ptr<ContractionKernel> makeInt8Loop(bool avx2);

} // namespace mpc::rt

#endif
