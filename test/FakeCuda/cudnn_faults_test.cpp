// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuDNN's look-alike refuses what the real library refuses, with its statuses (those of
// cuDNN 9.28), and notices what a GPU would only sometimes notice: one failing example of each.
#include "runtime/drivers/cuda/attention_graph.h"
#include "runtime/drivers/cuda/convolution_plan.h"
#include "test/FakeCuda/device_memory.h"
#include "test/FakeCuda/open_device.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace {

using ::testing::ExitedWithCode;
using namespace mpc::rt;
using cuda::dnn::Descriptions;
using cuda::dnn::Descriptor;

constexpr int badParameter = 2000, misalignedPointer = 2003, notFinalized = 2004,
              wrongAttributeType = 2010, notInitialized = 1001;

// 2 images of 6x6 with 8 channels, a kernel of 3x3, 8 filters.
Convolution example(mpc_rt_dtype_t dtype = MPC_RT_FLOAT16) {
  Convolution c;
  c.lhs = c.rhs = c.out = c.bias = dtype;
  c.batch = 2, c.channels = c.filters = 8, c.spatial = 2;
  c.strides = c.dilations = {1, 1, 1};
  c.images = {1, 6, 6}, c.kernel = {1, 3, 3}, c.outputs = {1, 6, 6};
  c.low = c.high = {0, 1, 1};
  return c;
}

const cuda::dnn::Api &library() {
  const char *problem = nullptr;
  const cuda::dnn::Api *api = cuda::dnn::api(problem);
  if (!api)
    ADD_FAILURE() << problem;
  return *api;
}

class FakeCudnnFaults : public ::testing::Test {
protected:
  FakeCudnnFaults() {
    cudnn.create(&handle);
    cudnn.setStream(handle, device.stream);
    device.cuda->memAlloc(&memory, bytes);
    device.cuda->memsetBytes(memory, 0, bytes, device.stream);
    rules.workspaceBytes = 1 << 20;
  }
  ~FakeCudnnFaults() override {
    device.cuda->streamSynchronize(device.stream);
    plans.clear();
    device.cuda->memFree(memory);
    cudnn.destroy(handle);
  }

  std::unique_ptr<cuda::dnn::ConvolutionPlan> make(const Convolution &c) {
    return cuda::dnn::ConvolutionPlan::make(cudnn, handle, c, {16, 16, 16, 16}, false, rules);
  }
  // Kept until nothing runs it.
  const cuda::dnn::ConvolutionPlan *plan(const Convolution &c) {
    plans.push_back(make(c));
    return plans.back().get();
  }
  void *at(uint64_t offset) { return reinterpret_cast<void *>(memory + offset); }
  // Images, filter and outputs, 4096 bytes apart.
  cuda::dnn::ConvolutionPlan::Addresses addresses(uint64_t offset = 0) {
    return {at(offset), at(4096), at(8192), nullptr};
  }

  // The status of finalizing a tensor.
  int tensorStatus(const std::vector<int64_t> &extents, const std::vector<int64_t> &strides,
                   int64_t alignment = 16) {
    Descriptions made(cudnn);
    tensor(made, extents, strides, alignment);
    return made.status();
  }
  static Descriptor tensor(Descriptions &made, const std::vector<int64_t> &extents,
                           const std::vector<int64_t> &strides, int64_t alignment = 16,
                           int64_t id = 1) {
    using namespace cuda::dnn;
    Descriptor t = made.make(tensorDescriptor);
    made.set(t, tensorId, typeInt64, id)
        .set(t, tensorDataType, typeDataType, cuda::dnn::float32)
        .set(t, tensorAlignment, typeInt64, alignment)
        .set(t, tensorExtents, extents)
        .set(t, tensorStrides, strides)
        .finalize(t);
    return t;
  }
  // The status of describing a convolution.
  int graphStatus(const Convolution &c) {
    Descriptions made(cudnn);
    describeConvolution(made, handle, c, {16, 16, 16, 16}, false);
    return made.status();
  }

  static constexpr size_t bytes = 1 << 16;
  fake::OpenDevice device;
  const cuda::dnn::Api &cudnn = library();
  cuda::dnn::Handle handle = nullptr;
  cuda::DevicePointer memory = 0;
  cuda::dnn::EngineRules rules;
  std::vector<std::unique_ptr<cuda::dnn::ConvolutionPlan>> plans;
};

