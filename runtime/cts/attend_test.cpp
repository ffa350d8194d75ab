// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conformance of attend and attend_gradient: whole matrices in float64 by their definition, with a
// bound for each result from the terms that it is a sum of.
#include "runtime/base/philox.h"
#include "runtime/cts/device_call.h"
#include "runtime/cts/driver_fixture.h"
#include "runtime/cts/elements.h"
#include "runtime/cts/isa.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mpc::rt::cts {
namespace {

using Numbers = std::vector<double>;

// Roundings of operands and results, of scores before their softmax and of the softmax.
double unitOf(mpc_rt_dtype_t dtype) {
  return dtype == MPC_RT_FLOAT16    ? 0x1p-11
         : dtype == MPC_RT_BFLOAT16 ? 0x1p-8
         : dtype == MPC_RT_FLOAT32  ? 0x1p-20
                                    : 0x1p-45;
}
constexpr double roundings = 6;

struct Case {
  mpc_rt_dtype_t dtype;
  int64_t batch, targets, sources, heads, width, valueWidth;
  bool causal;
  uint32_t mask = 0; // MPC_RT_ATTENTION_MASK*
  bool drops = false;
  std::string text() const {
    return std::string(dtypeName(dtype)) + " " + std::to_string(batch) + "x" +
           std::to_string(heads) + "x" + std::to_string(targets) + "x" + std::to_string(sources) +
           "x" + std::to_string(width) + "x" + std::to_string(valueWidth) +
           (causal ? " causal" : "") + (mask ? " mask " + std::to_string(mask) : "") +
           (drops ? " dropout" : "");
  }
};

Case draw(uint32_t index) {
  uint32_t count = 0;
  auto next = [&](uint32_t bound) {
    return static_cast<int64_t>(philox({{index, count++, 0, 0}}, 17, 0).word[0] % bound);
  };
  constexpr mpc_rt_dtype_t dtypes[] = {MPC_RT_FLOAT16, MPC_RT_BFLOAT16, MPC_RT_FLOAT16,
                                       MPC_RT_FLOAT32, MPC_RT_FLOAT64};
  Case c;
  c.dtype = dtypes[next(5)];
  c.batch = 1 + next(3), c.heads = 1 + next(3);
  c.targets = 1 + next(40), c.sources = next(2) ? c.targets : 1 + next(40);
  // Half of the widths as libraries like them.
  c.width = next(2) ? 8 * (1 + next(4)) : 1 + next(20);
  c.valueWidth = next(2) ? c.width : next(2) ? 8 * (1 + next(4)) : 1 + next(20);
  c.causal = next(2);
  if (!c.causal && next(2))
    c.mask = MPC_RT_ATTENTION_MASK | static_cast<uint32_t>(4 * next(8));
  c.drops = next(2);
  return c;
}

// What a mask that tells all extents apart says: some sources count, in some rows none, in some the
// first ones alone.
bool drawMask(int64_t row, int64_t source, int64_t sources) {
  const auto word = [](int64_t i, uint32_t stream) {
    return philox({{static_cast<uint32_t>(i), stream, 0, 0}}, 23, 0).word[0];
  };
  const uint32_t kind = word(row, 0) % 4;
  return kind == 0   ? false
         : kind == 1 ? source < static_cast<int64_t>(word(row, 1)) % sources
                     : word(row * sources + source, 2) % 3 != 0;
}

// A result and, of each number, the sum of its terms without their signs.
struct Expected {
  Numbers values, terms;
  explicit Expected(size_t count) : values(count, 0.0), terms(count, 0.0) {}
  void add(size_t i, double value, double term) {
    values[i] += value;
    terms[i] += term;
  }
  std::string differenceOf(const char *what, mpc_rt_dtype_t dtype, double unit,
                           const std::vector<uint8_t> &data) const {
    const Numbers got = widened(dtype, data);
    for (size_t i = 0; i < values.size(); ++i)
      if (!(std::abs(got[i] - values[i]) <= unit * roundings * terms[i]))
        return std::string(what) + ": element " + std::to_string(i) + " is " +
               std::to_string(got[i]) + ", expected " + std::to_string(values[i]) + " within " +
               std::to_string(unit * roundings * terms[i]);
    return "";
  }
};

// The operands and results of both services.
struct Data {
  explicit Data(const Case &c) : c(c) {
    auto make = [&](std::vector<uint8_t> &data, int64_t count, uint32_t stream) {
      fill(data, c.dtype, count, /*seed=*/5, stream, /*most=*/16, 1.0 / 8);
    };
    make(query, c.batch * c.targets * c.heads * c.width, 0);
    make(key, c.batch * c.sources * c.heads * c.width, 1);
    make(value, c.batch * c.sources * c.heads * c.valueWidth, 2);
    make(cotangent, c.batch * c.targets * c.heads * c.valueWidth, 3);
    const int64_t rows = (c.mask & MPC_RT_ATTENTION_MASK_OF_SAMPLE ? c.batch : 1) *
                         (c.mask & MPC_RT_ATTENTION_MASK_OF_HEAD ? c.heads : 1) *
                         (c.mask & MPC_RT_ATTENTION_MASK_OF_TARGET ? c.targets : 1);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t u = 0; u < c.sources; ++u)
        mask.push_back(drawMask(row, u, c.sources));
    for (int64_t i = 0; c.drops && i < c.batch * c.heads * c.targets * c.sources; ++i)
      kept.push_back(philox({{static_cast<uint32_t>(i), 0, 0, 0}}, 29, 0).word[0] % 4 != 0);
    out.resize(cotangent.size(), 0xFF);
    logSums.resize(static_cast<size_t>(c.batch * c.heads * c.targets) * dtypeSize(wide()), 0xFF);
    queryGradient.resize(query.size(), 0xFF);
    keyGradient.resize(key.size(), 0xFF);
    valueGradient.resize(value.size(), 0xFF);
  }
  mpc_rt_dtype_t wide() const {
    return c.dtype == MPC_RT_FLOAT64 ? MPC_RT_FLOAT64 : MPC_RT_FLOAT32;
  }
  double scale() const { return 1 / std::sqrt(static_cast<double>(c.width)); }
  mpc_rt_attention_t descriptor(uint32_t id) const {
    mpc_rt_attention_t d{};
    d.struct_size = sizeof d;
    d.id = id;
    d.dtype = c.dtype;
    d.flags = (c.causal ? MPC_RT_ATTENTION_CAUSAL : 0) | c.mask;
    d.batch = {0, 1};
    d.targets = c.targets, d.sources = c.sources, d.heads = c.heads;
    d.width = c.width, d.value_width = c.valueWidth;
    d.scale = scale();
    d.layer = "tested";
    return d;
  }

