// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Initial values: distributions by their moments and limits, orthogonality, independence of the
// number of threads.
#include "runtime/base/rounding.h"
#include "runtime/initializers/initializers.h"

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

using namespace mpc::rt;

namespace {

struct Moments {
  double mean = 0, deviation = 0, least = INFINITY, most = -INFINITY;
};

class Initializers : public ::testing::Test {
protected:
  template <typename Type>
  std::vector<Type> make(uint32_t kind, double a, double b, std::vector<int64_t> shape,
                         mpc_rt_dtype_t dtype = MPC_RT_FLOAT32, unsigned threads = 2,
                         uint64_t seed = 5, uint64_t stream = 1) {
    mpc_rt_variable_info_t variable = {};
    variable.tensor = {"v", dtype, static_cast<uint32_t>(shape.size()), shape.data(), 0};
    variable.initializer = kind;
    variable.init_a = a;
    variable.init_b = b;
    variable.init_stream = stream;
    int64_t count = 1;
    for (int64_t extent : shape)
      count *= extent;
    std::vector<Type> values(static_cast<size_t>(count));
    ThreadTeam team(threads);
    team.begin();
    status = initializeVariable(variable, seed, team, values.data());
    team.end();
    return values;
  }
  static Moments moments(const std::vector<float> &values) {
    Moments m;
    for (float value : values) {
      double v = static_cast<double>(value);
      m.mean += v, m.deviation += v * v;
      m.least = std::fmin(m.least, v), m.most = std::fmax(m.most, v);
    }
    auto count = static_cast<double>(values.size());
    m.mean /= count;
    m.deviation = std::sqrt(m.deviation / count - m.mean * m.mean);
    return m;
  }
  mpc_rt_status_t status = -1;
};

constexpr int64_t many = 400000; // the mean's standard error is deviation / 632

// A cast of such a number would be undefined.
TEST_F(Initializers, ConstantsThatAnIntegerCannotHoldAreItsNearest) {
  EXPECT_EQ(make<int64_t>(MPC_RT_INIT_CONSTANT, 1e30, 0, {1}, MPC_RT_INT64)[0], INT64_MAX);
  EXPECT_EQ(make<int64_t>(MPC_RT_INIT_CONSTANT, -INFINITY, 0, {1}, MPC_RT_INT64)[0], INT64_MIN);
  EXPECT_EQ(make<int32_t>(MPC_RT_INIT_CONSTANT, NAN, 0, {1}, MPC_RT_INT32)[0], 0);
  EXPECT_EQ(make<uint64_t>(MPC_RT_INIT_CONSTANT, 0x1p63, 0, {1}, MPC_RT_UINT64)[0],
            uint64_t{1} << 63);
  EXPECT_EQ(make<int8_t>(MPC_RT_INIT_CONSTANT, -3, 0, {1}, MPC_RT_INT8)[0], -3);
}

TEST_F(Initializers, UniformFillsItsInterval) {
  auto m = moments(make<float>(MPC_RT_INIT_UNIFORM, -2.0, 6.0, {many}));
  EXPECT_NEAR(m.mean, 2.0, 0.02);
  EXPECT_NEAR(m.deviation, 8.0 / std::sqrt(12.0), 0.02);
  EXPECT_GE(m.least, -2.0);
  EXPECT_LT(m.most, 6.0);
  EXPECT_LT(m.least, -1.99);
  EXPECT_GT(m.most, 5.99);
}

TEST_F(Initializers, UniformNeverReachesItsEnd) {
  // One step wide: every draw that rounds up would be the excluded end.
  float low = 1.0f, high = std::nextafter(1.0f, 2.0f);
  for (float value : make<float>(MPC_RT_INIT_UNIFORM, static_cast<double>(low),
                                 static_cast<double>(high), {1000}))
    ASSERT_EQ(value, low);
}

TEST_F(Initializers, NormalHasItsMoments) {
  auto values = make<float>(MPC_RT_INIT_NORMAL, 1.0, 0.5, {many});
  auto m = moments(values);
  EXPECT_NEAR(m.mean, 1.0, 0.004);
  EXPECT_NEAR(m.deviation, 0.5, 0.004);
  int64_t inside = 0;
  double lag = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    inside += std::fabs(values[i] - 1.0f) < 0.5f;
    if (i)
      lag += static_cast<double>((values[i] - 1.0f) * (values[i - 1] - 1.0f));
  }
  EXPECT_NEAR(static_cast<double>(inside) / many, 0.6827, 0.004);
  EXPECT_NEAR(lag / many / 0.25, 0.0, 0.01) << "neighbours are independent";
}

