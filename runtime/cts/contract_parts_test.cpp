// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts of a contraction in any combination: the same bits as its parts one after the other, which
// the other tests compare with references.
#include "runtime/cts/calls.h"
#include "runtime/cts/contraction_case.h"
#include "runtime/cts/driver_fixture.h"

#include <cstring>
#include <random>

namespace mpc::rt::cts {
namespace {

// Adds 1 to the low byte of each element: a kernel that replaces what it reads.
void countUp(void *const *arguments, int64_t begin, int64_t end) {
  const size_t width = *static_cast<const size_t *>(arguments[1]);
  for (int64_t i = begin; i < end; ++i)
    ++static_cast<uint8_t *>(arguments[0])[static_cast<size_t>(i) * width];
}

struct Parts {
  uint32_t activation = MPC_RT_ACTIVATION_NONE;
  bool hasBias = false, accumulate = false, largest = false, kernel = false, sums = false;
  bool mask = false, kept = false, blocks = false;

  std::string text() const {
    return "activation " + std::to_string(activation) + (hasBias ? " bias" : "") +
           (accumulate ? " accumulate" : "") + (largest ? " largest" : "") +
           (kernel ? " kernel" : "") + (sums ? " sums" : "") + (mask ? " mask" : "") +
           (kept ? " kept" : "") + (blocks ? " blocks" : "");
  }
};

class ContractParts : public DriverTest {
protected:
  // Everything that a call may write.
  struct Results {
    std::vector<uint8_t> out, mask, kept;
    std::vector<float> sums;
    uint64_t largest = 0;
  };

  void SetUp() override {
    DriverTest::SetUp();
    if (!driver->computes() || driver->ownsMemory())
      GTEST_SKIP() << "works on memory of the host";
  }

  static Parts draw(std::mt19937 &random, bool isInteger) {
    auto coin = [&] { return random() % 2 == 0; };
    Parts parts;
    parts.activation = random() % 5;
    parts.hasBias = coin(), parts.accumulate = coin(), parts.largest = coin();
    parts.kernel = coin();
    parts.sums = coin() && !isInteger;
    parts.mask = parts.activation == MPC_RT_ACTIVATION_RELU && !parts.accumulate && coin();
    parts.kept = parts.activation == MPC_RT_ACTIVATION_GELU && coin();
    parts.blocks = isInteger && coin();
    return parts;
  }

  // The operands that parts share.
  struct Operands {
    explicit Operands(const ContractionCase &shape)
        : data(shape), bits(static_cast<size_t>(shape.m * ((shape.n + 127) / 128 * 16))),
          at(data.out.size()), scale(static_cast<size_t>(shape.n) * dtypeSize(shape.lhs)),
          zero(static_cast<size_t>(shape.n), 1), places(static_cast<size_t>(shape.k)) {
      for (size_t i = 0; i < bits.size(); ++i)
        bits[i] = static_cast<uint8_t>(i * 29 + 3);
      for (int64_t i = 0; i < shape.m * shape.n; ++i)
        storeElement(shape.out, at.data(), i, double(i % 7) / 4 - 0.75);
      for (int64_t i = 0; i < shape.n; ++i)
        storeElement(shape.lhs, scale.data(), i, 0.5);
    }
    ContractionData data;
    std::vector<uint8_t> bits, at, scale;
    std::vector<int8_t> zero;
    std::vector<float> places;
  };