TEST_F(FakeCudnnFaults, AttributesOfAnotherTypeOrCountAreRefused) {
  using namespace cuda::dnn;
  Descriptions made(cudnn);
  Descriptor t = made.make(tensorDescriptor);
  const int64_t numbers[9] = {1, 2, 3};
  const float fraction = 1;
  EXPECT_EQ(cudnn.setAttribute(t, tensorId, typeFloat, 1, &fraction), wrongAttributeType);
  EXPECT_EQ(cudnn.setAttribute(t, tensorId, typeInt64, 2, numbers), badParameter);
  EXPECT_EQ(cudnn.setAttribute(t, tensorId, typeInt64, 0, numbers), badParameter);
  EXPECT_EQ(cudnn.setAttribute(t, tensorId, typeInt64, 1, nullptr), badParameter);
  EXPECT_EQ(cudnn.setAttribute(t, convolutionKind, typeConvolutionMode, 1, numbers), badParameter);
  EXPECT_EQ(made.status(), 0);
}

TEST_F(FakeCudnnFaults, AttributesAreSetBeforeAndReadAfterFinalization) {
  using namespace cuda::dnn;
  Descriptions made(cudnn);
  Descriptor open = made.make(tensorDescriptor);
  int64_t number = 0, count = 0;
  float fraction = 0;
  EXPECT_EQ(cudnn.getAttribute(open, tensorId, typeInt64, 1, &count, &number), notInitialized);
  EXPECT_EQ(cudnn.finalize(open), badParameter); // nothing of what it needs is set
  Descriptor t = tensor(made, {2, 8, 6, 6}, {288, 1, 48, 8}, 16, 7);
  EXPECT_EQ(made.status(), 0);
  EXPECT_EQ(cudnn.getAttribute(t, tensorId, typeInt64, 1, &count, &number), 0);
  EXPECT_EQ(number, 7);
  EXPECT_EQ(cudnn.getAttribute(t, tensorId, typeFloat, 1, &count, &fraction), wrongAttributeType);
  EXPECT_EQ(cudnn.setAttribute(t, tensorId, typeInt64, 1, &number), badParameter);
  EXPECT_EQ(cudnn.finalize(t), badParameter);
}

TEST_F(FakeCudnnFaults, TensorsThatDisagreeAreRefused) {
  EXPECT_EQ(tensorStatus({2, 8, 6, 6}, {288, 1, 48, 8}), 0);
  EXPECT_EQ(tensorStatus({2, 8, 6, 6}, {288, 1, 48}), badParameter);
  EXPECT_EQ(tensorStatus({2, 8, 6, 6}, {288, 1, -48, 8}), badParameter);
  EXPECT_EQ(tensorStatus({2, 8, 0, 6}, {288, 1, 48, 8}), badParameter);
  EXPECT_EQ(tensorStatus({2, 8, 6, 6}, {288, 1, 48, 8}, 2), badParameter); // of 4 bytes
  EXPECT_EQ(tensorStatus({2, 8, 6, 6}, {288, 1, 48, 8}, 0), badParameter);
}

TEST_F(FakeCudnnFaults, WindowsThatDisagreeAreRefused) {
  EXPECT_EQ(graphStatus(example()), 0);
  auto with = [&](auto change) {
    Convolution c = example();
    change(c);
    return graphStatus(c);
  };
  // Extents of outputs that the formula does not give.
  EXPECT_EQ(with([](Convolution &c) { c.outputs[2] = 5; }), badParameter);
  EXPECT_EQ(with([](Convolution &c) { c.high[1] = 0; }), badParameter);
  EXPECT_EQ(with([](Convolution &c) { c.strides[1] = 2; }), badParameter);
  EXPECT_EQ(with([](Convolution &c) { c.strides[1] = 0; }), badParameter);
  EXPECT_EQ(with([](Convolution &c) { c.low[1] = -1; }), badParameter);
  // Filters that are no multiple of the groups.
  EXPECT_EQ(with([](Convolution &c) { c.groups = 4, c.filters = 6; }), badParameter);
}

