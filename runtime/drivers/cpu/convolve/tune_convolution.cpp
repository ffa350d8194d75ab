// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Choosing the kernel of a convolution by measuring.
#include "runtime/base/dtype.h"
#include "runtime/drivers/cpu/convolve/convolver.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace mpc::rt {

const char *Convolver::Plan::kernel() const {
  if (depthwise)
    return depthwiseKernel;
  if (product || filterGradient)
    return micro ? micro->name : integerKernel;
  return body ? body->kernel() : "direct";
}

bool Convolver::hasKernel(const std::string &name) const {
  for (const MicroKernel *own : {bfloat16, float32})
    if (own && name == own->name)
      return true;
  return name == depthwiseKernel;
}

void Convolver::measure(const mpc_rt_convolution_t &descriptor, const Convolution &shape,
                        const mpc_rt_convolve_call_t &call) {
  std::vector<const char *> known{depthwiseKernel, libraryKernel};
  if (const MicroKernel *own = findMicroKernel(shape))
    known.push_back(own->name);
  std::vector<std::pair<const char *, std::unique_ptr<Plan>>> candidates;
  for (const char *kernel : known) {
    auto plan = std::make_unique<Plan>();
    plan->shape = shape;
    if (take(*plan, kernel))
      candidates.emplace_back(kernel, std::move(plan));
  }
  // The kernel that the rules prefer is measured first.
  const auto preferred = makePlan(shape, /*kernel=*/nullptr);
  std::partition(candidates.begin(), candidates.end(), [&](const auto &candidate) {
    return std::string_view(candidate.second->kernel()) == preferred->kernel();
  });
  const bool keep = weightsConstant && descriptor.rhs_variable >= 0;
  Buffer result;
  reserve(result, static_cast<uint64_t>(shape.outElements()) * dtypeSize(shape.out));
  // Filters that change are packed anew in every step, so that belongs to the time.
  mpc_rt_convolution_t alone = descriptor;
  alone.rhs_variable = keep ? descriptor.rhs_variable : -1;
  std::vector<const char *> names;
  std::vector<std::function<void()>> calls;
  for (auto &candidate : candidates) {
    names.push_back(candidate.first);
    calls.emplace_back([&, plan = candidate.second.get()] {
      run(*plan, alone, call, {shape.out, result.data()});
    });
  }
  choices.measure({KernelChoices::Operation::convolution, descriptor.id, call.batch, keep}, names,
                  calls);
  // The copies that the slower ones packed are for nobody.
  for (auto entry = weights.begin(); entry != weights.end();)
    entry = std::get<0>(entry->first) == alone.rhs_variable ? weights.erase(entry) : ++entry;
}

} // namespace mpc::rt