  mpc_rt_status_t run(Operands &o, const Parts &parts, Results &results) {
    mpc_rt_contract_t descriptor = o.data.shape.descriptor(++nextId);
    descriptor.has_bias = parts.hasBias;
    descriptor.flags |= parts.accumulate ? MPC_RT_CONTRACT_ACCUMULATE : 0u;
    descriptor.activation = parts.activation;
    const ContractionCase &shape = o.data.shape;
    results.out = o.data.initial;
    results.mask.assign(o.bits.size(), 0);
    results.kept.assign(o.at.size(), 0);
    results.sums.assign(static_cast<size_t>(shape.n), 0);
    size_t width = dtypeSize(shape.out);
    void *const arguments[] = {results.out.data(), &width};
    const mpc_rt_result_kernel_t kernel = {countUp, arguments, 2, 0, 5};
    mpc_rt_contract_call_t call =
        contractCall(o.data.lhs.data(), o.data.storedRhs().data(),
                     parts.hasBias ? o.data.bias.data() : nullptr, results.out.data(), 1);
    call.largest = parts.largest ? &results.largest : nullptr;
    call.kernel = parts.kernel ? &kernel : nullptr;
    call.sums = parts.sums ? results.sums.data() : nullptr;
    call.mask = parts.mask ? results.mask.data() : nullptr;
    call.kept = parts.kept ? results.kept.data() : nullptr;
    call.where = parts.activation == MPC_RT_ACTIVATION_RELU_GRADIENT ? o.bits.data() : nullptr;
    call.gelu_at = parts.activation == MPC_RT_ACTIVATION_GELU_GRADIENT ? o.at.data() : nullptr;
    if (parts.blocks) {
      call.scale = o.scale.data(), call.zero = o.zero.data(), call.places = o.places.data();
      call.blocks = 1;
    }
    driver->variablesChanged();
    if (auto status = driver->begin(WeightUse::updated))
      return status;
    const auto status = driver->contract(descriptor, call);
    driver->end();
    return status;
  }

  // One part after the other, by calls that have one each.
  Results expect(Operands &o, const Parts &parts) {
    Results results, sums;
    Parts product = parts;
    product.accumulate = product.largest = product.kernel = product.sums = false;
    EXPECT_EQ(run(o, product, results), MPC_RT_OK) << mpc_rt_last_error();
    const ContractionCase &shape = o.data.shape;
    const int64_t count = shape.m * shape.n;
    for (int64_t i = 0; parts.accumulate && i < count; ++i)
      storeElement(shape.out, results.out.data(), i,
                   loadElement(shape.out, results.out.data(), i) +
                       loadElement(shape.out, o.data.initial.data(), i));
    if (parts.sums) {
      Parts alone;
      alone.sums = true;
      EXPECT_EQ(run(o, alone, sums), MPC_RT_OK) << mpc_rt_last_error();
      results.sums = sums.sums;
    }
    const size_t width = dtypeSize(shape.out);
    if (parts.largest) {
      o.data.out = results.out;
      results.largest = o.data.largest();
    }
    void *const arguments[] = {results.out.data(), const_cast<size_t *>(&width)};
    if (parts.kernel)
      countUp(arguments, 0, count);
    return results;
  }
  uint32_t nextId = 0;
};

INSTANTIATE_TEST_SUITE_P(Every, ContractParts, ::testing::ValuesIn(everyDriver()), driverName);

TEST_P(ContractParts, GoTogetherInAnyWay) {
  std::mt19937 random(43);
  const mpc_rt_dtype_t dtypes[] = {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16};
  for (int i = 0; i < 300; ++i) {
    ContractionCase shape;
    shape.m = 1 + random() % 40, shape.n = 2 + random() % 70, shape.k = random() % 50;
    shape.lhs = shape.rhs = shape.out = shape.bias = dtypes[random() % 3];
    const bool isInteger = i % 4 == 0;
    if (isInteger) {
      shape.rhs = MPC_RT_INT8;
      shape.packedRhs = true;
    }
    Operands operands(shape);
    const Parts parts = draw(random, isInteger);
    const Results expected = expect(operands, parts);
    Results results;
    ASSERT_EQ(run(operands, parts, results), MPC_RT_OK) << parts.text() << mpc_rt_last_error();
    const std::string text = shape.text() + ": " + parts.text();
    // Sums that other numbers are added to may be rounded once only.
    if (parts.accumulate && shape.out != MPC_RT_FLOAT32)
      continue;
    EXPECT_EQ(results.out, expected.out) << text;
    EXPECT_EQ(results.kept, expected.kept) << text;
    EXPECT_EQ(results.sums, expected.sums) << text;
    EXPECT_EQ(results.largest, expected.largest) << text;
    // The padding of bits is undefined.
    for (int64_t row = 0; parts.mask && row < shape.m; ++row)
      for (int64_t n = 0; n < shape.n; ++n) {
        const auto byte = static_cast<size_t>(row * ((shape.n + 127) / 128 * 16) + n / 8);
        EXPECT_EQ(results.mask[byte] >> n % 8 & 1, expected.mask[byte] >> n % 8 & 1) << text;
      }
  }
}

} // namespace
} // namespace mpc::rt::cts