  // Of the forward computation from its operands, of the derivative also from its results as they
  // are.
  std::string difference(bool ofGradient) const {
    const Numbers q = widened(c.dtype, query), k = widened(c.dtype, key),
                  v = widened(c.dtype, value), dy = widened(c.dtype, cotangent),
                  y = widened(c.dtype, out), l = widened(wide(), logSums);
    Expected result(dy.size()), sums(l.size()), dq(q.size()), dk(k.size()), dv(v.size());
    auto at = [&](int64_t b, int64_t place, int64_t places, int64_t h, int64_t width, int64_t w) {
      return static_cast<size_t>(((b * places + place) * c.heads + h) * width + w);
    };
    Numbers scores(static_cast<size_t>(c.sources));
    const auto count = static_cast<size_t>(c.sources);
    for (int64_t b = 0; b < c.batch; ++b)
      for (int64_t h = 0; h < c.heads; ++h)
        for (int64_t t = 0; t < c.targets; ++t) {
          const auto row = static_cast<size_t>((b * c.heads + h) * c.targets + t);
          double total = 0, largest = 0;
          const bool isHidden = hides(b, h, t);
          for (size_t u = 0; u < count; ++u) {
            scores[u] = 0;
            if (isHidden) {
              total += 1;
              continue;
            }
            if (!sees(b, h, t, static_cast<int64_t>(u))) {
              scores[u] = -std::numeric_limits<double>::infinity();
              continue;
            }
            for (int64_t w = 0; w < c.width; ++w)
              scores[u] += q[at(b, t, c.targets, h, c.width, w)] *
                           k[at(b, static_cast<int64_t>(u), c.sources, h, c.width, w)] * scale();
            largest = std::max(largest, std::abs(scores[u]));
            total += std::exp(scores[u]);
          }
          // What a rounding of the scores changes the weights by, relatively.
          const double sensitivity = 1 + largest;
          sums.add(row, std::log(total), sensitivity);
          for (size_t u = 0; u < count; ++u) {
            const auto source = static_cast<int64_t>(u);
            const double weight = std::exp(scores[u] - (ofGradient ? l[row] : std::log(total)));
            const double factor = factorOf(row, u);
            double derivative = 0, terms = 0;
            for (int64_t w = 0; w < c.valueWidth; ++w) {
              const size_t to = at(b, t, c.targets, h, c.valueWidth, w),
                           from = at(b, source, c.sources, h, c.valueWidth, w);
              result.add(to, factor * weight * v[from],
                         factor * weight * std::abs(v[from]) * sensitivity);
              if (!ofGradient)
                continue;
              dv.add(from, factor * weight * dy[to],
                     factor * weight * std::abs(dy[to]) * sensitivity);
              derivative += dy[to] * (factor * v[from] - y[to]);
              terms += std::abs(dy[to]) * (factor * std::abs(v[from]) + std::abs(y[to]));
            }
            if (isHidden)
              continue;
            derivative *= scale() * weight;
            terms *= scale() * weight * sensitivity;
            for (int64_t w = 0; ofGradient && w < c.width; ++w) {
              const size_t target = at(b, t, c.targets, h, c.width, w),
                           from = at(b, source, c.sources, h, c.width, w);
              dq.add(target, derivative * k[from], terms * std::abs(k[from]));
              dk.add(from, derivative * q[target], terms * std::abs(q[target]));
            }
          }
        }
    const double unit = unitOf(c.dtype);
    std::string text;
    if (!ofGradient) {
      text = result.differenceOf("out", c.dtype, unit, out);
      return text.empty() ? sums.differenceOf("log_sums", wide(), unit, logSums) : text;
    }
    text = dq.differenceOf("query", c.dtype, unit, queryGradient);
    text += dk.differenceOf("key", c.dtype, unit, keyGradient);
    return text + dv.differenceOf("value", c.dtype, unit, valueGradient);
  }

