// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sum of parts' products against what each part computes alone, added as PartTree adds: bit by
// bit, of numbers whose sums depend on every order.
#include "runtime/drivers/cpu/contract/part_products.h"

#include "mpc-rt/device.h"
#include "runtime/base/cpu.h"
#include "runtime/base/element.h"
#include "runtime/collectives/part_meeting.h"
#include "runtime/collectives/part_tree.h"
#include "runtime/drivers/cpu/contract/blocked_product.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <thread>

namespace mpc::rt {
namespace {

struct Product {
  int64_t m, n;
  mpc_rt_dtype_t lhs, rhs;
  bool roundsLhs;
};

// The rows that a part has, and what it makes of them.
class Part {
public:
  Part(const Product &of, int64_t rows, const MicroKernel &kernel, int isa, uint32_t seed)
      : memory(team, isa, /*ownKernels=*/true), product(team, vectorKernels(isa), kernel, true),
        summed(memory), out(size_t(of.m * of.n), -1), sums(size_t(of.n), -1) {
    shape.batch = 1, shape.m = of.m, shape.n = of.n, shape.k = rows;
    shape.lhs = of.lhs, shape.rhs = of.rhs, shape.out = MPC_RT_FLOAT32;
    shape.transposeLhs = shape.sumsColumns = true;
    shape.roundsLhs = of.roundsLhs;
    lhs = drawn(of.roundsLhs ? mpc_rt_dtype_t{MPC_RT_FLOAT32} : of.lhs, of.m * rows, seed);
    rhs = drawn(of.rhs, of.n * rows, seed + 1000);
  }

  // As without the others.
  void multiply() {
    team.begin();
    product.run(shape, lhs.data(), rhs.data(), nullptr, nullptr,
                {out.data(), nullptr, nullptr, false, {}, sums.data()});
    team.end();
  }
  // Null where the product is none that parts sum.
  PartProduct *prepare(float *columnSums) {
    const mpc_rt_contract_t descriptor = {};
    ContractionCall call{descriptor, shape, lhs.data(), rhs.data(), nullptr, out.data(), {}, 1};
    call.extras.rhsSums = columnSums;
    return summed.prepare(call, product, /*packs=*/true);
  }

