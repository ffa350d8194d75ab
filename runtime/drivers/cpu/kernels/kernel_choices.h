// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which kernel computes a contraction or a convolution, where that was measured.
#ifndef MPC_RUNTIME_DRIVERS_CPU_KERNELS_KERNEL_CHOICES_H
#define MPC_RUNTIME_DRIVERS_CPU_KERNELS_KERNEL_CHOICES_H

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

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

  // From then on every product without a choice is measured.
  void startMeasuring() noexcept { measuring = true; }
  bool toBeMeasured(const Product &product) const { return measuring && !find(product); }

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
  std::map<Product, std::string> kernels;
};

// The names of oneDNN's kernels and of the loops of DepthwiseConvolution in choices.
constexpr char libraryKernel[] = "onednn", depthwiseKernel[] = "depthwise";

// Which of the calls, at least one, takes the least time. After a call each that makes plans and
// touches pages they take turns, so that what else the machine does meets all of them. The first
// one stays unless something is gained.
size_t fastestOf(const std::vector<std::function<void()>> &calls);

} // namespace mpc::rt

#endif
