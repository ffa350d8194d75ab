// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-send-early on random entries: values come before their readers, results stay, nothing moves
// twice, and no op that waits for a reduction stands in front of another one without need.
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mpc/Interpreter/Interpreter.h"
#include "mpc/Transforms/Passes.h"
#include "llvm/ADT/DenseSet.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace mpc;

namespace {

constexpr int kEntries = 1000;

/// The text of an entry: chains and trees that reductions share or not, ops with two results or a
/// body, and ops that need constants or arguments alone.
class RandomEntry {
public:
  explicit RandomEntry(unsigned seed) : random(seed) {
    for (const char *argument : {"%a", "%b", "%c"})
      values.push_back({argument, /*isScalar=*/false, /*uses=*/1});
    arguments = values.size();
    const unsigned count = 4 + below(60);
    for (unsigned i = 0; i != count; ++i)
      addOp();
    finish();
  }

  const std::string &text() const { return written; }

private:
  struct Named {
    std::string name;
    bool isScalar;
    unsigned uses;
    std::string type() const { return isScalar ? "tensor<f32>" : "tensor<2xf32>"; }
  };

  unsigned below(unsigned count) { return unsigned(random() % count); }
  std::string fresh() { return "%v" + std::to_string(named++); }

  /// Rather one that nothing reads yet, which makes trees; sometimes one that needs no other op.
  Named &pick() {
    if (below(6) == 0)
      return used(values[below(arguments)]);
    for (unsigned tries = 0; tries != 4; ++tries)
      if (Named &value = values[below(values.size())]; value.uses == 0)
        return used(value);
    return used(values[below(values.size())]);
  }
  Named &pickVector() {
    Named &value = pick();
    return value.isScalar ? used(values[below(arguments)]) : value;
  }
  static Named &used(Named &value) {
    ++value.uses;
    return value;
  }
  void addValue(const std::string &name, bool isScalar) { values.push_back({name, isScalar, 0}); }

  void addOp() {
    const std::string result = fresh();
    switch (below(10)) {
    case 0:
      written +=
          result + " = mpc.constant dense<" + std::to_string(below(5)) + ".0> : tensor<2xf32>\n";
      return addValue(result, false);
    case 1:
      return addMoments();
    case 2:
      return addScan();
    case 3:
    case 4: {
      const Named source = pick();
      written += result + " = mpc.all_reduce sum " + source.name + " : " + source.type() + "\n";
      return addValue(result, source.isScalar);
    }
    case 5:
    case 6: {
      const Named source = pick();
      written += result + " = mpc." + (below(2) ? "negate " : "abs ") + source.name + " : " +
                 source.type() + "\n";
      return addValue(result, source.isScalar);
    }
    default: {
      static const char *const names[] = {"add", "subtract", "maximum", "minimum"};
      const Named a = pick(), b = pick();
      written += result + " = mpc." + names[below(4)] + " " + a.name + ", " + b.name + " : " +
                 a.type() + ", " + b.type() + "\n";
      return addValue(result, a.isScalar && b.isScalar);
    }
    }
  }

  void addMoments() {
    const std::string mean = fresh(), variance = fresh();
    written += mean + ", " + variance + " = mpc.moments " + pickVector().name +
               " {axes = array<i64: 0>} : tensor<2xf32> -> tensor<f32>, tensor<f32>\n";
    addValue(mean, true);
    addValue(variance, true);
  }

