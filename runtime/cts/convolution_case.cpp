// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference adds up products in float64, each sum in the order of pixels, taps and channels,
// and rounds exactly where the contract says.
#include "runtime/cts/convolution_case.h"
#include "runtime/base/dtype.h"
#include "runtime/base/philox.h"
#include "runtime/cts/elements.h"

#include <limits>

namespace mpc::rt::cts {
namespace {

int64_t product(const std::vector<int64_t> &extents) {
  int64_t result = 1;
  for (int64_t extent : extents)
    result *= extent;
  return result;
}

int64_t imagesOf(const ConvolutionCase &c) { return c.batch * product(c.images) * c.channels; }
int64_t filterOf(const ConvolutionCase &c) {
  return product(c.kernel) * (c.channels / c.groups) * c.filters;
}
int64_t outputsOf(const ConvolutionCase &c) { return c.batch * product(c.outputs()) * c.filters; }

int64_t outOf(const ConvolutionCase &c) {
  return c.direction == MPC_RT_CONVOLUTION_FORWARD          ? outputsOf(c)
         : c.direction == MPC_RT_CONVOLUTION_INPUT_GRADIENT ? imagesOf(c)
                                                            : filterOf(c);
}

int64_t columnsOf(const ConvolutionCase &c) {
  return c.direction == MPC_RT_CONVOLUTION_INPUT_GRADIENT ? c.channels : c.filters;
}

// Calls `visit(image, tap, output)` for each pixel of the images that a tap of the kernel brings to
// a pixel of the outputs.
template <typename Visit> void forEachTap(const ConvolutionCase &c, Visit visit) {
  const std::vector<int64_t> extents = c.outputs();
  const int64_t images = product(c.images), outputs = product(extents), taps = product(c.kernel);
  for (int64_t b = 0; b < c.batch; ++b)
    for (int64_t o = 0; o < outputs; ++o)
      for (int64_t k = 0; k < taps; ++k) {
        int64_t pixel = o, tap = k, image = 0, stride = 1;
        bool inside = true;
        for (size_t d = c.images.size(); d-- > 0;) {
          int64_t at =
              pixel % extents[d] * c.strides[d] - c.low[d] + tap % c.kernel[d] * c.dilations[d];
          inside = inside && at >= 0 && at < c.images[d];
          image += at * stride;
          stride *= c.images[d];
          pixel /= extents[d];
          tap /= c.kernel[d];
        }
        if (inside)
          visit(b * images + image, k, b * outputs + o);
      }
}

} // namespace

std::vector<int64_t> ConvolutionCase::outputs() const {
  std::vector<int64_t> result;
  for (size_t d = 0; d < images.size(); ++d)
    result.push_back(
        (images[d] + low[d] + high[d] - (kernel[d] - 1) * dilations[d] - 1) / strides[d] + 1);
  return result;
}

int64_t ConvolutionCase::multiplications() const {
  return outputsOf(*this) * product(kernel) * (channels / groups);
}

mpc_rt_convolution_t ConvolutionCase::descriptor(uint32_t id) const {
  mpc_rt_convolution_t d = {};
  d.struct_size = sizeof(d);
  d.id = id;
  d.lhs_dtype = lhs;
  d.rhs_dtype = rhs;
  d.out_dtype = out;
  d.bias_dtype = bias;
  d.direction = direction;
  d.activation = relu ? MPC_RT_ACTIVATION_RELU : MPC_RT_ACTIVATION_NONE;
  d.spatial_rank = static_cast<uint32_t>(images.size());
  d.has_bias = hasBias;
  d.rhs_variable = rhsVariable;
  d.batch = {batch, 0};
  d.groups = groups;
  d.channels = channels;
  d.filters = filters;
  std::vector<int64_t> extents = outputs();
  for (size_t i = 0; i < images.size(); ++i) {
    d.images[i] = images[i];
    d.kernel[i] = kernel[i];
    d.outputs[i] = extents[i];
    d.strides[i] = strides[i];
    d.dilations[i] = dilations[i];
    d.padding_low[i] = low[i];
    d.padding_high[i] = high[i];
  }
  d.layer = "test/layer";
  return d;
}

std::string ConvolutionCase::text() const {
  auto list = [](const std::vector<int64_t> &numbers) {
    std::string result;
    for (int64_t number : numbers)
      result += (result.empty() ? "" : "x") + std::to_string(number);
    return result;
  };
  const char *directions[] = {"forward ", "input gradient ", "filter gradient "};
  return directions[direction] + std::to_string(batch) + " of " + list(images) + "x" +
         std::to_string(channels) + " by " + list(kernel) + " to " + std::to_string(filters) +
         " groups " + std::to_string(groups) + " strides " + list(strides) + " dilations " +
         list(dilations) + " padding " + list(low) + "," + list(high) + " " + dtypeName(lhs) +
         " * " + dtypeName(rhs) + " -> " + dtypeName(out) +
         (hasBias ? std::string(" + ") + dtypeName(bias) : "") + (relu ? " relu" : "");
}

ConvolutionData::ConvolutionData(const ConvolutionCase &c) : shape(c) {
  bool toImages = c.direction == MPC_RT_CONVOLUTION_INPUT_GRADIENT;
  bool toFilter = c.direction == MPC_RT_CONVOLUTION_FILTER_GRADIENT;
  fill(lhs, c.lhs, toImages ? outputsOf(c) : imagesOf(c), c.seed, 1, 3, 1.0);
  fill(rhs, c.rhs, toFilter ? outputsOf(c) : filterOf(c), c.seed, 2, 3, 1.0);
  fill(bias, c.bias, columnsOf(c), c.seed, 3, 3, 1.0 + 1.0 / 128);
  fill(out, c.out, outOf(c), c.seed, 4, 3, 0.5);
  initial = out;
}

void ConvolutionData::fillWithFractions(uint32_t seed) {
  auto fillOne = [&](std::vector<uint8_t> &data, mpc_rt_dtype_t dtype, uint32_t stream) {
    const auto elements = static_cast<int64_t>(data.size() / dtypeSize(dtype));
    for (int64_t at = 0; at < elements; ++at)
      storeElement(dtype, data.data(), at,
                   philox({{static_cast<uint32_t>(at), seed, stream, 0}}, 13, 0).word[0] * 0x1p-31 -
                       1);
  };
  fillOne(lhs, shape.lhs, 0);
  fillOne(rhs, shape.rhs, 1);
}

void ConvolutionData::putInfinity(bool intoLhs, uint32_t seed) {
  std::vector<uint8_t> &operand = intoLhs ? lhs : rhs;
  const mpc_rt_dtype_t dtype = intoLhs ? shape.lhs : shape.rhs;
  const auto elements = static_cast<int64_t>(operand.size() / dtypeSize(dtype));
  storeElement(dtype, operand.data(), seed * 7919 % elements,
               std::numeric_limits<double>::infinity());
}

std::vector<uint8_t> ConvolutionData::expected(Roundings roundings) const {
  const ConvolutionCase &c = shape;
  const std::vector<double> left = widened(c.lhs, lhs), right = widened(c.rhs, rhs);
  std::vector<double> sums(static_cast<size_t>(outOf(c)), 0.0);
  const int64_t channels = c.channels / c.groups, filters = c.filters / c.groups;
  // The channels of an image's pixel and the filters of an output's pixel that one group joins.
  const auto forEachGroup = [&](auto visit) {
    forEachTap(c, [&](int64_t image, int64_t tap, int64_t output) {
      for (int64_t group = 0; group < c.groups; ++group)
        visit(image * c.channels + group * channels, tap, output * c.filters + group * filters,
              group * filters);
    });
  };
  if (c.direction == MPC_RT_CONVOLUTION_INPUT_GRADIENT) {
    const std::vector<double> byFilter = transposed(right, product(c.kernel), channels, c.filters);
    forEachGroup([&](int64_t image, int64_t tap, int64_t output, int64_t filter) {
      for (int64_t f = 0; f < filters; ++f)
        addProducts(&sums[size_t(image)], left[size_t(output + f)],
                    &byFilter[size_t((tap * c.filters + filter + f) * channels)], channels);
    });
  } else {
    const bool isForward = c.direction == MPC_RT_CONVOLUTION_FORWARD;
    forEachGroup([&](int64_t image, int64_t tap, int64_t output, int64_t filter) {
      for (int64_t i = 0; i < channels; ++i) {
        const int64_t row = (tap * channels + i) * c.filters + filter;
        addProducts(&sums[size_t(isForward ? output : row)], left[size_t(image + i)],
                    &right[size_t(isForward ? row : output)], filters);
      }
    });
  }
  std::vector<uint8_t> result(initial.size());
  for (size_t i = 0; i < sums.size(); ++i) {
    bool once = c.hasBias && roundings == Roundings::once;
    double value = once ? sums[i] : roundElement(c.out, sums[i]);
    auto column = static_cast<int64_t>(i) % columnsOf(c);
    if (c.hasBias)
      value = roundElement(c.out, value + loadElement(c.bias, bias.data(), column));
    if (c.relu)
      value = value < 0 ? 0 : value;
    storeElement(c.out, result.data(), static_cast<int64_t>(i), value);
  }
  return result;
}

std::string ConvolutionData::difference(Roundings roundings) const {
  return firstDifference(shape.text(), shape.out, expected(roundings).data(), out.data(),
                         outOf(shape));
}

} // namespace mpc::rt::cts
