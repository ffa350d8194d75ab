// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lines that mpc-rt/tuning.h describes.
#include "runtime/drivers/kernel_log.h"
#include "runtime/base/dtype.h"
#include "runtime/untrusted/outlets.h"

#include <sstream>

namespace mpc::rt {

// Behind the name of a kernel.
static std::string suffixOf(const Reason &reason) {
  const std::string text = reason.text();
  return (text.empty() ? "" : ": " + text) + "\n";
}

void KernelLog::note(uint32_t id, int64_t batch, const char *layer, const Contraction &c,
                     std::string_view kernel, const Reason &reason) {
  if (!listing)
    return;
  std::ostringstream line;
  line << (layer ? untrusted::forLine(layer) : "contraction") << ' ' << c.batch << 'x' << c.m << 'x'
       << c.n << 'x' << c.k << ' ' << dtypeName(c.lhs) << 'x' << dtypeName(c.rhs) << ' ' << kernel
       << suffixOf(reason);
  lines[{product, id, batch}] = line.str();
}

void KernelLog::note(uint32_t id, int64_t batch, const char *layer, const Convolution &c,
                     std::string_view kernel, const Reason &reason) {
  if (!listing)
    return;
  static constexpr const char *directions[] = {"forward", "input_gradient", "filter_gradient"};
  std::ostringstream line;
  line << (layer ? untrusted::forLine(layer) : "convolution") << ' ' << directions[c.direction]
       << ' ' << c.batch;
  for (size_t d = MPC_RT_MAX_SPATIAL - c.spatial; d < MPC_RT_MAX_SPATIAL; ++d)
    line << 'x' << c.images[d];
  line << 'x' << c.channels << ' ';
  for (size_t d = MPC_RT_MAX_SPATIAL - c.spatial; d < MPC_RT_MAX_SPATIAL; ++d)
    line << c.kernel[d] << 'x';
  line << c.channels / c.groups << 'x' << c.filters << ' ' << dtypeName(c.lhs) << 'x'
       << dtypeName(c.rhs) << ' ' << kernel << suffixOf(reason);
  lines[{convolution, id, batch}] = line.str();
}

void KernelLog::note(uint32_t id, int64_t batch, const char *layer, const Attention &a,
                     bool isGradient, std::string_view kernel, const Reason &reason) {
  if (!listing)
    return;
  std::ostringstream line;
  line << untrusted::forLine(layer) << (isGradient ? " attention_gradient " : " attention ")
       << a.batch << 'x' << a.heads << 'x' << a.targets << 'x' << a.sources << 'x' << a.width << 'x'
       << a.valueWidth << (a.causal ? " causal " : " ") << dtypeName(a.dtype) << ' ' << kernel
       << suffixOf(reason);
  lines[{attention, id, batch}] = line.str();
}

std::string KernelLog::text() const {
  std::string text;
  for (auto &[key, line] : lines)
    text += line;
  return text;
}

} // namespace mpc::rt
