// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tries to break the bounds of each op: arguments from corners and from inside of their ranges,
// through the interpreter. MPC_SEARCH_INPUTS is how many numbers each op gets in each type.
#include "mpc/Interpreter/Interpreter.h"
#include "test/Unit/lib/Numerics/RangedOps.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace mpc;

namespace {

class Search {
public:
  explicit Search(func::FuncOp function, func::FuncOp exact) : function(function), exact(exact) {
    const RangeFacts facts = RangedOps::factsOf(function);
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      ranges.push_back(facts.inputs.at("argument" + std::to_string(i)));
    analysis.emplace(function, facts);
  }

  /// Tries so many numbers, and stops at the first result outside.
  void run(int64_t inputs) {
    for (int64_t tried = 0, trial = 0; tried < inputs && violation.empty(); ++trial) {
      SmallVector<ReferenceTensor> arguments, exactArguments, results, exactResults;
      for (auto [i, range] : llvm::enumerate(ranges))
        arguments.push_back(draw(tensorTypeOf(function.getArgument(unsigned(i))), range, trial));
      for (auto [i, argument] : llvm::enumerate(arguments)) {
        exactArguments.push_back(argument);
        exactArguments.back().elementType = elementTypeOf(exact.getArgument(unsigned(i)));
      }
      tried += arguments.front().size();
      ASSERT_TRUE(succeeded(interpret(function, arguments, results)));
      ASSERT_TRUE(succeeded(interpret(exact, exactArguments, exactResults)));
      Operation *end = function.getBody().front().getTerminator();
      for (auto [i, value] : llvm::enumerate(end->getOperands()))
        compare(value, results[i], exactResults[i]);
    }
  }

  /// Claims a part of each bound: of what is proved, or of what a search should find wrong.
  void claimPart(double part) { claimed = part; }
  /// The number that was found outside, in words; empty: none.
  const std::string &getViolation() const { return violation; }

private:
  ReferenceTensor draw(RankedTensorType type, std::pair<double, double> range, int64_t trial) {
    const auto [low, high] = range;
    ReferenceTensor tensor;
    startReference(tensor, type.getElementType(), type.getShape());
    std::uniform_real_distribution<double> inside(low, high);
    for (int64_t i = 0, count = tensor.size(); i < count; ++i) {
      // The first trials have corners alone.
      const unsigned kind = unsigned(random() % (trial < 64 ? 2 : 8));
      double number = kind == 0   ? low
                      : kind == 1 ? high
                      : kind == 2 ? (low + high) / 2
                      : kind == 3 ? std::nextafter(float(low), float(high))
                      : kind == 4 ? std::nextafter(float(high), float(low))
                                  : inside(random);
      if (kind == 2 && low <= 0 && high >= 0)
        number = 0;
      if (!tensor.isFloating())
        number = std::floor(number);
      tensor.set(i, std::min(std::max(number, low), high));
    }
    return tensor;
  }

  void compare(Value value, const ReferenceTensor &result, const ReferenceTensor &exactResult) {
    const Bound &bound = analysis->at(value);
    const double middle = (bound.low + bound.high) / 2,
                 reach = (bound.high - bound.low) / 2 * claimed;
    const bool isWhole = claimed == 1;
    const double low = isWhole ? bound.low : middle - reach,
                 high = isWhole ? bound.high : middle + reach, error = bound.error * claimed;
    for (int64_t i = 0, count = result.size(); i < count; ++i) {
      const double element = result.at(i), wanted = exactResult.at(i);
      const bool isHeld = std::isnan(element) ? bound.mayBeNan : low <= element && element <= high;
      if (!isHeld)
        tell() << element << " is outside [" << low << ", " << high << "]";
      // Arithmetic in double is off by a little itself.
      const bool isFinite = std::isfinite(element) && std::isfinite(wanted);
      if (isFinite && std::abs(element - wanted) > error + std::abs(wanted) * 0x1p-40)
        tell() << element << " instead of " << wanted << " is off by more than " << error;
      if (!isFinite && !std::isnan(wanted) && std::isfinite(error))
        tell() << element << " instead of " << wanted << " has a bounded error";
    }
  }

  llvm::raw_ostream &tell() {
    violation = function.getSymName().str() + ": ";
    stream.emplace(violation);
    return *stream;
  }

  func::FuncOp function, exact;
  std::vector<std::pair<double, double>> ranges;
  std::optional<RangeAnalysis> analysis;
  double claimed = 1;
  std::string violation;
  std::optional<llvm::raw_string_ostream> stream;
  std::mt19937_64 random{7};
};

class SearchRanges : public ::testing::TestWithParam<const char *> {};

} // namespace

TEST_P(SearchRanges, FindsNothingOutside) {
  const char *asked = std::getenv("MPC_SEARCH_INPUTS");
  const int64_t inputs = asked ? std::atoll(asked) : 5000;
  RangedOps ops(GetParam()), exact("f64");
  ASSERT_TRUE(ops.module && exact.module);
  size_t functions = 0;
  for (auto function : ops.module->getOps<func::FuncOp>()) {
    auto other = exact.module->lookupSymbol<func::FuncOp>(function.getSymName());
    Search search(function, other);
    search.run(inputs);
    EXPECT_EQ(search.getViolation(), "");
    ++functions;
  }
  EXPECT_GE(functions, 90u);
}

/// The search breaks most bounds that are too narrow by a quarter: it can find what is wrong.
/// Those that it cannot break are wide for a reason (no bound at all, sums of errors).
TEST_P(SearchRanges, FindsBoundsThatAreTooNarrow) {
  RangedOps ops(GetParam()), exact("f64");
  size_t functions = 0, found = 0;
  for (auto function : ops.module->getOps<func::FuncOp>()) {
    Search search(function, exact.module->lookupSymbol<func::FuncOp>(function.getSymName()));
    search.claimPart(0.75);
    search.run(5000);
    ++functions;
    found += !search.getViolation().empty();
  }
  EXPECT_GE(found, functions * 3 / 4);
}

INSTANTIATE_TEST_SUITE_P(Types, SearchRanges, ::testing::Values("f16", "bf16", "f32", "f64"));