TEST_F(FakeCudnnFaults, PartsMustBeFinalizedFirst) {
  using namespace cuda::dnn;
  Descriptions made(cudnn);
  Descriptor open = made.make(tensorDescriptor), operation = made.make(forwardOperation);
  EXPECT_EQ(cudnn.setAttribute(operation, forwardInput, typeDescriptor, 1, &open), notFinalized);
  Descriptor graph = made.make(graphDescriptor);
  EXPECT_EQ(cudnn.setAttribute(graph, graphOperations, typeDescriptor, 1, &operation),
            notFinalized);
  // And they must be what they are taken for.
  Descriptor t = tensor(made, {2, 8, 6, 6}, {288, 1, 48, 8});
  EXPECT_EQ(cudnn.setAttribute(graph, graphOperations, typeDescriptor, 1, &t), badParameter);
}

TEST_F(FakeCudnnFaults, GraphsBelongToAHandle) {
  Descriptions made(cudnn);
  EXPECT_EQ(describeConvolution(made, nullptr, example(), {16, 16, 16, 16}, false), nullptr);
  EXPECT_NE(made.status(), 0);
  cuda::dnn::Handle other = nullptr;
  cudnn.create(&other);
  auto made1 = plan(example());
  ASSERT_NE(made1, nullptr);
  EXPECT_EQ(made1->execute(other, addresses(), nullptr), badParameter);
  cudnn.destroy(other);
}

// Tensor Cores take channels in multiples of 16 bytes; TF32 is not chosen where float32 was asked.
TEST_F(FakeCudnnFaults, EnginesRefuseOtherShapes) {
  Convolution c = example();
  c.filters = 12;
  EXPECT_EQ(plan(c), nullptr);
  rules.slow = true;
  ASSERT_NE(plan(c), nullptr);
  EXPECT_EQ(plan(c)->engine(), 0);
  c.filters = 8;
  EXPECT_EQ(plan(c)->engine(), 60);
  c.rhs = c.lhs = c.out = c.bias = MPC_RT_FLOAT32;
  EXPECT_EQ(plan(c)->engine(), 28);
  rules.tf32 = true;
  EXPECT_EQ(plan(c)->engine(), 60);
  // A workspace that is not there.
  EXPECT_GT(plan(c)->workspaceBytes(), 0);
  rules.workspaceBytes = 0;
  EXPECT_EQ(plan(c)->engine(), 28);
}

TEST_F(FakeCudnnFaults, WhoDoesNotWaitSeesOldData) {
  Convolution c = example(MPC_RT_FLOAT32);
  auto made = plan(c);
  ASSERT_NE(made, nullptr);
  // Ones by ones: 8 channels under 9 taps in the middle. What comes later on the stream comes
  // later.
  const std::vector<float> ones(2 * 6 * 6 * 8, 1.0f);
  const size_t size = ones.size() * sizeof(float);
  device.cuda->memcpyToDevice(memory, ones.data(), size, device.stream);
  device.cuda->memcpyToDevice(memory + 4096, ones.data(), 9 * 8 * 8 * 4, device.stream);
  ASSERT_EQ(made->execute(handle, addresses(), nullptr), 0);
  device.cuda->memsetBytes(memory, 0xFF, size, device.stream);
  std::vector<float> seen(ones.size(), -1.0f);
  device.cuda->memcpyToHost(seen.data(), memory + 8192, size, device.stream);
  EXPECT_EQ(seen[(6 + 1) * 8], -1.0f);
  device.cuda->streamSynchronize(device.stream);
  EXPECT_EQ(seen[(6 + 1) * 8], 72.0f);
  EXPECT_EQ(seen[0], 32.0f);
}

TEST_F(FakeCudnnFaults, MisalignedOperandsAreRefused) {
  auto made = plan(example());
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(made->execute(handle, addresses(), nullptr), 0);
  EXPECT_EQ(made->execute(handle, addresses(8), nullptr), misalignedPointer);
}

TEST_F(FakeCudnnFaults, MissingOperandsAreRefused) {
  auto made = plan(example());
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(made->execute(handle, {at(0), at(4096), nullptr, nullptr}, nullptr), badParameter);
  EXPECT_EQ(made->execute(handle, {at(0), at(4096), at(8192), at(12288)}, nullptr), badParameter);
}

TEST_F(FakeCudnnFaults, OperandsOutsideOfDeviceMemoryEndTheProgram) {
  auto made = plan(example());
  ASSERT_NE(made, nullptr);
  alignas(16) static char host[4096];
  EXPECT_EXIT(made->execute(handle, {host, at(4096), at(8192), nullptr}, nullptr),
              ExitedWithCode(99), "tensor 0 of a convolution is not in device memory");
  EXPECT_EXIT(made->execute(handle, {at(0), at(4096), at(bytes - 16), nullptr}, nullptr),
              ExitedWithCode(99), "tensor 2 of a convolution is not in device memory");
  EXPECT_EXIT(made->execute(handle, {at(0), at(4096), at(16), nullptr}, nullptr),
              ExitedWithCode(99), "writes over what it reads");
}

