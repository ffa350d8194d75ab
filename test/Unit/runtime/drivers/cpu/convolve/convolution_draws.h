// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small convolutions, every field from a few values each, and what loops of the CPU must do with
// all of them. Operands are small integers: every order of summation gives the same exact sums.
#ifndef MPC_TEST_UNIT_RUNTIME_DRIVERS_CPU_CONVOLVE_CONVOLUTION_DRAWS_H
#define MPC_TEST_UNIT_RUNTIME_DRIVERS_CPU_CONVOLVE_CONVOLUTION_DRAWS_H

#include "runtime/base/philox.h"
#include "runtime/cts/convolution_case.h"

#include <gtest/gtest.h>

namespace mpc::rt {

// The numbers of one drawing.
class Draws {
public:
  Draws(uint32_t stream, uint32_t index) : stream(stream), index(index) {}

  uint32_t below(uint32_t bound) {
    return philox({{index, next++, 0, 0}}, stream, 0).word[0] % bound;
  }

  // One more dimension of windows of at most `taps` taps; returns how far a window reaches.
  int64_t addWindow(cts::ConvolutionCase &c, uint32_t taps) {
    c.kernel.push_back(1 + below(taps));
    c.dilations.push_back(1 + below(2));
    c.strides.push_back(1 + below(3));
    const int64_t reach = (c.kernel.back() - 1) * c.dilations.back() + 1;
    for (auto *padding : {&c.low, &c.high})
      padding->push_back(below(2) ? below(static_cast<uint32_t>(reach) + 1) : 0);
    return reach;
  }

  // Draws what happens to the sums; a filter's gradient is stored as it is.
  void setResult(cts::ConvolutionCase &c) {
    c.out = below(3);
    c.bias = below(3);
    if (c.direction != MPC_RT_CONVOLUTION_FILTER_GRADIENT) {
      c.hasBias = below(2);
      c.relu = below(2);
    }
    c.seed = index;
  }

private:
  uint32_t stream, index, next = 0;
};

template <typename Parameter> class DrawnConvolutions : public ::testing::TestWithParam<Parameter> {
protected:
  virtual cts::ConvolutionCase draw(uint32_t index) const = 0;
  virtual void run(cts::ConvolutionData &data, unsigned threads) const = 0;

  // Over directions, windows and epilogues.
  void expectExactSums(uint32_t count) const {
    for (uint32_t i = 0; i < count; ++i) {
      cts::ConvolutionData data(draw(i));
      run(data, 1 + i % 8);
      ASSERT_EQ(data.difference(), "") << data.shape.text();
    }
  }

  // A filter's gradient obeys this, too: numbers that meet padding have no product.
  void expectInfinityInItsPlace(uint32_t count) const {
    for (uint32_t i = 0; i < count; ++i) {
      cts::ConvolutionData data(draw(1000 + i));
      data.putInfinity(i % 2, i);
      run(data, 2);
      ASSERT_EQ(data.difference(), "") << data.shape.text();
    }
  }

  // Sums of fractions, whose order shows in their last bits.
  void expectOrderOfOneThread(uint32_t count) const {
    for (uint32_t i = 0; i < count; ++i) {
      cts::ConvolutionData alone(draw(2000 + i));
      alone.fillWithFractions(i);
      cts::ConvolutionData together = alone;
      run(alone, 1);
      run(together, 3);
      ASSERT_EQ(alone.out, together.out) << alone.shape.text();
    }
  }
};

} // namespace mpc::rt

#endif // MPC_TEST_UNIT_RUNTIME_DRIVERS_CPU_CONVOLVE_CONVOLUTION_DRAWS_H
