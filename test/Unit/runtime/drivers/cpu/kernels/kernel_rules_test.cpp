// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tables of kernels: which kind of CPU this is, and that each kind has an answer with a reason.
#include "mpc-rt/device.h"
#include "runtime/drivers/cpu/contract/contraction_rules.h"
#include "runtime/drivers/cpu/convolve/convolution_rules.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace mpc::rt {
namespace {

Cpu cpuOf(const char *vendor, unsigned family, uint64_t features) {
  Cpu cpu;
  std::strcpy(cpu.vendor, vendor);
  std::strcpy(cpu.model, "AMD Intel"); // which says nothing
  cpu.family = family;
  cpu.features = features;
  return cpu;
}

TEST(CpuKinds, AreToldApartByVendorFamilyAndFeatures) {
  constexpr uint64_t avx2 = MPC_RT_FEATURE_AVX2, avx512 = avx2 | MPC_RT_FEATURE_AVX512_V4;
  constexpr uint64_t bfloat16 = avx512 | MPC_RT_FEATURE_AVX512_BF16;
  constexpr uint64_t amx = bfloat16 | MPC_RT_FEATURE_AMX_BF16;
  const struct {
    const char *vendor;
    unsigned family;
    uint64_t features;
    CpuKind kind;
  } rows[] = {
      {"AuthenticAMD", 23, avx2, zen3},
      {"AuthenticAMD", 25, avx2, zen3},
      {"AuthenticAMD", 25, bfloat16, zen4},
      {"AuthenticAMD", 26, bfloat16, zen5},
      {"AuthenticAMD", 26, avx2, zen5}, // without its AVX-512
      {"AuthenticAMD", 27, bfloat16, zen5},
      {"GenuineIntel", 6, avx2, intelWithoutBFloat16},
      {"GenuineIntel", 6, avx512, intelWithoutBFloat16},
      {"GenuineIntel", 6, bfloat16, intelWithBFloat16},
      {"GenuineIntel", 6, amx, intelWithAmx},
      {"HygonGenuine", 24, avx2, unknownCpu},
      {"", 0, amx, unknownCpu},
  };
  for (const auto &row : rows)
    EXPECT_EQ(kindOf(cpuOf(row.vendor, row.family, row.features)), row.kind)
        << row.vendor << " " << row.family << " " << row.features;
}

TEST(CpuKinds, AreOneBitEach) {
  const CpuKind here = cpuKind();
  EXPECT_TRUE(here & everyCpu);
  EXPECT_FALSE(here & (here - 1));
}

TEST(Reasons, SayWhereTheyWereMeasured) {
  EXPECT_EQ((Reason{"a small product"}).text(), "a small product");
  EXPECT_EQ((Reason{"a small product", "Zen 4"}).text(), "a small product; measured on Zen 4");
  Contraction shape;
  shape.batch = shape.m = shape.n = shape.k = 1;
  const ContractionTraits traits{avx2Float32, shape, /*rhsKept=*/false, /*launches=*/false};
  EXPECT_EQ(isWorthwhile(zen4, traits).reason.text(),
            "over before oneDNN's threads are awake; measured on Zen 4");
  for (CpuKind kind : {intelWithoutBFloat16, unknownCpu})
    EXPECT_EQ(isWorthwhile(kind, traits).reason.text(),
              "over before oneDNN's threads are awake; measured on Zen 4, not on this kind of CPU");
}

// Where a Zen 5 predicts in float32 its threads do not wait for oneDNN's, nor a Zen 4's for small
// products.
TEST(ContractionRules, KeepWeightsOnOneTeamWhereThatWasMeasured) {
  Contraction shape;
  shape.batch = 1, shape.m = 2048, shape.n = 256, shape.k = 256;
  shape.lhs = shape.rhs = shape.out = MPC_RT_FLOAT32;
  for (bool isKept : {false, true}) {
    const ContractionTraits traits{avx512Float32, shape, isKept, /*launches=*/false};
    EXPECT_EQ(isWorthwhile(zen5, traits).isTaken, isKept);
    EXPECT_EQ(isWorthwhile(zen4, traits).isTaken, isKept);
    Contraction larger = shape;
    ++larger.m;
    const ContractionTraits ofLarger{avx512Float32, larger, isKept, /*launches=*/false};
    EXPECT_EQ(isWorthwhile(zen5, ofLarger).isTaken, isKept);
    EXPECT_FALSE(isWorthwhile(zen4, ofLarger).isTaken);
    Contraction ofFewTerms = shape;
    ofFewTerms.m = 8192, ofFewTerms.k = 63;
    const ContractionTraits ofShortSums{avx512Float32, ofFewTerms, isKept, /*launches=*/false};
    EXPECT_EQ(isWorthwhile(zen5, ofShortSums).isTaken, isKept);
    EXPECT_FALSE(isWorthwhile(zen4, ofShortSums).isTaken);
    const ContractionTraits onAvx2{avx2Float32, ofFewTerms, isKept, /*launches=*/false};
    EXPECT_EQ(isWorthwhile(zen3, onAvx2).isTaken, isKept);
  }
}

// Few images of few channels, too.
TEST(ConvolutionRules, KeepFewImagesOnOneTeamWhereThatWasMeasured) {
  Convolution shape;
  shape.direction = MPC_RT_CONVOLUTION_FORWARD;
  shape.batch = 1, shape.spatial = 2, shape.groups = 1;
  shape.channels = 3, shape.filters = 16;
  shape.images = {1, 64, 64}, shape.outputs = {1, 32, 32};
  shape.kernel = {1, 3, 3}, shape.strides = {1, 2, 2};
  shape.lhs = shape.rhs = shape.out = MPC_RT_FLOAT32;
  const auto isTaken = [&](CpuKind kind, const MicroKernel &kernel) {
    return isWorthwhile(kind, kernel, shape, /*widens=*/false).isTaken;
  };
  EXPECT_TRUE(isTaken(zen3, avx2Float32));
  EXPECT_TRUE(isTaken(zen4, avx512Float32));
  EXPECT_TRUE(isTaken(zen5, avx512Float32));
  EXPECT_FALSE(isTaken(intelWithAmx, avx512Float32Ahead));
  shape.batch = 4096;
  EXPECT_FALSE(isTaken(zen3, avx2Float32));
}

class KernelRules : public ::testing::TestWithParam<uint32_t> {
protected:
  // Every rule says when it holds and where that was measured.
  static void expectReason(const Verdict &verdict, const std::string &what) {
    EXPECT_STRNE(verdict.reason.condition, "") << what;
    EXPECT_STRNE(verdict.reason.condition, "no rule") << what;
    const bool isMeasured = *verdict.reason.measured != 0;
    EXPECT_TRUE(isMeasured || std::string(verdict.reason.condition).rfind("not measured", 0) == 0)
        << what;
  }
  static CpuKind kind() { return static_cast<CpuKind>(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Every, KernelRules,
                         ::testing::Values(zen3, zen4, zen5, intelWithoutBFloat16,
                                           intelWithBFloat16, intelWithAmx, unknownCpu));

// Panels of weights are packed once for tiles and pieces.
TEST(MicroKernels, HavePiecesOfWholePanels) {
  for (const MicroKernel *kernel : {&sse4Float32, &avx2Float32, &avx512Float32, &avx512Float32Ahead,
                                    &avx512BFloat16, &avx512Widened, &amxBFloat16})
    EXPECT_EQ(kernel->pieces[0]->columns, kernel->columns) << kernel->name;
}

TEST_P(KernelRules, AnswerEveryContraction) {
  for (const MicroKernel *kernel : {&sse4Float32, &avx2Float32, &avx512Float32, &avx512Float32Ahead,
                                    &avx512BFloat16, &avx512Widened, &amxBFloat16})
    for (mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16})
      for (int64_t m : {1, 40, 1024})
        for (int64_t n : {4, 40, 4096})
          for (int64_t k : {8, 600, 4096})
            for (int flags = 0; flags < 16; ++flags) {
              Contraction shape;
              shape.batch = flags & 1 ? 3 : 1;
              shape.m = m, shape.n = n, shape.k = k;
              shape.lhs = shape.rhs = shape.out = dtype;
              shape.transposeLhs = flags & 2;
              const bool isKept = flags & 4, launches = flags & 8;
              expectReason(isWorthwhile(kind(), {*kernel, shape, isKept, launches}),
                           std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k));
            }
}

TEST_P(KernelRules, AnswerEveryConvolution) {
  for (const MicroKernel *kernel : {&sse4Float32, &avx2Float32, &avx512Float32, &avx512Float32Ahead,
                                    &avx512BFloat16, &amxBFloat16})
    for (auto direction : {MPC_RT_CONVOLUTION_FORWARD, MPC_RT_CONVOLUTION_INPUT_GRADIENT,
                           MPC_RT_CONVOLUTION_FILTER_GRADIENT})
      for (int64_t channels : {3, 32, 200})
        for (int64_t stride : {1, 2})
          for (bool widens : {false, true}) {
            Convolution shape;
            shape.direction = direction;
            shape.batch = 4, shape.spatial = 2, shape.groups = 1;
            shape.channels = channels, shape.filters = 40;
            shape.images = {1, 16, 16}, shape.outputs = {1, 16 / stride, 16 / stride};
            shape.kernel = {1, 3, 3}, shape.strides = {1, stride, stride};
            shape.lhs = shape.rhs = shape.out = MPC_RT_FLOAT32;
            expectReason(isWorthwhile(kind(), *kernel, shape, widens),
                         std::to_string(channels) + " channels");
            expectReason(isCol2imWorthwhile(*kernel, shape),
                         std::to_string(channels) + " channels, all taps at once");
          }
}

} // namespace
} // namespace mpc::rt