TEST_F(FakeCudnnFaults, WorkspacesThatAreNoneEndTheProgram) {
  rules.tf32 = true;
  auto made = plan(example(MPC_RT_FLOAT32));
  ASSERT_NE(made, nullptr);
  ASSERT_GT(made->workspaceBytes(), 0);
  EXPECT_EQ(made->execute(handle, addresses(), at(16384)), 0);
  EXPECT_NE(made->execute(handle, addresses(), nullptr), 0);
  EXPECT_EXIT(made->execute(handle, addresses(), at(bytes - 16)), ExitedWithCode(99),
              "workspace of a graph is not in device memory, or too small");
  EXPECT_EXIT(made->execute(handle, addresses(), at(256)), ExitedWithCode(99),
              "lies over tensor 0");
}

TEST_F(FakeCudnnFaults, PlansOutliveWhatRunsThem) {
  auto made = make(example());
  ASSERT_NE(made, nullptr);
  auto destroyTooEarly = [&] {
    made->execute(handle, addresses(), nullptr);
    made.reset();
    device.cuda->streamSynchronize(device.stream);
  };
  EXPECT_EXIT(destroyTooEarly(), ExitedWithCode(99), "whose plan was destroyed");
}

// The first that the heuristic offers promises no equal bytes.
TEST_F(FakeCudnnFaults, ExcludedEnginesEndTheProgram) {
  using namespace cuda::dnn;
  Convolution c = example();
  c.direction = MPC_RT_CONVOLUTION_FILTER_GRADIENT;
  auto runFirst = [&] {
    Descriptions made(cudnn);
    Descriptor graph = describeConvolution(made, handle, c, {16, 16, 16, 16}, false);
    Descriptor heuristic = made.make(heuristicDescriptor);
    made.set(heuristic, heuristicGraph, typeDescriptor, graph)
        .set(heuristic, heuristicMode, typeHeuristicMode, modeA)
        .finalize(heuristic);
    Descriptor config = made.make(engineConfigDescriptor), chosen = made.make(planDescriptor);
    made.get(heuristic, heuristicResults, typeDescriptor, 1, &config);
    made.set(chosen, planHandle, typeHandle, handle)
        .set(chosen, planConfig, typeDescriptor, config)
        .finalize(chosen);
    Descriptor pack = made.make(variantPackDescriptor);
    const std::array<void *, 3> pointers = {at(0), at(4096), at(8192)};
    made.set(pack, packIds, {0, 1, 2})
        .set(pack, packPointers, typePointer, 3, pointers.data())
        .set(pack, packWorkspace, typePointer, static_cast<void *>(nullptr))
        .finalize(pack);
    if (made.status() == 0 && cudnn.execute(handle, chosen, pack) == 0)
      device.cuda->streamSynchronize(device.stream);
  };
  EXPECT_EXIT(runFirst(), ExitedWithCode(99), "engine 91 runs, whose notes promise other numbers");
}

