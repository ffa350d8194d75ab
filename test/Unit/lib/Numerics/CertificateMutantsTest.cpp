// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker takes every certificate of the analysis and none of a thousand mutants, also where
// the mutant's sha256 is computed anew, so that it alone has to see what is wrong.
#include "mpc/Support/Sha256.h"
#include "test/Unit/lib/Numerics/RangedOps.h"
#include "tools/mpc-check-certificate/Checker.h"
#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace mpc;

namespace {

std::string print(const llvm::json::Object &object) {
  return llvm::formatv("{0}", llvm::json::Value(llvm::json::Object(object)));
}

void sign(llvm::json::Object &certificate) {
  certificate.erase("sha256");
  certificate["sha256"] = Sha256::of(print(certificate));
}

/// Changes one thing at random.
class Mutator {
public:
  llvm::json::Object mutate(const llvm::json::Object &certificate) {
    while (true) {
      llvm::json::Object mutant(certificate);
      change(mutant);
      if (print(mutant) == print(certificate))
        continue;
      if (random() % 4) // else the old sha256 gives it away
        sign(mutant);
      return mutant;
    }
  }

private:
  /// Another number: larger or smaller by a millionth or more, of the other sign, or none.
  llvm::json::Value otherNumber(const llvm::json::Value &old) {
    const std::optional<double> number = old.getAsNumber();
    if (!number)
      return 1000.0;
    const double part = std::exp(std::uniform_real_distribution<double>(-13, 0)(random));
    switch (random() % 5) {
    case 0:
      return nullptr;
    case 1:
      return *number == 0 ? part : -*number;
    case 2:
      return *number == 0 ? -part : *number * (1 - part);
    default:
      return *number == 0 ? part : *number * (1 + part);
    }
  }

  void changeRow(llvm::json::Object &row) {
    static const char *const numbers[] = {"low", "high", "error"};
    static const char *const texts[] = {"op", "layer", "dtype", "float16"};
    switch (random() % 8) {
    case 0:
      row["nan"] = !*row.getBoolean("nan");
      break;
    case 1: {
      const char *key = texts[random() % 4];
      row[key] = row.getString("float16") == llvm::StringRef("cannot overflow") && random() % 2
                     ? "cannot be shown"
                     : "cannot overflow";
      break;
    }
    case 2:
      row["note"] = "trusted";
      break;
    case 3:
      row.erase(numbers[random() % 3]);
      break;
    default: {
      const char *key = numbers[random() % 3];
      row[key] = otherNumber(*row.get(key));
    }
    }
  }

  void changeInputs(llvm::json::Object &inputs) {
    for (auto &[name, range] : inputs) {
      llvm::json::Array &ends = *range.getAsArray();
      const size_t end = random() % 2;
      const double old = *ends[end].getAsNumber();
      ends[end] = old + (random() % 2 ? 0.5 : -0.5);
    }
  }

  void change(llvm::json::Object &certificate) {
    llvm::json::Array &rows = *certificate.getArray("values");
    const size_t at = random() % rows.size();
    switch (random() % 16) {
    case 0:
      rows.erase(rows.begin() + long(at));
      break;
    case 1:
      rows.insert(rows.begin() + long(at), rows[at]);
      break;
    case 2:
      std::swap(rows[at], rows[random() % rows.size()]);
      break;
    case 3:
      changeInputs(*certificate.getObject("inputs"));
      break;
    case 4:
      certificate["training"] = false;
      break;
    case 5:
      certificate["function"] = "scan";
      break;
    case 6:
      certificate["certificate"] = "mpc-ranges-2";
      break;
    default:
      changeRow(*rows[at].getAsObject());
    }
  }

  std::mt19937_64 random{11};
};

} // namespace

TEST(Certificates, OfTheAnalysisAreValid) {
  for (const char *type : {"f16", "bf16", "f32", "f64"}) {
    RangedOps ops(type);
    ASSERT_TRUE(ops.module);
    for (auto function : ops.module->getOps<func::FuncOp>()) {
      const RangeAnalysis analysis(function, RangedOps::factsOf(function));
      const check::Verdict verdict =
          check::checkCertificate(makeCertificate(analysis), *ops.module, {});
      EXPECT_TRUE(verdict.faults.empty()) << type << " " << function.getSymName().str() << ": "
                                          << (verdict.faults.empty() ? "" : verdict.faults.front());
    }
  }
}

TEST(Certificates, MutantsAreRefused) {
  RangedOps ops("f16");
  ASSERT_TRUE(ops.module);
  Mutator mutator;
  size_t refused = 0, mutants = 0;
  // Each of the things that a mutation changes is one for these.
  for (const char *name : {"network", "training", "casts", "batch_norm"}) {
    auto function = ops.module->lookupSymbol<func::FuncOp>(name);
    const RangeAnalysis analysis(function, RangedOps::factsOf(function));
    const llvm::json::Object certificate = makeCertificate(analysis);
    for (int i = 0; i < 250; ++i, ++mutants) {
      const llvm::json::Object mutant = mutator.mutate(certificate);
      const bool isRefused = !check::checkCertificate(mutant, *ops.module, {}).faults.empty();
      refused += isRefused;
      // Without ops of training that flag says nothing.
      const bool isSame = *mutant.getBoolean("training") != *certificate.getBoolean("training") &&
                          llvm::StringRef(name) != "training";
      EXPECT_TRUE(isRefused || isSame) << name << ": " << print(mutant);
      refused += !isRefused && isSame;
    }
  }
  EXPECT_EQ(refused, mutants);
  EXPECT_EQ(mutants, 1000u);
}