TEST_F(Initializers, TruncatedNormalStaysWithinTwoDeviations) {
  auto m = moments(make<float>(MPC_RT_INIT_TRUNCATED_NORMAL, 0.0, 2.0, {many}));
  EXPECT_NEAR(m.mean, 0.0, 0.012);
  EXPECT_NEAR(m.deviation, 2.0 * 0.87962566, 0.012);
  EXPECT_GE(m.least, -4.0);
  EXPECT_LE(m.most, 4.0);
  EXPECT_LT(m.least, -3.98);
}

TEST_F(Initializers, DependOnSeedAndStreamAlone) {
  for (uint32_t kind : {MPC_RT_INIT_UNIFORM, MPC_RT_INIT_NORMAL, MPC_RT_INIT_TRUNCATED_NORMAL,
                        MPC_RT_INIT_ORTHOGONAL}) {
    auto one = make<float>(kind, 1, 2, {300, 70}, MPC_RT_FLOAT32, 1);
    EXPECT_EQ(one, make<float>(kind, 1, 2, {300, 70}, MPC_RT_FLOAT32, 2)) << kind;
    EXPECT_EQ(one, make<float>(kind, 1, 2, {300, 70}, MPC_RT_FLOAT32, 5)) << kind;
    EXPECT_NE(one, make<float>(kind, 1, 2, {300, 70}, MPC_RT_FLOAT32, 2, 6)) << kind;
    EXPECT_NE(one, make<float>(kind, 1, 2, {300, 70}, MPC_RT_FLOAT32, 2, 5, 2)) << kind;
  }
}

void expectOrthogonal(const std::vector<float> &matrix, int64_t rows, int64_t columns,
                      double gain) {
  bool tall = rows >= columns;
  int64_t vectors = tall ? columns : rows, length = tall ? rows : columns;
  for (int64_t i = 0; i < vectors; ++i)
    for (int64_t j = 0; j <= i; ++j) {
      double product = 0;
      for (int64_t k = 0; k < length; ++k)
        product += static_cast<double>(
                       matrix[static_cast<size_t>(tall ? k * columns + i : i * columns + k)]) *
                   static_cast<double>(
                       matrix[static_cast<size_t>(tall ? k * columns + j : j * columns + k)]);
      ASSERT_NEAR(product, i == j ? gain * gain : 0.0, 1e-5) << rows << "x" << columns;
    }
}

TEST_F(Initializers, OrthogonalIsOrthogonal) {
  expectOrthogonal(make<float>(MPC_RT_INIT_ORTHOGONAL, 1, 0, {64, 64}), 64, 64, 1);
  expectOrthogonal(make<float>(MPC_RT_INIT_ORTHOGONAL, 2, 0, {32, 128}), 32, 128, 2);
  expectOrthogonal(make<float>(MPC_RT_INIT_ORTHOGONAL, 1, 0, {5, 7, 16}), 35, 16, 1);
  expectOrthogonal(make<float>(MPC_RT_INIT_ORTHOGONAL, 1, 0, {1, 1}), 1, 1, 1);
}

// With the sign fix the distribution is Haar's: the first entry has mean 0 over seeds.
TEST_F(Initializers, OrthogonalHasNoPreferredSign) {
  double sum = 0;
  for (uint64_t seed = 0; seed < 400; ++seed)
    sum += static_cast<double>(
        make<float>(MPC_RT_INIT_ORTHOGONAL, 1, 0, {2, 2}, MPC_RT_FLOAT32, 1, seed)[0]);
  EXPECT_NEAR(sum / 400, 0.0, 0.15);
}

// An LSTM of 2 units has 8 biases, cuDNN's twice as many: of input and state, which has the ones.
TEST_F(Initializers, ForgetGatesStartAtOne) {
  using Floats = std::vector<float>;
  EXPECT_EQ(make<float>(MPC_RT_INIT_UNIT_FORGET, 0.5, 0, {8}),
            (Floats{0.5, 0.5, 1, 1, 0.5, 0.5, 0.5, 0.5}));
  EXPECT_EQ(make<float>(MPC_RT_INIT_UNIT_FORGET, 0, 1, {16}),
            (Floats{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0}));
}