  const uint8_t *maskAt(const void *place) const {
    return c.mask ? static_cast<const uint8_t *>(place) : nullptr;
  }
  static constexpr double keepScale = 4.0 / 3;
  AttentionDropout dropoutAt(const void *place) const {
    return c.drops ? AttentionDropout{static_cast<const uint8_t *>(place), keepScale, true}
                   : AttentionDropout{};
  }
  double factorOf(size_t row, size_t source) const {
    return !c.drops ? 1 : kept[row * static_cast<size_t>(c.sources) + source] ? keepScale : 0;
  }
  // Whether the source counts for the target, and whether none does by the mask.
  bool sees(int64_t b, int64_t h, int64_t t, int64_t u) const {
    if (!c.mask)
      return !c.causal || u <= t;
    int64_t row = c.mask & MPC_RT_ATTENTION_MASK_OF_SAMPLE ? b : 0;
    row = c.mask & MPC_RT_ATTENTION_MASK_OF_HEAD ? row * c.heads + h : row;
    row = c.mask & MPC_RT_ATTENTION_MASK_OF_TARGET ? row * c.targets + t : row;
    return mask[static_cast<size_t>(row * c.sources + u)] != 0;
  }
  bool hides(int64_t b, int64_t h, int64_t t) const {
    for (int64_t u = 0; c.mask && u < c.sources; ++u)
      if (sees(b, h, t, u))
        return false;
    return c.mask != 0;
  }

  Case c;
  std::vector<uint8_t> query, key, value, cotangent, mask, kept, out, logSums, queryGradient,
      keyGradient, valueGradient;
};

