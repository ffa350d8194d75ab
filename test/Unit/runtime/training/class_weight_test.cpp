// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which targets have one class in a row, and what a weights file may hold.
#include "runtime/training/class_weight.h"

#include "test/Unit/runtime/data/temporary_folder.h"
#include <gtest/gtest.h>

using namespace mpc;
using data::Array;
using data::Column;
using data::Dataset;

namespace {

/// Two rows of a target, [2, dims...] of zeros but for a one at the end, and weights for each.
Dataset rowsOf(mpc_rt_dtype_t dtype, std::vector<int64_t> dims) {
  Dataset data;
  data.rows = 2;
  data.targetCount = data.weightCount = 1;
  Column target, weights;
  target.spec.name = "y0";
  target.spec.dtype = dtype;
  target.spec.dims = dims;
  dims.insert(dims.begin(), 2);
  target.array = *Array::allocate(dtype, dims);
  for (int64_t i = 0; i < target.array.elements(); ++i)
    if (dtype == MPC_RT_FLOAT32)
      target.array.as<float>()[i] = i + 1 == target.array.elements();
    else
      target.array.as<int32_t>()[i] = i + 1 == target.array.elements();
  weights.array = *Array::allocate(MPC_RT_FLOAT32, {2});
  weights.array.as<float>()[0] = weights.array.as<float>()[1] = 1;
  data.columns = {target, weights};
  return data;
}

} // namespace

TEST(ClassWeight, OfOneClassInARow) {
  for (auto [dtype, dims] : std::vector<std::pair<mpc_rt_dtype_t, std::vector<int64_t>>>{
           {MPC_RT_INT32, {}}, {MPC_RT_INT32, {1}}, {MPC_RT_FLOAT32, {1}}, {MPC_RT_FLOAT32, {2}}}) {
    Dataset data = rowsOf(dtype, dims);
    ASSERT_TRUE(training::applyClassWeights(data, {{0, 3.0}, {1, 5.0}}, "w.json"));
    EXPECT_EQ(data.columns.back().array.as<float>()[0], 3);
    EXPECT_EQ(data.columns.back().array.as<float>()[1], 5);
  }
}

TEST(ClassWeight, OfSequencesIsRefused) {
  for (auto [dtype, dims] : std::vector<std::pair<mpc_rt_dtype_t, std::vector<int64_t>>>{
           {MPC_RT_INT32, {4}}, {MPC_RT_INT32, {4, 1}}, {MPC_RT_FLOAT32, {4, 3}}}) {
    Dataset data = rowsOf(dtype, dims);
    data::Status status = training::applyClassWeights(data, {{0, 3.0}}, "w.json");
    ASSERT_FALSE(status);
    EXPECT_NE(status.failure().messages[0].find("use sample_weight"), std::string::npos);
    EXPECT_EQ(data.columns.back().array.as<float>()[0], 1);
  }
}

TEST(ClassWeight, NumbersThatAreTooLarge) {
  TemporaryFolder folder;
  auto weights = training::readClassWeights(folder.write("w.json", "{\"0\": 1e400}"));
  ASSERT_FALSE(weights);
  EXPECT_NE(weights.failure().messages[0].find("has a number at byte 11 that float64 cannot hold"),
            std::string::npos)
      << weights.failure().messages[0];
}