  void addScan() {
    const std::string last = fresh(), stack = fresh(), sums = fresh();
    const std::string init = pickVector().name, capture = pickVector().name;
    written += last + ", " + stack + " = mpc.scan inits(" + init + ") captures(" + capture +
               R"() {steps = 2 : i64}
    : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2x2xf32>) {
^bb0(%carried: tensor<2xf32>, %captured: tensor<2xf32>):
  %next = mpc.add %carried, %captured : tensor<2xf32>, tensor<2xf32>
  mpc.yield %next, %next : tensor<2xf32>, tensor<2xf32>
}
)";
    written += sums + " = mpc.reduce sum " + stack +
               " {axes = array<i64: 1>} : tensor<2x2xf32> -> tensor<2xf32>\n";
    addValue(last, false);
    addValue(sums, false);
  }

  /// Most of what nothing reads is returned.
  void finish() {
    std::string names, types;
    for (const Named &value : values) {
      if (value.uses != 0 || below(8) == 0)
        continue;
      names += (names.empty() ? "" : ", ") + value.name;
      types += (types.empty() ? "" : ", ") + value.type();
    }
    written =
        "func.func @train_step(%a: tensor<2xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>) -> (" +
        types + ")\n    attributes {mpc.entry = #mpc.entry_role<train_step>} {\n" + written +
        "return " + names + (names.empty() ? "" : " : " + types) + "\n}\n";
  }

  std::mt19937 random;
  std::vector<Named> values;
  unsigned arguments = 0, named = 0;
  std::string written;
};

std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  return text;
}

std::vector<std::vector<double>> interpreted(ModuleOp module) {
  auto entry = module.lookupSymbol<func::FuncOp>("train_step");
  auto type = cast<RankedTensorType>(entry.getArgumentTypes().front());
  const ReferenceTensor arguments[] = {referenceTensor(type, {1, -2}),
                                       referenceTensor(type, {3, 5}),
                                       referenceTensor(type, {-7, 11})};
  SmallVector<ReferenceTensor> results;
  EXPECT_TRUE(succeeded(interpret(entry, arguments, results)));
  std::vector<std::vector<double>> numbers;
  for (const ReferenceTensor &result : results)
    numbers.emplace_back(result.floats.begin(), result.floats.end());
  return numbers;
}

/// Runs the pass; the manager verifies what comes out.
bool sendEarly(ModuleOp module) {
  PassManager passes(module.getContext());
  passes.addPass(createSendEarly());
  return succeeded(passes.run(module));
}

/// An op in front of the last reduction that needs one, and that none needs; null where none is.
Operation *findInTheWay(ModuleOp module) {
  Block &body = module.lookupSymbol<func::FuncOp>("train_step").getBody().front();
  llvm::DenseSet<Operation *> leads, needs;
  for (Operation &op : llvm::reverse(body))
    if (isa<AllReduceOp>(op) || leads.contains(&op))
      for (Value value : op.getOperands())
        if (Operation *source = value.getDefiningOp())
          leads.insert(source);
  Operation *waits = nullptr;
  for (Operation &op : body) {
    for (Value value : op.getOperands())
      if (Operation *source = value.getDefiningOp())
        if (isa<AllReduceOp>(source) || needs.contains(source))
          needs.insert(&op);
    if (isa<AllReduceOp>(op) && waits)
      return waits;
    if (needs.contains(&op) && !leads.contains(&op) && !isa<AllReduceOp>(op))
      waits = &op;
  }
  return nullptr;
}

TEST(SendEarly, KeepsResultsOfRandomEntries) {
  MLIRContext context;
  context.loadDialect<MpcDialect, func::FuncDialect>();
  int moved = 0;
  for (unsigned seed = 0; seed != kEntries; ++seed) {
    const std::string text = RandomEntry(seed).text();
    SCOPED_TRACE("entry " + std::to_string(seed) + ":\n" + text);
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    const std::string before = print(*module);
    const auto expected = interpreted(*module);
    ASSERT_TRUE(sendEarly(*module));
    const std::string once = print(*module);
    moved += once != before;
    EXPECT_EQ(interpreted(*module), expected) << once;
    EXPECT_EQ(findInTheWay(*module), nullptr) << once;
    ASSERT_TRUE(sendEarly(*module));
    ASSERT_EQ(print(*module), once);
    if (HasFailure())
      return;
  }
  EXPECT_GT(moved, kEntries / 2);
}

} // namespace