// An attention with one tensor of other extents is refused when it is described.
TEST_F(FakeCudnnFaults, OperationsOfAttentionCheckExtents) {
  using namespace cuda::dnn;
  using Extents = std::vector<int64_t>;
  auto statusOf = [&](DescriptorType type, Attribute description,
                      Descriptor (*describe)(Descriptions &),
                      const std::vector<std::pair<Attribute, Extents>> &tensors) {
    Descriptions made(cudnn);
    Descriptor operation = made.make(type);
    if (describe)
      made.set(operation, description, typeDescriptor, describe(made));
    int64_t id = 1;
    for (const auto &[name, extents] : tensors) {
      Extents strides(extents.size(), 1);
      for (size_t d = extents.size() - 1; d > 0; --d)
        strides[d - 1] = strides[d] * extents[d];
      made.set(operation, name, typeDescriptor, tensor(made, extents, strides, 16, id++));
    }
    return made.finalize(operation).status();
  };
  auto product = [](Descriptions &made) {
    Descriptor d = made.make(matmulDescriptor);
    made.set(d, matmulMathType, typeDataType, cuda::dnn::float32).finalize(d);
    return d;
  };
  auto multiplied = [&](const Extents &a, const Extents &b, const Extents &c) {
    return statusOf(matmulOperation, matmulDescription, product,
                    {{matmulA, a}, {matmulB, b}, {matmulC, c}});
  };
  EXPECT_EQ(multiplied({2, 3, 4, 5}, {2, 3, 5, 6}, {2, 3, 4, 6}), 0);
  EXPECT_EQ(multiplied({2, 3, 4, 5}, {2, 3, 4, 6}, {2, 3, 4, 6}), badParameter);
  EXPECT_EQ(multiplied({2, 3, 4, 5}, {2, 1, 5, 6}, {2, 3, 4, 6}), badParameter);
  auto reduced = [&](const Extents &x, const Extents &y) {
    return statusOf(reductionOperation, reductionDescription,
                    [](Descriptions &made) {
                      Descriptor d = made.make(reductionDescriptor);
                      made.set(d, reductionKind, typeReduceOperator, cuda::dnn::sum)
                          .set(d, reductionMathType, typeDataType, cuda::dnn::float32)
                          .finalize(d);
                      return d;
                    },
                    {{reductionX, x}, {reductionY, y}});
  };
  EXPECT_EQ(reduced({2, 3, 4, 5}, {2, 3, 4, 1}), 0);
  EXPECT_EQ(reduced({2, 3, 4, 5}, {2, 3, 4, 2}), badParameter);
  auto reshaped = [&](const Extents &x, const Extents &y) {
    return statusOf(reshapeOperation, reshapeX, nullptr, {{reshapeX, x}, {reshapeY, y}});
  };
  EXPECT_EQ(reshaped({2, 3, 4, 5}, {2, 3, 5, 4}), 0);
  EXPECT_EQ(reshaped({2, 3, 4, 5}, {2, 3, 5, 5}), badParameter);
}

// Scalars are the host's, as they are when the graph is executed; all else is the device's.
TEST_F(FakeCudnnFaults, AttentionReadsScalarsWhenItIsExecuted) {
  using namespace cuda::dnn;
  Attention a;
  a.dtype = MPC_RT_FLOAT16;
  a.batch = a.heads = 1, a.targets = a.sources = 4, a.width = a.valueWidth = 8;
  Descriptions made(cudnn);
  Descriptor graph = describeAttention(made, handle, a);
  ASSERT_NE(graph, nullptr);
  rules.workspaceBytes = 1 << 20;
  EnginePlan plan(cudnn);
  ASSERT_TRUE(plan.choose(handle, graph, false, rules));
  EXPECT_EQ(plan.engine(), 2);
  float scale = 1;
  auto run = [&](void *query) {
    return plan.execute(handle,
                        {{attendedQuery, query},
                         {attendedKey, at(4096)},
                         {attendedValue, at(8192)},
                         {attended, at(12288)},
                         {attentionLogSums, at(16384)},
                         {attentionScale, &scale}},
                        at(20480));
  };
  alignas(16) static char host[4096];
  EXPECT_EXIT(run(host), ExitedWithCode(99), "of an attention is not in device memory");
  EXPECT_EQ(run(at(8)), misalignedPointer);
  EXPECT_EXIT(run(at(16384)), ExitedWithCode(99), "an attention writes over what it reads");
  EXPECT_EQ(run(at(0)), 0);
  scale = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(device.cuda->streamSynchronize(device.stream), 0);
  // Zeros everywhere: the logarithm of four equal weights.
  float logSums[4] = {};
  EXPECT_EQ(device.cuda->memcpyToHost(logSums, memory + 16384, sizeof logSums, device.stream), 0);
  EXPECT_EQ(device.cuda->streamSynchronize(device.stream), 0);
  EXPECT_NEAR(logSums[3], std::log(4.0f), 1e-6f);
}

TEST(FakeCudnnLeaks, LeakedHandlesOfCudnnEndTheProgram) {
  auto leak = [] {
    cuda::dnn::Handle handle = nullptr;
    Descriptor descriptor = nullptr;
    library().create(&handle);
    library().createDescriptor(cuda::dnn::tensorDescriptor, &descriptor);
    std::exit(0);
  };
  EXPECT_EXIT(leak(), ExitedWithCode(98), "leaked: 1 cuDNN handles, 1 descriptors");
}

} // namespace
