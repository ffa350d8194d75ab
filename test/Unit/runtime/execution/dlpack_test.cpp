// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DLPack tensors taken and given: what they share, how long it lives, what is refused.
#include "mpc-rt/dlpack.h"
#include "mpc-rt/dlpack_types.h"
#include "mpc/model.hpp"
#include "test/Unit/runtime/execution/fake_model.h"

#include <cstring>
#include <functional>

namespace {

/// A tensor over the test's memory, as another library would give it.
struct Foreign {
  Foreign(void *data, uint8_t code, uint8_t bits, std::vector<int64_t> extents)
      : shape(std::move(extents)) {
    tensor.dl_tensor = {data,
                        {kDLCPU, 0},
                        static_cast<int32_t>(shape.size()),
                        {code, bits, 1},
                        shape.data(),
                        nullptr,
                        0};
    tensor.manager_ctx = this;
    tensor.deleter = [](DLManagedTensor *self) {
      ++static_cast<Foreign *>(self->manager_ctx)->deleted;
    };
  }
  std::vector<int64_t> shape, strides;
  DLManagedTensor tensor;
  int deleted = 0;
};

Foreign floats(std::vector<float> &values, std::vector<int64_t> shape) {
  return Foreign(values.data(), kDLFloat, 32, std::move(shape));
}

class Dlpack : public ::testing::Test {
protected:
  void SetUp() override {
    const std::vector<float> kernel = {1, -1, 2, -2, 3, -3};
    ASSERT_EQ(mpc_rt_context_set_variable(context.handle, fake::kernel, MPC_RT_FLOAT32,
                                          kernel.data(), 24),
              MPC_RT_OK);
  }
  mpc_rt_status_t predict(DLManagedTensor *input, DLManagedTensor **output) {
    return mpc_rt_context_run_dlpack(context.handle, fake::predict, &input, 1, output, 1);
  }
  void expectRefused(const std::function<void(DLTensor &)> &spoil, const char *text) {
    Foreign input = floats(x, {2, 3});
    spoil(input.tensor.dl_tensor);
    DLManagedTensor *output = nullptr;
    EXPECT_EQ(predict(&input.tensor, &output), MPC_RT_INVALID_ARGUMENT) << text;
    EXPECT_EQ(output, nullptr);
    EXPECT_NE(std::strstr(mpc_rt_last_error(), text), nullptr) << mpc_rt_last_error();
    EXPECT_NE(std::strstr(mpc_rt_last_error(), "input 'x'"), nullptr) << mpc_rt_last_error();
  }
  fake::Context context;
  std::vector<float> x = {1, 1, 1, 0, 0, 1};
};

TEST_F(Dlpack, MakesOutputsThatOutliveTheContext) {
  Foreign input = floats(x, {2, 3});
  DLManagedTensor *output = nullptr;
  ASSERT_EQ(predict(&input.tensor, &output), MPC_RT_OK) << mpc_rt_last_error();
  mpc_rt_context_release(context.handle);
  context.handle = nullptr;
  const DLTensor &given = output->dl_tensor;
  EXPECT_EQ(given.device.device_type, kDLCPU);
  ASSERT_EQ(given.ndim, 2);
  EXPECT_EQ(std::vector<int64_t>(given.shape, given.shape + 2), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(std::vector<int64_t>(given.strides, given.strides + 2), (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(given.dtype.code, kDLFloat);
  EXPECT_EQ(given.dtype.bits, 32);
  EXPECT_EQ(given.dtype.lanes, 1);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(given.data) % 64, 0u);
  auto *y = static_cast<float *>(given.data);
  EXPECT_EQ(std::vector<float>(y, y + 4), (std::vector<float>{6.5f, 0, 3.5f, 0}));
  output->deleter(output);
  EXPECT_EQ(input.deleted, 0); // it stays the caller's
}

// A library of several shapes: the entry is the one for what the tensors are.
TEST_F(Dlpack, RunsTheEntryForTheShape) {
  std::vector<float> six = {1, 0, 0, 0, 0, 2};
  Foreign input = floats(six, {1, 6});
  DLManagedTensor *output = nullptr;
  ASSERT_EQ(predict(&input.tensor, &output), MPC_RT_OK) << mpc_rt_last_error();
  ASSERT_EQ(output->dl_tensor.ndim, 2);
  EXPECT_EQ(output->dl_tensor.shape[0], 1);
  auto *y = static_cast<float *>(output->dl_tensor.data);
  EXPECT_EQ(std::vector<float>(y, y + 2), (std::vector<float>{3, 6}));
  mpc_rt_dlpack_release(output);
}

TEST_F(Dlpack, WritesGivenOutputsInPlace) {
  std::vector<float> y(5, 7);
  Foreign input = floats(x, {2, 3}), output = floats(y, {2, 2});
  output.tensor.dl_tensor.byte_offset = 4;
  DLManagedTensor *target = &output.tensor;
  ASSERT_EQ(predict(&input.tensor, &target), MPC_RT_OK) << mpc_rt_last_error();
  EXPECT_EQ(target, &output.tensor);
  EXPECT_EQ(y, (std::vector<float>{7, 6.5f, 0, 3.5f, 0}));
  EXPECT_EQ(output.deleted, 0);
}

TEST_F(Dlpack, TakesAnyWayToSayDense) {
  std::vector<float> row = {1, 1, 1};
  Foreign one = floats(row, {1, 3});
  one.strides = {-99, 1}; // the stride of an extent of one says nothing
  one.tensor.dl_tensor.strides = one.strides.data();
  DLManagedTensor *output = nullptr;
  ASSERT_EQ(predict(&one.tensor, &output), MPC_RT_OK) << mpc_rt_last_error();
  EXPECT_EQ(static_cast<float *>(output->dl_tensor.data)[0], 6.5f);
  mpc_rt_dlpack_release(output);
  Foreign none(nullptr, kDLFloat, 32, {0, 3});
  output = nullptr;
  ASSERT_EQ(predict(&none.tensor, &output), MPC_RT_OK) << mpc_rt_last_error();
  EXPECT_EQ(output->dl_tensor.shape[0], 0);
  EXPECT_EQ(output->dl_tensor.data, nullptr);
  mpc_rt_dlpack_release(output);
  mpc_rt_dlpack_release(nullptr);
}

TEST_F(Dlpack, RefusesWhatItCannotRead) {
  static int64_t transposed[] = {1, 2}, narrow[] = {2, 4}, negative[] = {-2, 3}, deep[99] = {};
  expectRefused([](DLTensor &t) { t.strides = transposed; }, "contiguous");
  expectRefused([](DLTensor &t) { t.shape = narrow; }, "shape (2, 4); expected (batch, 3)");
  expectRefused([](DLTensor &t) { t.shape = negative; }, "negative extent");
  expectRefused([](DLTensor &t) { t.shape = deep, t.ndim = 99; }, "99 dimensions");
  expectRefused([](DLTensor &t) { t.ndim = -1; }, "-1 dimensions");
  expectRefused([](DLTensor &t) { t.shape = nullptr; }, "no extents");
  expectRefused([](DLTensor &t) { t.dtype.bits = 64; }, "dtype float64; expected float32");
  expectRefused([](DLTensor &t) { t.dtype.bits = 8; }, "type code 2 with 8 bits");
  expectRefused([](DLTensor &t) { t.dtype.lanes = 2; }, "2 lanes");
  expectRefused([](DLTensor &t) { t.device = {kDLCUDA, 1}; }, "device 2:1");
  expectRefused([](DLTensor &t) { t.device.device_type = static_cast<DLDeviceType>(10); },
                "device 10:0");
  expectRefused([](DLTensor &t) { t.data = nullptr; }, "data is null");
  expectRefused([](DLTensor &t) { t.byte_offset = 2; }, "not aligned to its 4-byte elements");
}

TEST_F(Dlpack, RefusesCallsWithoutTensors) {
  DLManagedTensor *output = nullptr, *nothing = nullptr;
  EXPECT_EQ(predict(nullptr, &output), MPC_RT_INVALID_ARGUMENT);
  EXPECT_NE(std::strstr(mpc_rt_last_error(), "tensor is null"), nullptr) << mpc_rt_last_error();
  auto run = [&](mpc_rt_context_t *handle, uint32_t entry, uint32_t inputs) {
    return mpc_rt_context_run_dlpack(handle, entry, &nothing, inputs, &output, 1);
  };
  EXPECT_EQ(run(nullptr, fake::predict, 1), MPC_RT_INVALID_ARGUMENT);
  EXPECT_EQ(run(context.handle, 1000, 1), MPC_RT_INVALID_ARGUMENT);
  EXPECT_EQ(run(context.handle, fake::predict, 2), MPC_RT_INVALID_ARGUMENT);
  EXPECT_EQ(mpc_rt_context_run_dlpack(context.handle, fake::predict, nullptr, 1, &output, 1),
            MPC_RT_INVALID_ARGUMENT);
  // An output of another number of rows than the input.
  std::vector<float> y(6);
  Foreign input = floats(x, {2, 3}), three = floats(y, {3, 2});
  DLManagedTensor *target = &three.tensor;
  EXPECT_EQ(predict(&input.tensor, &target), MPC_RT_INVALID_ARGUMENT);
  EXPECT_NE(std::strstr(mpc_rt_last_error(), "3 rows; expected 2"), nullptr);
}

TEST_F(Dlpack, FailingRunsGiveNothing) {
  DLManagedTensor *outputs[2] = {nullptr, nullptr};
  EXPECT_EQ(mpc_rt_context_run_dlpack(context.handle, fake::metricResults, nullptr, 0, outputs, 2),
            MPC_RT_OK);
  for (DLManagedTensor *output : outputs)
    mpc_rt_dlpack_release(output);
  int32_t ids[] = {1, 2, 3, 99};
  Foreign input(ids, kDLInt, 32, {1, 4});
  DLManagedTensor *from = &input.tensor, *loss = nullptr;
  EXPECT_EQ(mpc_rt_context_run_dlpack(context.handle, fake::evaluate, &from, 1, &loss, 1),
            MPC_RT_INVALID_ARGUMENT);
  EXPECT_NE(std::strstr(mpc_rt_last_error(), "value 99"), nullptr) << mpc_rt_last_error();
  EXPECT_EQ(loss, nullptr);
}

TEST_F(Dlpack, GivesVariablesWithoutACopy) {
  DLManagedTensor *kernel = nullptr, *shadow = nullptr;
  ASSERT_EQ(mpc_rt_context_variable_dlpack(context.handle, fake::kernel, &kernel), MPC_RT_OK);
  ASSERT_EQ(mpc_rt_context_variable_dlpack(context.handle, fake::shadow, &shadow), MPC_RT_OK);
  EXPECT_EQ(kernel->dl_tensor.data, context.variable<float>(fake::kernel));
  EXPECT_EQ(shadow->dl_tensor.dtype.code, kDLBfloat);
  static_cast<float *>(kernel->dl_tensor.data)[0] = 4;
  ASSERT_EQ(mpc_rt_context_variables_changed(context.handle), MPC_RT_OK);
  EXPECT_EQ(*static_cast<uint16_t *>(shadow->dl_tensor.data), 0x4080);
  mpc_rt_dlpack_release(shadow);
  mpc_rt_context_release(context.handle);
  context.handle = nullptr;
  static_cast<float *>(kernel->dl_tensor.data)[5] = 8; // still memory of the context
  EXPECT_EQ(static_cast<float *>(kernel->dl_tensor.data)[0], 4);
  mpc_rt_dlpack_release(kernel);
}

TEST_F(Dlpack, SetsVariables) {
  std::vector<float> values = {9, 8, 7, 6, 5, 4};
  Foreign wrong = floats(values, {2, 3}), right = floats(values, {3, 2});
  auto set = [&](const DLManagedTensor *tensor) {
    return mpc_rt_context_set_variable_dlpack(context.handle, fake::kernel, tensor);
  };
  EXPECT_EQ(set(&wrong.tensor), MPC_RT_INVALID_ARGUMENT);
  EXPECT_NE(std::strstr(mpc_rt_last_error(), "dense/kernel"), nullptr);
  EXPECT_EQ(set(nullptr), MPC_RT_INVALID_ARGUMENT);
  ASSERT_EQ(set(&right.tensor), MPC_RT_OK) << mpc_rt_last_error();
  EXPECT_EQ(context.variable<float>(fake::kernel)[2], 7);
  // Its own memory is a tensor like others.
  DLManagedTensor *own = nullptr;
  ASSERT_EQ(mpc_rt_context_variable_dlpack(context.handle, fake::kernel, &own), MPC_RT_OK);
  EXPECT_EQ(set(own), MPC_RT_OK);
  EXPECT_EQ(context.variable<float>(fake::kernel)[2], 7);
  mpc_rt_dlpack_release(own);
  EXPECT_EQ(mpc_rt_context_variable_dlpack(context.handle, 1000, &own), MPC_RT_INVALID_ARGUMENT);
  EXPECT_EQ(own, nullptr);
  EXPECT_NE(mpc_rt_context_gradient_dlpack(context.handle, 0, &own), MPC_RT_OK); // has none
}

TEST_F(Dlpack, ViewsEveryDtype) {
  const struct {
    uint8_t code, bits;
    mpc_rt_dtype_t dtype;
  } rows[] = {{kDLFloat, 32, MPC_RT_FLOAT32}, {kDLBfloat, 16, MPC_RT_BFLOAT16},
              {kDLFloat, 16, MPC_RT_FLOAT16}, {kDLFloat, 64, MPC_RT_FLOAT64},
              {kDLInt, 8, MPC_RT_INT8},       {kDLUInt, 8, MPC_RT_UINT8},
              {kDLInt, 16, MPC_RT_INT16},     {kDLUInt, 16, MPC_RT_UINT16},
              {kDLInt, 32, MPC_RT_INT32},     {kDLUInt, 32, MPC_RT_UINT32},
              {kDLInt, 64, MPC_RT_INT64},     {kDLUInt, 64, MPC_RT_UINT64},
              {kDLBool, 8, MPC_RT_BOOL}};
  for (auto &row : rows) {
    Foreign tensor(x.data(), row.code, row.bits, {2});
    mpc_rt_buffer_t buffer = {};
    ASSERT_EQ(mpc_rt_buffer_from_dlpack(&tensor.tensor, &buffer), MPC_RT_OK);
    EXPECT_EQ(buffer.dtype, row.dtype);
    EXPECT_EQ(buffer.data, x.data());
    EXPECT_EQ(buffer.rank, 1u);
    EXPECT_EQ(buffer.dims[0], 2);
  }
  EXPECT_EQ(mpc_rt_buffer_from_dlpack(nullptr, nullptr), MPC_RT_INVALID_ARGUMENT);
}

TEST_F(Dlpack, CplusplusOwnsTensors) {
  auto model = mpc::Model::load(FAKE_MODEL_FOLDER);
  ASSERT_TRUE(model);
  auto made = model->createContext();
  ASSERT_TRUE(made);
  std::vector<float> values = {1, -1, 2, -2, 3, -3};
  Foreign kernel = floats(values, {3, 2}), input = floats(x, {2, 3});
  ASSERT_TRUE(made->setVariable("dense/kernel", &kernel.tensor));
  auto outputs = made->run("predict", {&input.tensor});
  ASSERT_TRUE(outputs) << outputs.error().message;
  auto *y = static_cast<float *>(outputs->at(0).get()->dl_tensor.data);
  EXPECT_EQ(std::vector<float>(y, y + 4), (std::vector<float>{6.5f, 0, 3.5f, 0}));
  auto variable = made->variableTensor("dense/kernel");
  ASSERT_TRUE(variable);
  DLManagedTensor *raw = variable->release();
  EXPECT_EQ(variable->get(), nullptr);
  static_cast<float *>(raw->dl_tensor.data)[0] = 2;
  mpc::Tensor again(raw);
  ASSERT_TRUE(made->variablesChanged());
  EXPECT_EQ((*made->getVariable<float>("dense/kernel"))[0], 2);
  EXPECT_FALSE(made->variableTensor("dense/wing"));
  EXPECT_FALSE(made->run("predict", std::vector<DLManagedTensor *>{nullptr}));
  auto workspace = model->workspace(0);
  ASSERT_TRUE(workspace);
  EXPECT_GT(workspace->variables, 0u);
  EXPECT_EQ(workspace->arena, 64u);
  EXPECT_EQ(workspace->kept + workspace->gradients, 0u);
}

} // namespace