// Against Keras's STFT initializer; scipy's windows.
TEST_F(Initializers, FourierKernelsAreKeras) {
  const auto check = [&](uint32_t kind, uint32_t window, uint32_t options,
                         std::vector<int64_t> shape, std::vector<size_t> indices,
                         std::vector<float> expected) {
    const auto kernel = make<float>(kind, window, options, std::move(shape));
    ASSERT_EQ(status, MPC_RT_OK);
    for (size_t i = 0; i < indices.size(); ++i)
      EXPECT_NEAR(kernel[indices[i]], expected[i], 6e-8) << window << " at " << indices[i];
  };
  const std::vector<size_t> indices = {1, 7, 13, 19, 28};
  check(MPC_RT_INIT_FOURIER_COSINE, MPC_RT_WINDOW_HANN, MPC_RT_WINDOW_DENSITY, {6, 1, 5}, indices,
        {0, -1.1028878e-08f, 7.8770945e-09f, -0.66055959f, 0});
  check(MPC_RT_INIT_FOURIER_SINE, MPC_RT_WINDOW_FLATTOP,
        MPC_RT_WINDOW_SPECTRUM | MPC_RT_WINDOW_PERIODIC, {6, 1, 5}, indices,
        {0, 0.034189831f, 0.13219601f, 1.5906537e-08f, -0.02417586f});
  check(MPC_RT_INIT_FOURIER_COSINE, MPC_RT_WINDOW_NONE, 0, {6, 1, 5}, indices,
        {1, -4.3711388e-08f, 1.1924881e-08f, -1, 0.70710683f});
  check(MPC_RT_INIT_FOURIER_SINE, MPC_RT_WINDOW_NUTTALL,
        MPC_RT_WINDOW_DENSITY | MPC_RT_WINDOW_PERIODIC, {6, 1, 5}, indices,
        {0, -0.048986275f, 0.42268214f, 1.9048185e-08f, 0.034638524f});
  const std::vector<size_t> first = {0, 3, 6, 9, 12, 15, 18};
  check(MPC_RT_INIT_FOURIER_COSINE, MPC_RT_WINDOW_BOXCAR, 0, {7, 1, 3}, first,
        {1, 1, 1, 1, 1, 1, 1});
  check(MPC_RT_INIT_FOURIER_COSINE, MPC_RT_WINDOW_HAMMING, 0, {7, 1, 3}, first,
        {0.08f, 0.31f, 0.77f, 1, 0.77f, 0.31f, 0.08f});
  check(MPC_RT_INIT_FOURIER_COSINE, MPC_RT_WINDOW_BLACKMAN, 0, {7, 1, 3}, first,
        {0, 0.13f, 0.63f, 1, 0.63f, 0.13f, 0});
  // Where the angle is so large that its rounding to float32 is most of the result.
  check(MPC_RT_INIT_FOURIER_SINE, MPC_RT_WINDOW_BLACKMAN_HARRIS, MPC_RT_WINDOW_SPECTRUM,
        {2000, 1, 1025}, {1025 * 999 + 1024, 1025 * 1000 + 1000, 1025 * 700 + 77},
        {1.5469566e-07f, -0.0013676044f, -0.00075018295f});
  make<float>(MPC_RT_INIT_FOURIER_SINE, MPC_RT_WINDOW_HANN, 0, {4, 3});
  EXPECT_EQ(status, MPC_RT_DATA_LOSS);
  make<float>(MPC_RT_INIT_FOURIER_SINE, 99, 0, {4, 1, 3});
  EXPECT_EQ(status, MPC_RT_DATA_LOSS);
}

TEST_F(Initializers, ConstantsAndIdentity) {
  EXPECT_EQ(make<float>(MPC_RT_INIT_ZEROS, 9, 9, {2}), (std::vector<float>{0, 0}));
  EXPECT_EQ(make<float>(MPC_RT_INIT_ONES, 9, 9, {2}), (std::vector<float>{1, 1}));
  EXPECT_EQ(make<int64_t>(MPC_RT_INIT_CONSTANT, -3, 0, {2}, MPC_RT_INT64),
            (std::vector<int64_t>{-3, -3}));
  EXPECT_EQ(make<uint16_t>(MPC_RT_INIT_CONSTANT, 0.5, 0, {1}, MPC_RT_BFLOAT16)[0], 0x3f00);
  EXPECT_EQ(make<uint16_t>(MPC_RT_INIT_CONSTANT, 0.5, 0, {1}, MPC_RT_FLOAT16)[0], 0x3800);
  EXPECT_EQ(make<double>(MPC_RT_INIT_CONSTANT, 0.1, 0, {1}, MPC_RT_FLOAT64)[0], 0.1);
  EXPECT_EQ(make<uint8_t>(MPC_RT_INIT_ONES, 0, 0, {3}, MPC_RT_BOOL),
            (std::vector<uint8_t>{1, 1, 1}));
  EXPECT_EQ(make<float>(MPC_RT_INIT_IDENTITY, 2, 0, {2, 3}),
            (std::vector<float>{2, 0, 0, 0, 2, 0}));
  EXPECT_TRUE(make<float>(MPC_RT_INIT_NORMAL, 0, 1, {0, 3}).empty());
  EXPECT_EQ(status, MPC_RT_OK);
  make<float>(MPC_RT_INIT_ORTHOGONAL, 1, 0, {3});
  EXPECT_EQ(status, MPC_RT_DATA_LOSS);
}

} // namespace
