// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The look-alike of cuDNN against the library itself, without a GPU: since 9.8 that makes plans for
// a device that is only described. What the look-alike refuses to describe the library refuses,
// with the same status; where the look-alike has a fast engine the library has one. Nothing is
// executed.
//
//   MPC_CUDNN_LIBRARY        libcudnn.so.9 itself, its other libraries beside it
//   MPC_FAKE_CUDNN_LIBRARY   the look-alike
#include "runtime/drivers/cuda/attention_graph.h"
#include "runtime/drivers/cuda/convolution_plan.h"
#include "runtime/drivers/cuda/loaded_api.h"

#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

namespace {

using namespace mpc::rt;
using namespace mpc::rt::cuda::dnn;
using DnnApi = mpc::rt::cuda::dnn::Api;
using DnnAttribute = mpc::rt::cuda::dnn::Attribute;

DnnApi load(const char *variable) {
  const char *path = std::getenv(variable);
  auto loaded =
      cuda::loadApi<DnnApi>({{path ? path : ""}, "cannot be opened", "cuDNN", "it is no cuDNN 9"},
                            [](DnnApi &functions, auto &&find) {
#define MPC_CUDNN_FIND(result, field, symbol, parameters) find(functions.field, symbol);
                              MPC_CUDNN_FUNCTIONS(MPC_CUDNN_FIND)
#undef MPC_CUDNN_FIND
                            });
  EXPECT_STREQ(loaded.problem, "") << variable;
  return loaded.functions;
}

// cudnn_graph.h: numbers that the runtime has no use for.
constexpr auto devicePropertiesDescriptor = static_cast<DescriptorType>(38);
constexpr auto devicePropertiesText = static_cast<DnnAttribute>(2702);
constexpr auto heuristicDevice = static_cast<DnnAttribute>(204),
               planDevice = static_cast<DnnAttribute>(407);
constexpr auto typeChar = static_cast<AttributeType>(24);

// An H100, as the library describes devices.
constexpr char device[] = R"({"version":1,"deviceName":"H100","smCountOrigin":0,"cudaDeviceId":0,
"deviceVer":900,"driverVer":13000,"isTccDriver":0,"l2CacheSize":52428800,"maxCtasPerSM":32,
"maxRegistersPerSM":65536,"maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":232448,
"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,"memClockRateKHz":2619000,"memoryBusWidth":5120,
"multiProcessorCount":132,"pciDeviceId":0,"regsPerBlock":65536,"reservedSharedMemoryPerBlock":1024,
"oversizedSharedMemoryPerBlock":0,"smClockRateKHz":1980000,"supportCoopLaunch":1,
"totalGlobalMem":85017362432,"warpSize":32,"maxBlockSize":[1024,1024,64],
"maxGridSize":[2147483647,65535,65535]})";

// The library, with a described device wherever the driver names its handle.
struct Described {
  static inline DnnApi library;
  static inline Descriptor properties = nullptr;

  static int set(Descriptor descriptor, DnnAttribute name, AttributeType type, int64_t count,
                 const void *values) {
    if (name == graphHandle)
      return 0;
    if (name == planHandle)
      return library.setAttribute(descriptor, planDevice, typeDescriptor, 1, &properties);
    if (name == heuristicMode)
      if (int status =
              library.setAttribute(descriptor, heuristicDevice, typeDescriptor, 1, &properties))
        return status;
    return library.setAttribute(descriptor, name, type, count, values);
  }
  static DnnApi open() {
    library = load("MPC_CUDNN_LIBRARY");
    library.createDescriptor(devicePropertiesDescriptor, &properties);
    library.setAttribute(properties, devicePropertiesText, typeChar, sizeof device, device);
    EXPECT_EQ(library.finalize(properties), 0) << "cuDNN " << library.getVersion();
    DnnApi api = library;
    api.setAttribute = set;
    return api;
  }
};

// Half of the channels in multiples of 8.
Convolution draw(std::mt19937 &random) {
  auto next = [&](uint32_t bound) { return static_cast<int64_t>(random() % bound); };
  Convolution c;
  c.direction = static_cast<mpc_rt_convolution_direction_t>(next(3));
  c.batch = 1 + next(64);
  constexpr int64_t groups[] = {1, 1, 1, 2, 4, 32}, multiples[] = {1, 3, 8, 16};
  c.groups = groups[next(6)];
  const int64_t multiple = c.groups * multiples[next(4)];
  c.channels = multiple * (1 + next(8)), c.filters = multiple * (1 + next(8));
  c.spatial = static_cast<uint32_t>(1 + next(3));
  c.images = c.kernel = c.outputs = c.strides = c.dilations = {1, 1, 1};
  for (size_t d = 3 - c.spatial; d < 3; ++d) {
    c.kernel[d] = 1 + next(5);
    c.dilations[d] = next(4) == 0 ? 2 : 1;
    c.strides[d] = c.dilations[d] > 1 ? 1 : 1 + next(3);
    const int64_t reach = (c.kernel[d] - 1) * c.dilations[d] + 1;
    c.images[d] = reach + next(40);
    c.low[d] = next(static_cast<uint32_t>(reach));
    c.high[d] = next(2) ? c.low[d] : next(static_cast<uint32_t>(reach));
    c.outputs[d] = (c.images[d] + c.low[d] + c.high[d] - reach) / c.strides[d] + 1;
  }
  constexpr mpc_rt_dtype_t dtypes[] = {MPC_RT_FLOAT32, MPC_RT_FLOAT16, MPC_RT_BFLOAT16};
  c.lhs = c.rhs = c.out = c.bias = dtypes[next(3)];
  c.hasBias = c.direction != MPC_RT_CONVOLUTION_FILTER_GRADIENT && next(2);
  c.relu = c.hasBias && next(2);
  return c;
}

