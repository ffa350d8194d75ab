// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windowed cosines and sines, what kernels of an STFTSpectrogram start from.
#include "runtime/initializers/initializers.h"

#include <cmath>
#include <numeric>
#include <vector>

namespace mpc::rt {
namespace {

constexpr double pi = 3.14159265358979323846;

// Weights of cos(0), cos(x), cos(2 x), … (scipy/signal/windows/_windows.py, general_cosine); a
// window is the constant 1 when there are none.
std::vector<double> cosinesOf(uint32_t window) {
  switch (window) {
  case MPC_RT_WINDOW_HANN:
    return {0.5, 0.5};
  case MPC_RT_WINDOW_HAMMING:
    return {0.54, 0.46};
  case MPC_RT_WINDOW_BLACKMAN:
    return {0.42, 0.50, 0.08};
  case MPC_RT_WINDOW_NUTTALL:
    return {0.3635819, 0.4891775, 0.1365995, 0.0106411};
  case MPC_RT_WINDOW_BLACKMAN_HARRIS:
    return {0.35875, 0.48829, 0.14128, 0.01168};
  case MPC_RT_WINDOW_FLATTOP:
    return {0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368};
  default:
    return {1.0};
  }
}

std::vector<float> makeWindow(uint32_t window, bool periodic, int64_t length) {
  std::vector<float> values(static_cast<size_t>(length), 1.0f);
  const std::vector<double> weights = cosinesOf(window);
  const auto intervals = static_cast<double>(periodic ? length : length - 1);
  for (int64_t n = 0; length > 1 && n < length; ++n) {
    const double angle = -pi + 2 * pi * static_cast<double>(n) / intervals;
    double value = 0;
    for (size_t k = 0; k < weights.size(); ++k)
      value += weights[k] * std::cos(static_cast<double>(k) * angle);
    values[static_cast<size_t>(n)] = static_cast<float>(value);
  }
  return values;
}

} // namespace

bool fillFourier(const mpc_rt_variable_info_t &v, float *kernel) {
  if (v.tensor.rank != 3 || v.tensor.dims[1] != 1 || !(v.init_a >= 0 && v.init_a < 8) ||
      !(v.init_b >= 0 && v.init_b < 8))
    return false;
  const auto window = static_cast<uint32_t>(v.init_a), options = static_cast<uint32_t>(v.init_b);
  const int64_t frame = v.tensor.dims[0], bins = v.tensor.dims[2];
  const std::vector<float> weights =
      makeWindow(window, (options & MPC_RT_WINDOW_PERIODIC) != 0, frame);
  float scale = 1.0f;
  if (options & MPC_RT_WINDOW_DENSITY)
    scale = std::sqrt(std::inner_product(weights.begin(), weights.end(), weights.begin(), 0.0f));
  else if (options & MPC_RT_WINDOW_SPECTRUM)
    scale = std::accumulate(weights.begin(), weights.end(), 0.0f,
                            [](float sum, float weight) { return sum + std::fabs(weight); });
  for (int64_t n = 0; n < frame; ++n)
    for (int64_t k = 0; k < bins; ++k) {
      const float turns = -2.0f * static_cast<float>(n) *
                          (static_cast<float>(k) / static_cast<float>((bins - 1) * 2));
      const auto angle = static_cast<double>(turns * static_cast<float>(pi));
      const auto value = static_cast<float>(
          v.initializer == MPC_RT_INIT_FOURIER_COSINE ? std::cos(angle) : std::sin(angle));
      kernel[n * bins + k] = value * weights[static_cast<size_t>(n)] / scale;
    }
  return true;
}

} // namespace mpc::rt
