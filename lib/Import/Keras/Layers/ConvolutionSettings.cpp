// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/Layers/ConvolutionSettings.h"

namespace mpc::keras {

std::optional<ConvolutionSettings> ConvolutionSettings::read(LayerBuilder &b, int64_t spatial,
                                                             bool stridesAndDilations) {
  ConvolutionSettings s;
  auto format = getDataFormat(b);
  auto kernel = getNumbers(b, "kernel_size", spatial, 0);
  auto strides = getNumbers(b, "strides", spatial, 1);
  auto dilations = getNumbers(b, "dilation_rate", spatial, 1);
  s.padding = llvm::StringRef(b.getString("padding", "valid")).lower();
  if (b.hasFailed())
    return std::nullopt;
  s.format = *format;
  s.kernel = *kernel;
  s.strides = *strides;
  s.dilations = *dilations;
  auto above1 = [](int64_t number) { return number > 1; };
  if (!stridesAndDilations && llvm::any_of(s.strides, above1) && llvm::any_of(s.dilations, above1))
    b.error("'strides' and 'dilation_rate' above 1 together are not possible, as in Keras");
  for (size_t d = 0; d < s.kernel.size(); ++d)
    if ((s.kernel[d] - 1) > kMostSpatial / s.dilations[d])
      b.error("the dilated kernel is too large");
  if (b.hasFailed())
    return std::nullopt;
  return s;
}

bool ConvolutionSettings::setPadding(LayerBuilder &b, llvm::ArrayRef<int64_t> extents,
                                     bool allowsCausal) {
  for (size_t d = 0; d < kernel.size(); ++d) {
    int64_t extent = extents[d], before = 0, after = 0;
    if (padding == "same")
      std::tie(before, after) = samePadding(extent, reach(d), strides[d]);
    else if (padding == "causal" && allowsCausal)
      before = reach(d) - 1;
    else if (padding != "valid")
      return b.error("'padding' is '" + padding + "'; expected valid" +
                     (allowsCausal ? ", same or causal" : " or same")),
             false;
    low.push_back(before);
    high.push_back(after);
    if (convolvedExtent(extent, kernel[d], strides[d], before, after, dilations[d]) < 1)
      return b.error("a kernel that reaches over " + llvm::Twine(reach(d)) +
                     " elements does not fit into " + llvm::Twine(extent)),
             false;
  }
  return true;
}

llvm::SmallVector<int64_t>
ConvolutionSettings::getResultExtents(llvm::ArrayRef<int64_t> extents) const {
  llvm::SmallVector<int64_t> result;
  for (size_t d = 0; d < kernel.size(); ++d)
    result.push_back(
        convolvedExtent(extents[d], kernel[d], strides[d], low[d], high[d], dilations[d]));
  return result;
}

} // namespace mpc::keras
