// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Divisions by constants, against the host's quotients: constants fold while they are lowered.
#include "lib/Codegen/CPU/ConstantDivisions.h"
#include "llvm/ADT/bit.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace mpc;

namespace {
class ConstantDivisions : public testing::Test {
protected:
  llvm::LLVMContext context;

  /// The value in the place of `dividends / divisor` when that is lowered.
  llvm::Value *lower(llvm::Constant *dividends, llvm::Constant *divisor) {
    llvm::Type *type = dividends->getType();
    auto *function = llvm::Function::Create(llvm::FunctionType::get(type, false),
                                            llvm::Function::ExternalLinkage, "f", module);
    auto *block = llvm::BasicBlock::Create(context, "", function);
    auto *division =
        llvm::BinaryOperator::Create(llvm::Instruction::FDiv, dividends, divisor, "", block);
    auto *end = llvm::ReturnInst::Create(context, division, block);
    lowerConstantDivisions(*function);
    return end->getReturnValue();
  }
  llvm::Constant *number(float value) {
    return llvm::ConstantFP::get(llvm::Type::getFloatTy(context), value);
  }
  void compare(const std::vector<float> &dividends, float divisor) {
    const auto count = llvm::ElementCount::getFixed(unsigned(dividends.size()));
    auto *quotients = llvm::dyn_cast<llvm::Constant>(
        lower(llvm::ConstantDataVector::get(context, dividends),
              llvm::ConstantVector::getSplat(count, number(divisor))));
    ASSERT_TRUE(quotients) << "stays a division by " << divisor;
    for (unsigned i = 0; i < dividends.size(); ++i) {
      const float got = llvm::cast<llvm::ConstantFP>(quotients->getAggregateElement(i))
                            ->getValueAPF()
                            .convertToFloat();
      const float expected = dividends[i] / divisor;
      ASSERT_EQ(llvm::bit_cast<uint32_t>(got), llvm::bit_cast<uint32_t>(expected))
          << dividends[i] << " / " << divisor;
    }
  }

private:
  llvm::Module module{"test", context};
};
} // namespace

TEST_F(ConstantDivisions, HaveTheBitsOfQuotients) {
  std::mt19937 draw(5);
  auto significand = [&] { return (draw() & 0x7fffffu) | 0x800000u; };
  for (int i = 0; i < 200; ++i) {
    const uint32_t d = i == 0 ? 0xffffffu : i == 1 ? 0x800001u : significand();
    const float divisor = std::ldexp(float(d), int(draw() % 60) - 50);
    std::vector<float> dividends = {0.0f, -0.0f, std::numeric_limits<float>::infinity()};
    for (int j = 0; j < 500; ++j) {
      dividends.push_back(std::ldexp(float(significand()), int(draw() % 40) - 40));
      // A dividend whose quotient is next to the middle between two numbers.
      const uint64_t middle = 2 * uint64_t(significand()) + 1;
      const double product = double(middle) * d;
      dividends.push_back(-std::ldexp(float(product), -30));
    }
    compare(dividends, divisor);
  }
}

TEST_F(ConstantDivisions, StayWhereThereIsNoReciprocal) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (float divisor : {0.0f, infinity, 4.0f, 0x1p-127f, std::nanf("")})
    EXPECT_TRUE(llvm::isa<llvm::BinaryOperator>(lower(number(3.0f), number(divisor)))) << divisor;
  llvm::Type *wide = llvm::Type::getDoubleTy(context);
  EXPECT_TRUE(llvm::isa<llvm::BinaryOperator>(
      lower(llvm::ConstantFP::get(wide, 3.0), llvm::ConstantFP::get(wide, 7.0))));
}
