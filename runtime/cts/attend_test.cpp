// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conformance of attention and its derivative.
#include "runtime/base/element.h"
#include "runtime/cts/attention_case.h"
#include "runtime/cts/calls.h"
#include "runtime/cts/device_call.h"
#include "runtime/cts/driver_fixture.h"
#include "runtime/cts/elements.h"
#include "runtime/cts/isa.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace mpc::rt::cts {
namespace {

class Attend : public DriverTest {
protected:
  mpc_rt_status_t attend(AttentionData &data) {
    auto descriptor = data.descriptor(nextId++);
    return callOnDevice(
        *driver, WeightUse::updated,
        {&data.query, &data.key, &data.value, &data.out, &data.logSums, &data.mask, &data.kept},
        [&](void *const *p) {
          return callAttend(*driver, descriptor,
                            {p[0], p[1], p[2], p[3], p[4], data.maskAt(p[5]), data.dropoutAt(p[6])},
                            data.c.batch);
        });
  }
  mpc_rt_status_t attendGradient(AttentionData &data) {
    auto descriptor = data.descriptor(nextId++);
    return callOnDevice(
        *driver, WeightUse::updated,
        {&data.cotangent, &data.out, &data.logSums, &data.query, &data.key, &data.value,
         &data.queryGradient, &data.keyGradient, &data.valueGradient, &data.mask, &data.kept},
        [&](void *const *p) {
          return callAttendGradient(*driver, descriptor,
                                    {p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8],
                                     data.maskAt(p[9]), data.dropoutAt(p[10])},
                                    data.c.batch);
        });
  }
  void check(const AttentionCase &c) {
    AttentionData data(c);
    const std::vector<uint8_t> before = data.out;
    if ((c.mask || c.drops || c.hiddenScore) && std::string(driver->name()) == "cuda") {
      EXPECT_NE(attend(data), MPC_RT_OK);
      EXPECT_NE(std::string(mpc_rt_last_error()).find("which no GPU has"), std::string::npos);
      EXPECT_NE(attendGradient(data), MPC_RT_OK);
      return;
    }
    ASSERT_EQ(attend(data), MPC_RT_OK) << mpc_rt_last_error();
    if (!driver->computes()) {
      EXPECT_EQ(data.out, before) << "a driver that does not compute wrote results";
      return;
    }
    EXPECT_EQ(data.difference(false), "") << c.text();
    ASSERT_EQ(attendGradient(data), MPC_RT_OK) << mpc_rt_last_error();
    EXPECT_EQ(data.difference(true), "") << c.text();
    AttentionData again(c);
    again.out = data.out, again.logSums = data.logSums;
    ASSERT_EQ(attendGradient(again), MPC_RT_OK) << mpc_rt_last_error();
    EXPECT_EQ(again.queryGradient, data.queryGradient) << c.text();
    EXPECT_EQ(again.keyGradient, data.keyGradient) << c.text();
    EXPECT_EQ(again.valueGradient, data.valueGradient) << c.text();
  }
  uint32_t nextId = 0;
};

INSTANTIATE_TEST_SUITE_P(Every, Attend, ::testing::ValuesIn(everyDriver()), driverName);

TEST_P(Attend, IsRightOverDtypesShapesAndMasks) {
  for (uint32_t i = 0; i < 60; ++i)
    check(drawAttention(i));
}

// Blocks of targets, of which masks see different sources; more heads than threads, and fewer.
TEST_P(Attend, IsRightOverSeveralBlocks) {
  for (const mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16})
    for (const bool causal : {false, true}) {
      check({dtype, 1, 230, 150, 1, 40, 24, causal});
      check({dtype, 1, 100, 333, 3, 16, 65, causal});
      check({dtype, 1, 7, 1500, 2, 9, 16, causal});
    }
}

TEST_P(Attend, IsRightOverSeveralBlocksWithMasks) {
  for (const mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16})
    for (uint32_t extents = 0; extents < 8; ++extents) {
      const uint32_t mask = MPC_RT_ATTENTION_MASK | 4 * extents;
      check({dtype, 3, 120, 150, 2, 40, 24, false, mask});
      check({dtype, 2, 7, 700, 2, 9, 16, false, mask});
    }
}

TEST_P(Attend, IsRightOverSeveralBlocksWithDropout) {
  for (const mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16})
    for (const bool causal : {false, true}) {
      check({dtype, 1, 230, 150, 1, 40, 24, causal, 0, true});
      check({dtype, 2, 100, 333, 3, 16, 65, causal, 0, true});
      check({dtype, 1, 7, 1500, 2, 9, 16, causal, 0, true});
      if (!causal)
        check({dtype, 3, 120, 150, 2, 40, 24, false, MPC_RT_ATTENTION_MASK | 20, true});
    }
}

TEST_P(Attend, IsRightOverSeveralBlocksWithHiddenScores) {
  for (const mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16})
    for (const double score : {-1e9, 0.25}) {
      check({dtype, 1, 230, 150, 1, 40, 24, true, 0, false, score});
      check({dtype, 2, 100, 333, 3, 16, 65, true, 0, true, score});
      for (uint32_t extents = 0; extents < 8; ++extents) {
        const uint32_t mask = MPC_RT_ATTENTION_MASK | 4 * extents;
        check({dtype, 3, 120, 150, 2, 40, 24, false, mask, extents % 2 == 0, score});
      }
    }
}