  ThreadTeam team{1};
  ContractionMemory memory;
  BlockedProduct product;
  PartProducts summed;
  Contraction shape;
  std::vector<uint8_t> lhs, rhs;
  std::vector<float> out, sums;

private:
  static std::vector<uint8_t> drawn(mpc_rt_dtype_t dtype, int64_t count, uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<uint8_t> elements(size_t(count) * dtypeSize(dtype));
    for (int64_t i = 0; i != count; ++i)
      storeElement(dtype, elements.data(), i,
                   std::ldexp(double(int32_t(random())), int(random() % 12) - 36));
    return elements;
  }
};

std::vector<const MicroKernel *> kernelsFor(const Product &of) {
  std::vector<const MicroKernel *> found;
  for (const MicroKernel *kernel : {&sse4Float32, &avx2Float32, &avx512Float32, &avx512Float32Ahead,
                                    &avx512Widened, &avx512BFloat16, &amxBFloat16}) {
    const bool isBFloat16 = kernel == &avx512BFloat16 || kernel == &amxBFloat16;
    const int isa = isaOf(*kernel);
    if (cpu().isa < isa || !kernel->packLhs[of.lhs][0] || !kernel->packRhs[of.rhs][0])
      continue;
    if (kernel == &amxBFloat16 && bfloat16MicroKernel(cpu().isa) != kernel)
      continue;
    if (!isBFloat16 || cpu().features & MPC_RT_FEATURE_AVX512_BF16)
      found.push_back(kernel);
  }
  return found;
}

// In small chunks, so that parts have several. Parts of `muted` (a bit each) have no rows.
void expectTheSameBytes(const Product &of, const MicroKernel &given, unsigned parts, unsigned muted,
                        unsigned workers) {
  MicroKernel kernel = given;
  kernel.steps = 32 / kernel.depth;
  kernel.blockRows = 3 * kernel.rows;
  kernel.blockColumns = 2 * kernel.columns;
  const int isa = isaOf(given);
  std::vector<std::unique_ptr<Part>> all;
  for (unsigned part = 0; part != parts; ++part)
    all.push_back(std::make_unique<Part>(of, 20 + part * 9, kernel, isa, part));

  std::vector<std::vector<float>> columnSums(parts, std::vector<float>(size_t(of.n)));
  std::vector<float> sum(size_t(of.m * of.n), -1);
  PartMeeting meeting(parts);
  meeting.setWorkers(workers);
  std::vector<std::thread> threads;
  for (unsigned index = 0; index != parts; ++index)
    threads.emplace_back([&, index] {
      Part &own = *all[index];
      own.team.begin();
      PartProduct *product = own.prepare(columnSums[index].data());
      ASSERT_TRUE(product);
      bool done = false;
      auto plan = [&](const PartMeeting::Brought &brought) -> PartMeeting::Work {
        std::vector<PartProduct *> products;
        std::vector<const PartProduct *> summed;
        for (const void *one : brought) {
          products.push_back(static_cast<PartProduct *>(const_cast<void *>(one)));
          EXPECT_TRUE(products.back()->goesWith(*products.front()));
          summed.push_back(muted >> summed.size() & 1 ? nullptr : products.back());
        }
        return {products.front()->blocks(), [=, &sum](unsigned part, size_t block) {
                  products[part]->sum(summed, block, sum.data());
                }};
      };
      EXPECT_EQ(meeting.meet(index, product, plan, done), MPC_RT_OK);
      EXPECT_TRUE(done);
      own.team.end();
    });
  for (std::thread &thread : threads)
    thread.join();

  std::vector<std::vector<RankArray>> arrays;
  for (unsigned part = 0; part != parts; ++part) {
    all[part]->multiply();
    EXPECT_EQ(std::memcmp(all[part]->sums.data(), columnSums[part].data(),
                          columnSums[part].size() * sizeof(float)),
              0);
    if (muted >> part & 1)
      std::fill(all[part]->out.begin(), all[part]->out.end(), 0.0f);
    arrays.push_back({{all[part]->out.data(), all[part]->out.size()}});
  }
  ThreadTeam &team = all[0]->team;
  team.begin();
  PartTree({MPC_RT_FLOAT32, MPC_RT_REDUCTION_SUM}, /*rounds=*/false, arrays, nullptr).work();
  team.end();
  const std::vector<float> &expected = all[0]->out;
  for (size_t i = 0; i != expected.size(); ++i)
    ASSERT_EQ(std::memcmp(&expected[i], &sum[i], sizeof(float)), 0)
        << given.name << ", " << parts << " parts, muted " << muted << ", element " << i << " of "
        << of.m << " x " << of.n << ": " << sum[i] << " instead of " << expected[i];
}

const Product products[] = {
    {130, 200, MPC_RT_FLOAT32, MPC_RT_FLOAT32, false},
    {97, 129, MPC_RT_BFLOAT16, MPC_RT_BFLOAT16, false},
    {401, 128, MPC_RT_BFLOAT16, MPC_RT_BFLOAT16, true},
    {5, 320, MPC_RT_BFLOAT16, MPC_RT_BFLOAT16, false},
    {64, 191, MPC_RT_FLOAT16, MPC_RT_FLOAT32, false},
};

TEST(PartProducts, AreThoseOfThePartsAddedByTheirTree) {
  for (const Product &of : products)
    for (const MicroKernel *kernel : kernelsFor(of))
      for (unsigned parts : {1u, 2u, 4u, 8u})
        for (unsigned workers : {1u, 2u, 3u})
          expectTheSameBytes(of, *kernel, parts, /*muted=*/0, workers);
}

TEST(PartProducts, AddZerosForPartsWithoutRows) {
  for (const Product &of : products)
    for (const MicroKernel *kernel : kernelsFor(of))
      for (unsigned muted : {1u, 2u, 0x80u, 0xFEu, 0xFFu})
        expectTheSameBytes(of, *kernel, 8, muted, 2);
}

// Large enough to be stored around the caches.
TEST(PartProducts, StoreLargeSums) {
  const Product of = {1100, 1024, MPC_RT_FLOAT32, MPC_RT_FLOAT32, false};
  for (const MicroKernel *kernel : kernelsFor(of))
    expectTheSameBytes(of, *kernel, 4, /*muted=*/0, 2);
}

// Additions between ranks leave one NaN, whichever operations made it.
TEST(PartProducts, HaveOneNaN) {
  const Product of = {70, 130, MPC_RT_FLOAT32, MPC_RT_FLOAT32, false};
  const MicroKernel &kernel = *kernelsFor(of).front();
  Part a(of, 30, kernel, MPC_RT_ISA_X86_64_V3, 1), b(of, 30, kernel, MPC_RT_ISA_X86_64_V3, 2);
  const float infinity = std::numeric_limits<float>::infinity();
  storeElement(MPC_RT_FLOAT32, a.lhs.data(), 3, infinity);
  storeElement(MPC_RT_FLOAT32, b.lhs.data(), 3, -infinity);
  storeElement(MPC_RT_FLOAT32, a.lhs.data(), 5, std::nan(""));
  std::vector<float> sum(size_t(of.m * of.n));
  PartProduct *first = a.prepare(nullptr);
  const std::vector<const PartProduct *> parts = {first, b.prepare(nullptr)};
  ASSERT_TRUE(first && parts[1]);
  for (size_t block = 0; block != first->blocks(); ++block)
    first->sum(parts, block, sum.data());
  const float expected = std::numeric_limits<float>::quiet_NaN();
  size_t count = 0;
  for (const float &number : sum)
    if (std::isnan(number)) {
      ++count;
      EXPECT_EQ(std::memcmp(&number, &expected, sizeof number), 0);
    }
  EXPECT_GE(count, size_t(of.n));
}

// Another product computes these in another order, or does more than to multiply.
TEST(PartProducts, LeaveOthersAlone) {
  const Product of = {70, 130, MPC_RT_FLOAT32, MPC_RT_FLOAT32, false};
  const MicroKernel &kernel = *kernelsFor(of).front();
  auto isTaken = [&](auto change) {
    Part part(of, 30, kernel, MPC_RT_ISA_X86_64_V3, 1);
    change(part.shape);
    return part.prepare(nullptr) != nullptr;
  };
  EXPECT_TRUE(isTaken([](Contraction &) {}));
  EXPECT_FALSE(isTaken([](Contraction &c) { c.transposeLhs = false; }));
  EXPECT_FALSE(isTaken([](Contraction &c) { c.accumulate = true; }));
  EXPECT_FALSE(isTaken([](Contraction &c) { c.hasBias = true; }));
  EXPECT_FALSE(isTaken([](Contraction &c) { c.relu = true; }));
  EXPECT_FALSE(isTaken([](Contraction &c) { c.out = MPC_RT_BFLOAT16; }));
  EXPECT_FALSE(isTaken([](Contraction &c) { c.k = 0; }));
}

} // namespace
} // namespace mpc::rt