Attention drawAttention(std::mt19937 &random) {
  auto next = [&](uint32_t bound) { return static_cast<int64_t>(random() % bound); };
  Attention a;
  a.dtype = next(2) ? MPC_RT_FLOAT16 : MPC_RT_BFLOAT16;
  a.causal = next(2);
  a.batch = 1 + next(40), a.heads = 1 + next(16);
  a.targets = 1 + next(300), a.sources = next(2) ? a.targets : 1 + next(300);
  a.width = next(8) ? 8 * (1 + next(16)) : 1 + next(300);
  a.valueWidth = next(2) ? a.width : 8 * (1 + next(16));
  return a;
}

constexpr ConvolutionAlignments aligned = {16, 16, 16, 16};

class CudnnAgreement : public ::testing::Test {
protected:
  CudnnAgreement() { fake.create(&handle); }
  ~CudnnAgreement() override { fake.destroy(handle); }
  // The status of describing it.
  int describe(const DnnApi &api, const Convolution &c, bool epilogue) {
    Descriptions made(api);
    describeConvolution(made, handle, c, aligned, epilogue);
    return made.status();
  }
  bool hasPlan(const DnnApi &api, const Convolution &c, bool epilogue, const EngineRules &rules) {
    return ConvolutionPlan::make(api, handle, c, aligned, epilogue, rules) != nullptr;
  }

  Descriptor describe(Descriptions &made, const Attention &a, bool isGradient) {
    return isGradient ? describeAttentionGradient(made, handle, a)
                      : describeAttention(made, handle, a);
  }
  // The status of describing it, and cuDNN's number of an engine; -1: none.
  std::pair<int, int64_t> engineOf(const DnnApi &api, const Attention &a, bool isGradient) {
    Descriptions made(api);
    EnginePlan plan(api);
    EngineRules rules;
    rules.workspaceBytes = int64_t{1} << 40;
    Descriptor graph = describe(made, a, isGradient);
    const bool isPlanned = graph && plan.choose(handle, graph, /*isFloat32=*/false, rules);
    return {made.status(), isPlanned ? plan.engine() : -1};
  }

  static inline const DnnApi real = Described::open(), fake = load("MPC_FAKE_CUDNN_LIBRARY");
  Handle handle = nullptr;
};

TEST_F(CudnnAgreement, LegalConvolutionsAreDescribedAndHaveEngines) {
  std::mt19937 random(1);
  int engines = 0;
  for (int i = 0; i < 2000; ++i) {
    const Convolution c = draw(random);
    EngineRules rules;
    rules.workspaceBytes = 128 << 20;
    rules.tf32 = random() % 2;
    EXPECT_EQ(describe(fake, c, false), 0) << i;
    EXPECT_EQ(describe(real, c, false), 0) << i;
    EXPECT_EQ(describe(real, c, true), describe(fake, c, true)) << i;
    // The library may prefer what the rules exclude; then it has a slow engine at least.
    if (hasPlan(fake, c, false, rules)) {
      rules.slow = true;
      ++engines;
      EXPECT_TRUE(hasPlan(real, c, false, rules)) << i;
    }
  }
  EXPECT_GT(engines, 500);
}

// Plans of the real one are compiled by its NVRTC; their modules are loaded by plan_driver.c.
TEST_F(CudnnAgreement, AttentionIsDescribedAndHasEngines) {
  std::mt19937 random(3);
  int engines = 0;
  for (int i = 0; i < 60; ++i) {
    const Attention a = drawAttention(random);
    for (bool isGradient : {false, true}) {
      auto [status, engine] = engineOf(fake, a, isGradient);
      auto [realStatus, realEngine] = engineOf(real, a, isGradient);
      EXPECT_EQ(status, 0) << i;
      EXPECT_EQ(realStatus, 0) << i;
      // Extents of 1 by 1 have no derivative, and nothing to derive.
      const bool isOne = isGradient && a.targets == 1 && a.sources == 1;
      engines += engine >= 0;
      if (engine >= 0 && !isOne)
        EXPECT_GE(realEngine, 0) << i << ": " << a.targets << "x" << a.sources << "x" << a.width
                                 << "x" << a.valueWidth << " causal " << a.causal;
    }
  }
  EXPECT_GT(engines, 60);
}

// One number of a legal convolution changes: both find that it disagrees, or neither.
TEST_F(CudnnAgreement, WindowsThatDisagreeAreRefusedAlike) {
  std::mt19937 random(2);
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    Convolution c = draw(random);
    const size_t d = 3 - 1 - random() % c.spatial;
    const int64_t by = random() % 2 ? 1 : -1;
    switch (random() % 7) {
    case 0:
      c.outputs[d] += by;
      break;
    case 1:
      c.images[d] += by;
      break;
    case 2:
      c.strides[d] += by;
      break;
    case 3:
      c.dilations[d] += by;
      break;
    case 4:
      c.low[d] += by;
      break;
    case 5:
      c.high[d] += by;
      break;
    default:
      c.filters += by;
    }
    if (c.outputs[d] < 1 || c.images[d] < 1 || c.filters < 1)
      continue; // cuDNN takes tensors without elements, mpc makes none
    const int status = describe(fake, c, false);
    refused += status != 0;
    EXPECT_EQ(describe(real, c, false), status) << i;
  }
  EXPECT_GT(refused, 500);
}

} // namespace