// If all scores of a target are -inf, Keras's Softmax gives everything to the hidden sources, and
// that is cleared; where nothing is hidden, the softmax is not a number.
TEST_P(Attend, GivesAllToHiddenScores) {
  if (!driver->computes() || std::string(driver->name()) == "cuda")
    return;
  for (const mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT64}) {
    const AttentionCase c = {dtype, 1, 3, 3, 1, 8, 8, true, 0, false, -1e9};
    AttentionData data(c);
    for (int64_t i = 0; i < 24; ++i)
      storeElement(dtype, data.query.data(), i, 1);
    for (int64_t source = 0; source < 3; ++source)
      storeElement(dtype, data.key.data(), 8 * source, -std::numeric_limits<double>::infinity());
    ASSERT_EQ(attend(data), MPC_RT_OK) << mpc_rt_last_error();
    const Numbers out = widened(dtype, data.out), sums = widened(data.wide(), data.logSums);
    for (size_t i = 0; i < 24; ++i)
      if (i < 16)
        EXPECT_EQ(out[i], 0) << c.text();
      else
        EXPECT_TRUE(std::isnan(out[i])) << c.text();
    EXPECT_NEAR(sums[0], -1e9, 64) << c.text();
  }
}

// Dropped probabilities may be anything, too: those of a target that sees NaN, or values that only
// dropped probabilities are multiplied with in the derivative.
TEST_P(Attend, DoesNotLookAtDroppedProbabilities) {
  if (!driver->computes() || std::string(driver->name()) == "cuda")
    return;
  for (const mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT64}) {
    const AttentionCase c = {dtype, 1, 6, 40, 1, 8, 8, false, 0, true};
    AttentionData data(c);
    std::fill(data.kept.begin(), data.kept.begin() + c.sources, uint8_t{0});
    storeElement(dtype, data.query.data(), 3, std::numeric_limits<double>::quiet_NaN());
    ASSERT_EQ(attend(data), MPC_RT_OK) << mpc_rt_last_error();
    const Numbers out = widened(dtype, data.out);
    for (int64_t i = 0; i < c.targets * c.valueWidth; ++i)
      if (i < c.valueWidth)
        EXPECT_EQ(out[static_cast<size_t>(i)], 0) << c.text();
      else
        EXPECT_TRUE(std::isfinite(out[static_cast<size_t>(i)])) << c.text();
    ASSERT_EQ(attendGradient(data), MPC_RT_OK) << mpc_rt_last_error();
    for (double x : widened(dtype, data.valueGradient))
      EXPECT_TRUE(std::isfinite(x)) << c.text();
  }
}

// Hidden scores may be anything, where no value is multiplied with them: Keras selects.
TEST_P(Attend, DoesNotLookAtHiddenScores) {
  if (!driver->computes() || std::string(driver->name()) == "cuda")
    return;
  for (const mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT64}) {
    const AttentionCase c = {dtype, 1, 6, 40, 1, 8, 8, false, MPC_RT_ATTENTION_MASK};
    AttentionData data(c), changed(c);
    std::fill(data.mask.begin(), data.mask.end(), uint8_t{1});
    data.mask[5] = data.mask[39] = 0;
    changed.mask = data.mask;
    for (int64_t source : {5, 39})
      storeElement(dtype, changed.key.data(), source * c.width,
                   std::numeric_limits<double>::quiet_NaN());
    ASSERT_EQ(attend(data), MPC_RT_OK) << mpc_rt_last_error();
    ASSERT_EQ(attend(changed), MPC_RT_OK) << mpc_rt_last_error();
    EXPECT_EQ(data.difference(false), "") << c.text();
    EXPECT_EQ(changed.out, data.out) << c.text();
    EXPECT_EQ(changed.logSums, data.logSums) << c.text();
  }
}

TEST_P(Attend, IsTheSameForEveryNumberOfThreads) {
  if (std::string(driver->name()) != "cpu")
    return;
  AttentionData one({MPC_RT_BFLOAT16, 1, 230, 150, 2, 40, 24, true, 0, true}), other(one.c);
  driver = makeCpuDriver({1, isa()});
  ASSERT_EQ(attend(one), MPC_RT_OK);
  ASSERT_EQ(attendGradient(one), MPC_RT_OK);
  driver = makeCpuDriver({4, isa()});
  ASSERT_EQ(attend(other), MPC_RT_OK);
  ASSERT_EQ(attendGradient(other), MPC_RT_OK);
  EXPECT_EQ(one.out, other.out);
  EXPECT_EQ(one.logSums, other.logSums);
  EXPECT_EQ(one.queryGradient, other.queryGradient);
  EXPECT_EQ(one.keyGradient, other.keyGradient);
  EXPECT_EQ(one.valueGradient, other.valueGradient);
}

