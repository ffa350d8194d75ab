// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Choosing kernels by measuring them, and saying which ones were chosen.
#include "runtime/base/status.h"
#include "runtime/drivers/cpu/contractor.h"

#include <algorithm>
#include <chrono>
#include <sstream>

namespace mpc::rt {
namespace {

// What choices of kernels call oneDNN's products.
constexpr char libraryKernel[] = "onednn";

} // namespace

void Contractor::measure(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                         const void *lhs, const void *rhs, const void *bias, const ReluBits &bits,
                         int64_t batch) {
  BlockedProduct *blocked = findBlocked(shape);
  const bool keep = weightsConstant && descriptor.rhs_variable >= 0;
  const KernelChoices::Product product{descriptor.id, batch, keep};
  if (!blocked || choices.find(product))
    return;
  Buffer result;
  reserve(result, shape.outElements() * dtypeSize(shape.out));
  // Weights that change are packed anew in every step, so that belongs to the time.
  mpc_rt_contract_t alone = descriptor;
  alone.rhs_variable = keep ? descriptor.rhs_variable : -1;
  constexpr int repetitions = 3;
  double fastest = 0;
  for (BlockedProduct *candidate : {blocked, static_cast<BlockedProduct *>(nullptr)}) {
    auto plan = makePlan(shape, keep, /*findLargest=*/false, candidate);
    double seconds = 0;
    for (int i = 0; i <= repetitions; ++i) {
      auto start = std::chrono::steady_clock::now();
      execute(*plan, alone, lhs, rhs, bias, result.data(), {nullptr, nullptr, bits});
      std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
      if (i > 0) // the first one makes plans and touches pages
        seconds = i == 1 ? taken.count() : std::min(seconds, taken.count());
    }
    if (candidate == blocked || seconds < fastest) {
      choices.set(product, candidate ? candidate->name() : libraryKernel);
      fastest = seconds;
    }
  }
  // The copies that the slower one packed are for nobody.
  packedOnceHolds = nullptr;
  for (auto entry = weights.begin(); entry != weights.end();)
    entry = std::get<0>(entry->first) == alone.rhs_variable ? weights.erase(entry) : ++entry;
}

void Contractor::list(const mpc_rt_contract_t &descriptor, const Contraction &c, int64_t batch,
                      const char *kernel) {
  if (!listing)
    return;
  std::ostringstream line;
  line << (descriptor.layer ? descriptor.layer : "contraction") << ' ' << c.batch << 'x' << c.m
       << 'x' << c.n << 'x' << c.k << ' ' << dtypeName(c.lhs) << 'x' << dtypeName(c.rhs) << ' '
       << (*kernel ? kernel : "loop");
  listed[{descriptor.id, batch}] = line.str();
}

std::string Contractor::products() const {
  std::string text;
  for (auto &[key, line] : listed)
    text += line + '\n';
  return text;
}

mpc_rt_status_t Contractor::setKernelChoices(const char *text) {
  KernelChoices parsed;
  if (!parsed.parse(text))
    return fail(MPC_RT_INVALID_ARGUMENT, "choices of kernels: expected lines of CONTRACTION BATCH "
                                         "kept|changing KERNEL, as mpc_rt_context_kernels gives");
  for (auto &[product, kernel] : parsed.all()) {
    bool known = kernel == libraryKernel;
    for (auto *own : {bfloat16Product.get(), float32Product.get()})
      known |= own && kernel == own->name();
    if (!known)
      return fail(MPC_RT_UNAVAILABLE,
                  "choices of kernels: '%s' does not run on this CPU; measure here again",
                  kernel.c_str());
  }
  choices = std::move(parsed);
  plans.clear();
  return MPC_RT_OK;
}

} // namespace mpc::rt
