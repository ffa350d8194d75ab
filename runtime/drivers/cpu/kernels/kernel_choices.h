// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which kernel computes a contraction or a convolution, where that was measured.
#ifndef MPC_RUNTIME_DRIVERS_CPU_KERNELS_KERNEL_CHOICES_H
#define MPC_RUNTIME_DRIVERS_CPU_KERNELS_KERNEL_CHOICES_H

#include "runtime/drivers/cpu/kernels/kernel_trials.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace mpc::rt {

class KernelChoices {
public:
  enum class Operation { contraction, convolution };
  struct Product {
    Operation operation;
    uint32_t id; // of the descriptor
    int64_t batch;
    bool rhsKept; // packed before
    bool operator<(const Product &other) const;
  };

  // From then on every product without a choice is measured, as far as the allowance goes.
  void startMeasuring(TrialAllowance allowed) noexcept {
    measuring = true;
    allowance = allowed;
  }
  bool toBeMeasured(const Product &product) const {
    return measuring && !find(product) && !left.count(product);
  }
  // Measures the calls and keeps the name of the fastest; `product` is left to the rules where
  // there is nothing to choose from or no time to measure.
  void measure(const Product &product, const std::vector<const char *> &names,
               const std::vector<std::function<void()>> &calls);

  // The kernel's name; null if nobody measured.
  const std::string *find(const Product &product) const;
  void set(const Product &product, const char *kernel) { kernels[product] = kernel; }
  const std::map<Product, std::string> &all() const { return kernels; }

  // The text that mpc_rt_context_kernel_choices() gives.
  std::string text() const;
  // False, and nothing changed, if `text` is not of that form.
  bool parse(const std::string &text);

private:
  bool measuring = false;
  TrialAllowance allowance;
  std::map<Product, std::string> kernels;
  std::set<Product> left; // to the rules
};

// The names of oneDNN's kernels and of the loops of DepthwiseConvolution in choices.
constexpr char libraryKernel[] = "onednn", depthwiseKernel[] = "depthwise";

} // namespace mpc::rt

#endif
