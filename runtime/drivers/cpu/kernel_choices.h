// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which kernel multiplies a contraction, where that was measured.
#ifndef MPC_RUNTIME_DRIVERS_CPU_KERNEL_CHOICES_H
#define MPC_RUNTIME_DRIVERS_CPU_KERNEL_CHOICES_H

#include <cstdint>
#include <map>
#include <string>

namespace mpc::rt {

class KernelChoices {
public:
  struct Product {
    uint32_t contraction;
    int64_t batch;
    bool rhsKept; // packed before
    bool operator<(const Product &other) const;
  };

  // The kernel's name; null if nobody measured.
  const std::string *find(const Product &product) const;
  void set(const Product &product, const char *kernel) { kernels[product] = kernel; }
  const std::map<Product, std::string> &all() const { return kernels; }

  // As mpc_rt_context_kernels() gives them.
  std::string text() const;
  // False, and nothing changed, if `text` is not of that form.
  bool parse(const std::string &text);

private:
  std::map<Product, std::string> kernels;
};

} // namespace mpc::rt

#endif