class Attend : public DriverTest {
protected:
  mpc_rt_status_t attend(Data &data) {
    auto descriptor = data.descriptor(nextId++);
    return callOnDevice(
        *driver, WeightUse::updated,
        {&data.query, &data.key, &data.value, &data.out, &data.logSums, &data.mask, &data.kept},
        [&](void *const *p) {
          return driver->attend(
              descriptor, {p[0], p[1], p[2], p[3], p[4], data.maskAt(p[5]), data.dropoutAt(p[6])},
              data.c.batch);
        });
  }
  mpc_rt_status_t attendGradient(Data &data) {
    auto descriptor = data.descriptor(nextId++);
    return callOnDevice(
        *driver, WeightUse::updated,
        {&data.cotangent, &data.out, &data.logSums, &data.query, &data.key, &data.value,
         &data.queryGradient, &data.keyGradient, &data.valueGradient, &data.mask, &data.kept},
        [&](void *const *p) {
          return driver->attendGradient(descriptor,
                                        {p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8],
                                         data.maskAt(p[9]), data.dropoutAt(p[10])},
                                        data.c.batch);
        });
  }
  void check(const Case &c) {
    Data data(c);
    const std::vector<uint8_t> before = data.out;
    if ((c.mask || c.drops) && std::string(driver->name()) == "cuda") {
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
    Data again(c);
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
    check(draw(i));
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

// What is dropped may be anything, too: the probabilities of a target that sees NaN, or values that
// only dropped probabilities are multiplied with in the derivative.
TEST_P(Attend, DoesNotLookAtDroppedProbabilities) {
  if (!driver->computes() || std::string(driver->name()) == "cuda")
    return;
  for (const mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT64}) {
    const Case c = {dtype, 1, 6, 40, 1, 8, 8, false, 0, true};
    Data data(c);
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

// What a mask hides may be anything, where no value is multiplied with it: Keras selects.
TEST_P(Attend, DoesNotLookAtHiddenScores) {
  if (!driver->computes() || std::string(driver->name()) == "cuda")
    return;
  for (const mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT64}) {
    const Case c = {dtype, 1, 6, 40, 1, 8, 8, false, MPC_RT_ATTENTION_MASK};
    Data data(c), changed(c);
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
  Data one({MPC_RT_BFLOAT16, 1, 230, 150, 2, 40, 24, true, 0, true}), other(one.c);
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

// What a query, key or value of one head of one sample is, the others do not see.
TEST_P(Attend, KeepsNaNInItsHead) {
  if (!driver->computes())
    return;
  const Case c = {MPC_RT_FLOAT16, 2, 5, 7, 3, 8, 8, false};
  for (int operand = 0; operand < 3; ++operand) {
    Data data(c);
    std::vector<uint8_t> &changed = operand == 0   ? data.query
                                    : operand == 1 ? data.key
                                                   : data.value;
    // Sample 1, place 2, head 1, element 3.
    const int64_t places = operand == 0 ? c.targets : c.sources;
    storeElement(c.dtype, changed.data(), ((places + 2) * c.heads + 1) * c.width + 3,
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
  const Case c = {MPC_RT_FLOAT16, 2, 5, 7, 3, 8, 8, false};
  Data data(c);
  auto refuses = [&](mpc_rt_attention_t d, int64_t batch, const char *message) {
    ASSERT_EQ(driver->begin(WeightUse::updated), MPC_RT_OK);
    EXPECT_NE(driver->attend(d,
                             {data.query.data(), data.key.data(), data.value.data(),
                              data.out.data(), data.logSums.data()},
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
  refuses(with([](auto &d) { d.flags = 32; }), 2, "newer than this runtime");
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
  EXPECT_NE(driver->attend(data.descriptor(nextId++),
                           {data.query.data(), data.key.data(), data.value.data(), nullptr,
                            data.logSums.data()},
                           2),
            MPC_RT_OK);
  const uint8_t kept[2 * 3 * 5 * 7] = {};
  const AttentionDropout dropouts[] = {
      {nullptr, 2, true}, {kept, 0.5, true}, {kept, INFINITY, true}, {kept, 2, false}};
  for (const AttentionDropout &dropout : dropouts) {
    EXPECT_NE(driver->attend(data.descriptor(nextId++),
                             {data.query.data(), data.key.data(), data.value.data(),
                              data.out.data(), data.logSums.data(), nullptr, dropout},
                             2),
              MPC_RT_OK);
    EXPECT_NE(std::string(mpc_rt_last_error()).find("a dropout that"), std::string::npos)
        << mpc_rt_last_error();
  }
  driver->end();
}

} // namespace
} // namespace mpc::rt::cts