// The other heads and samples do not see a NaN in the query, key or value of one head of one
// sample.
TEST_P(Attend, KeepsNaNInItsHead) {
  if (!driver->computes())
    return;
  const AttentionCase c = {MPC_RT_FLOAT16, 2, 5, 7, 3, 8, 8, false};
  for (int operand = 0; operand < 3; ++operand) {
    AttentionData data(c);
    std::vector<uint8_t> &changed = operand == 0   ? data.query
                                    : operand == 1 ? data.key
                                                   : data.value;
    // Sample 1, position 2, head 1, element 3.
    const int64_t length = operand == 0 ? c.targets : c.sources;
    storeElement(c.dtype, changed.data(), ((length + 2) * c.heads + 1) * c.width + 3,
                 std::numeric_limits<double>::quiet_NaN());
    ASSERT_EQ(attend(data), MPC_RT_OK) << mpc_rt_last_error();
    const Numbers out = widened(c.dtype, data.out);
    for (size_t i = 0; i < out.size(); ++i) {
      const size_t element = i % 8, head = i / 8 % 3, target = i / 24 % 5, sample = i / 120;
      const bool reaches = sample == 1 && head == 1 && (operand != 0 || target == 2) &&
                           (operand != 2 || element == 3);
      EXPECT_EQ(std::isnan(out[i]), reaches) << "operand " << operand << ", element " << i;
    }
  }
}

TEST_P(Attend, RefusesWhatNobodyCanCompute) {
  const AttentionCase c = {MPC_RT_FLOAT16, 2, 5, 7, 3, 8, 8, false};
  AttentionData data(c);
  auto refuses = [&](mpc_rt_attention_t d, int64_t batch, const char *message) {
    ASSERT_EQ(driver->begin(WeightUse::updated), MPC_RT_OK);
    EXPECT_NE(callAttend(*driver, d,
                         {data.query.data(), data.key.data(), data.value.data(), data.out.data(),
                          data.logSums.data()},
                         batch),
              MPC_RT_OK);
    EXPECT_NE(std::string(mpc_rt_last_error()).find(message), std::string::npos)
        << mpc_rt_last_error();
    driver->end();
  };
  auto with = [&](auto change) {
    mpc_rt_attention_t d = data.descriptor(nextId++);
    change(d);
    return d;
  };
  refuses(with([](auto &d) { d.struct_size = 8; }), 2, "compile the model again");
  refuses(with([](auto &d) { d.flags = 256; }), 2, "newer than this runtime");
  refuses(with([](auto &d) { d.flags = MPC_RT_ATTENTION_HIDDEN_SCORE; }), 2, "hides nothing");
  refuses(with([](auto &d) {
            d.flags = MPC_RT_ATTENTION_CAUSAL | MPC_RT_ATTENTION_HIDDEN_SCORE;
            d.hidden_score = -INFINITY;
          }),
          2, "an infinite one");
  refuses(with([](auto &d) {
            d.flags = MPC_RT_ATTENTION_CAUSAL | MPC_RT_ATTENTION_HIDDEN_SCORE;
            d.struct_size = offsetof(mpc_rt_attention_t, hidden_score);
          }),
          2, "compile the model again");
  refuses(with([](auto &d) { d.flags = MPC_RT_ATTENTION_MASK; }), 2, "null operand");
  refuses(with([](auto &d) { d.flags = MPC_RT_ATTENTION_MASK_OF_HEAD; }), 2, "exclude each other");
  refuses(with([](auto &d) { d.flags = MPC_RT_ATTENTION_MASK | MPC_RT_ATTENTION_CAUSAL; }), 2,
          "exclude each other");
  refuses(with([](auto &d) { d.dtype = MPC_RT_INT32; }), 2, "must be floating");
  refuses(with([](auto &d) { d.heads = 0; }), 2, "not positive");
  refuses(with([](auto &d) { d.scale = INFINITY; }), 2, "infinite scale");
  refuses(with([](auto &d) { d.targets = int64_t{1} << 40, d.sources = int64_t{1} << 40; }), 2,
          "use a smaller batch");
  ASSERT_EQ(driver->begin(WeightUse::updated), MPC_RT_OK);
  EXPECT_NE(callAttend(*driver, data.descriptor(nextId++),
                       {data.query.data(), data.key.data(), data.value.data(), nullptr,
                        data.logSums.data()},
                       2),
            MPC_RT_OK);
  const uint8_t kept[2 * 3 * 5 * 7] = {};
  const AttentionDropout dropouts[] = {
      {nullptr, 2, true}, {kept, 0.5, true}, {kept, INFINITY, true}, {kept, 2, false}};
  for (const AttentionDropout &dropout : dropouts) {
    EXPECT_NE(callAttend(*driver, data.descriptor(nextId++),
                         {data.query.data(), data.key.data(), data.value.data(), data.out.data(),
                          data.logSums.data(), nullptr, dropout},
                         2),
              MPC_RT_OK);
    EXPECT_NE(std::string(mpc_rt_last_error()).find("a dropout that"), std::string::npos)
        << mpc_rt_last_error();
  }
  driver->end();
}

} // namespace
} // namespace mpc::rt::cts
