// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which kernel computed each product, convolution and attention, as mpc_rt_context_used_kernels()
// says it.
#ifndef MPC_RUNTIME_DRIVERS_KERNEL_LOG_H
#define MPC_RUNTIME_DRIVERS_KERNEL_LOG_H

#include "runtime/drivers/attention.h"
#include "runtime/drivers/contraction.h"
#include "runtime/drivers/convolution.h"
#include "runtime/drivers/kernel_reason.h"

#include <map>
#include <string>
#include <string_view>
#include <tuple>

namespace mpc::rt {

class KernelLog {
public:
  // Until then nothing is noted.
  void start() noexcept { listing = true; }
  bool isListing() const noexcept { return listing; }
  void note(uint32_t id, int64_t batch, const char *layer, const Contraction &c,
            std::string_view kernel, const Reason &reason = {});
  void note(uint32_t id, int64_t batch, const char *layer, const Convolution &c,
            std::string_view kernel, const Reason &reason = {});
  void note(uint32_t id, int64_t batch, const char *layer, const Attention &a, bool isGradient,
            std::string_view kernel, const Reason &reason = {});
  // A line each: products, then convolutions, then attention, in the order of the model.
  std::string text() const;

private:
  bool listing = false;
  enum Kind { product, convolution, attention };
  std::map<std::tuple<Kind, uint32_t, int64_t>, std::string> lines; // by kind, id, batch
};

} // namespace mpc::rt

#endif
