// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions that oneDNN is told to compute, whatever the rules say: what it gets wrong
// (docs/decisions/0040) must not reach it. MPC_DRAWS=70000 draws so many of each direction.
#include "runtime/base/status.h"
#include "runtime/cts/isa.h"
#include "runtime/drivers/driver.h"
#include "test/Unit/runtime/cpu/convolution_draws.h"

#include <algorithm>
#include <cstdlib>

namespace mpc::rt {
namespace {

class LibraryConvolutions : public DrawnConvolutions<mpc_rt_convolution_direction_t> {
protected:
  void run(cts::ConvolutionData &data, unsigned threads) const override {
    auto driver = makeCpuDriver({threads, cts::isa()});
    driver->listProducts();
    const std::string choice =
        "convolution 5 " + std::to_string(data.shape.batch) + " changing onednn\n";
    ASSERT_EQ(driver->setKernelChoices(choice.c_str()), MPC_RT_OK) << mpc_rt_last_error();
    auto descriptor = data.shape.descriptor(5);
    ASSERT_EQ(driver->begin(WeightUse::updated), MPC_RT_OK);
    EXPECT_EQ(driver->convolve(descriptor, data.lhs.data(), data.rhs.data(), data.bias.data(),
                               data.out.data(), data.shape.batch),
              MPC_RT_OK)
        << mpc_rt_last_error();
    driver->end();
    byLibrary += driver->products().find(':') != std::string::npos;
  }

  mutable uint32_t byLibrary = 0; // what oneDNN computed, whose kernels are named KIND:ISA

  // Up to 144 channels or 60 places, but few enough of both for the reference.
  cts::ConvolutionCase draw(uint32_t index) const override {
    Draws draws(15, index);
    for (;;) {
      constexpr uint32_t mostChannels[] = {4, 24, 48, 144}, mostPlaces[] = {4, 12, 30, 60};
      constexpr int64_t someGroups[] = {1, 1, 1, 1, 2, 3, 16};
      cts::ConvolutionCase c;
      c.direction = GetParam();
      c.batch = 1 + draws.below(3);
      c.groups = someGroups[draws.below(7)];
      for (int64_t *count : {&c.channels, &c.filters}) {
        const uint32_t most = mostChannels[draws.below(4)] / static_cast<uint32_t>(c.groups);
        *count = c.groups * (1 + draws.below(std::max(most, 1u)));
      }
      const uint32_t places = mostPlaces[draws.below(4)], taps = draws.below(3) ? 3 : 7;
      const bool isOneTap = draws.below(4) == 0;
      for (uint32_t d = 0, rank = 1 + draws.below(3); d < rank; ++d) {
        const int64_t reach = draws.addWindow(c, isOneTap ? 1 : taps);
        c.images.push_back(
            std::max<int64_t>(1 + draws.below(places), reach - c.low[d] - c.high[d]));
      }
      c.lhs = c.rhs = draws.below(2) ? MPC_RT_FLOAT32 : MPC_RT_BFLOAT16;
      draws.setResult(c);
      if (c.multiplications() <= 400000)
        return c;
    }
  }
};

TEST_P(LibraryConvolutions, AreExact) {
  const char *draws = std::getenv("MPC_DRAWS");
  const uint32_t count = draws ? static_cast<uint32_t>(std::strtoul(draws, nullptr, 10)) : 200;
  expectExactSums(count);
  EXPECT_GT(byLibrary, count / 2);
}

constexpr const char *directions[] = {"forward", "input_gradient", "filter_gradient"};

INSTANTIATE_TEST_SUITE_P(Every, LibraryConvolutions,
                         ::testing::Values(MPC_RT_CONVOLUTION_FORWARD,
                                           MPC_RT_CONVOLUTION_INPUT_GRADIENT,
                                           MPC_RT_CONVOLUTION_FILTER_GRADIENT),
                         [](const auto &info) { return directions[info.param]; });

} // namespace
} // namespace mpc::rt
