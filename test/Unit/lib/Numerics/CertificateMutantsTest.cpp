// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker takes every certificate of the analysis and none of a thousand mutants, also where
// the mutant's sha256 is computed anew, so that it alone has to see what is wrong.
#include "mpc/Support/Sha256.h"
#include "test/Unit/lib/Numerics/RangedOps.h"
#include "tools/mpc-check-certificate/Checker.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstdlib>
#include <cstring>
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

  static void flip(llvm::json::Object &certificate, llvm::StringRef key) {
    certificate[key] = !*certificate.getBoolean(key);
  }

  void changeInputs(llvm::json::Object &inputs) {
    for (auto &[name, range] : inputs) {
      llvm::json::Array &ends = *range.getAsArray();
      const size_t end = random() % 2;
      const double old = *ends[end].getAsNumber();
      ends[end] = old + (random() % 2 ? 0.5 : -0.5);
    }
    if (random() % 4 == 0)
      inputs.erase(inputs.begin());
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
      flip(certificate, random() % 2 ? "training" : "weights");
      break;
    case 5:
      certificate["function"] =
          certificate.getString("function") == llvm::StringRef("casts") ? "softmax" : "casts";
      break;
    case 6:
      if (llvm::json::Object &outputs = *certificate.getObject("outputs"); outputs.empty())
        certificate["certificate"] = "mpc-ranges-1";
      else
        outputs.begin()->second = int64_t(at);
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

namespace {

/// Mutants of functions take turns until there are a thousand, or MPC_MUTANTS; all have to be
/// refused.
void refuseAll(ModuleOp module, llvm::ArrayRef<func::FuncOp> functions,
               llvm::function_ref<RangeFacts(func::FuncOp)> factsOf, const WeightStore &weights) {
  const char *wanted = std::getenv("MPC_MUTANTS");
  const size_t count = wanted ? std::strtoul(wanted, nullptr, 10) : 1000;
  std::vector<llvm::json::Object> certificates;
  for (func::FuncOp function : functions)
    certificates.push_back(makeCertificate(RangeAnalysis(function, factsOf(function))));
  Mutator mutator;
  for (size_t i = 0; i < count; ++i) {
    const llvm::json::Object &certificate = certificates[i % certificates.size()];
    const llvm::json::Object mutant = mutator.mutate(certificate);
    EXPECT_FALSE(check::checkCertificate(mutant, module, weights).faults.empty())
        << print(certificate) << "\nbecame\n"
        << print(mutant);
  }
}

class Mutants : public testing::TestWithParam<const char *> {};

const char *const kWeighted = R"(
mpc.variable @dense : tensor<4x3xf32> role trainable
mpc.variable @words : tensor<9x4xf16> role trainable
func.func @forward(%x: tensor<?x4xf32> {mpc.input = "x"}, %i: tensor<?xi32> {mpc.input = "i", mpc.index_limit = 9 : i64},
                   %w: tensor<4x3xf32> {mpc.variable = @dense}, %t: tensor<9x4xf16> {mpc.variable = @words})
    -> (tensor<?x3xf16> {mpc.output = "a"}, tensor<?x4xf16> {mpc.output = "b"}) {
  %0 = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x4xf32>, tensor<4x3xf32>) -> tensor<?x3xf32>
  %1 = mpc.cast %0 : tensor<?x3xf32> to tensor<?x3xf16>
  %2 = mpc.gather %t, %i {axis = 0 : i64} : tensor<9x4xf16>, tensor<?xi32> -> tensor<?x4xf16>
  return %1, %2 : tensor<?x3xf16>, tensor<?x4xf16>
}
func.func @exp_0(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
})";

template <typename T>
void addWeight(WeightStore &weights, const char *name, mpc_rt_dtype_t dtype,
               std::vector<int64_t> dims, const std::vector<T> &values) {
  Weight weight;
  weight.dtype = dtype;
  weight.dims = std::move(dims);
  weight.bytes.resize(values.size() * sizeof(T));
  std::memcpy(weight.bytes.data(), values.data(), weight.bytes.size());
  weights.add(name, std::move(weight));
}

} // namespace

/// Every op that can be bounded, in a function of its own.
TEST_P(Mutants, AreRefused) {
  RangedOps ops(GetParam());
  ASSERT_TRUE(ops.module);
  SmallVector<func::FuncOp> functions(ops.module->getOps<func::FuncOp>());
  refuseAll(*ops.module, functions, RangedOps::factsOf, {});
}

/// Models of several ops, of which a change may be hidden by others.
TEST_P(Mutants, OfModelsAreRefused) {
  RangedOps ops(GetParam());
  ASSERT_TRUE(ops.module);
  SmallVector<func::FuncOp> functions;
  for (const char *name : {"network", "training", "casts", "batch_norm", "scan", "layer_norm",
                           "rms_norm", "beside_extremes", "blend", "cancels", "blend_scan", "swish",
                           "batch_norm_training", "rows", "rows_cancel"})
    functions.push_back(ops.module->lookupSymbol<func::FuncOp>(name));
  refuseAll(*ops.module, functions, RangedOps::factsOf, {});
}

INSTANTIATE_TEST_SUITE_P(Types, Mutants, testing::Values("f16", "bf16", "f32", "f64"));

/// Weights, ids and outputs with names.
TEST(Certificates, OfWeightsAreRefusedWhereMutated) {
  RangedOps registered("f32"); // has the dialects
  auto module = parseSourceString<ModuleOp>(kWeighted, &registered.context);
  ASSERT_TRUE(module);
  WeightStore weights;
  addWeight<float>(weights, "dense", MPC_RT_FLOAT32, {4, 3},
                   {1, -2, .5F, .25F, 3, -1, .1F, .2F, .3F, -.7F, 2, 1});
  addWeight<uint16_t>(weights, "words", MPC_RT_FLOAT16, {9, 4}, std::vector<uint16_t>(36, 0x3c01));
  auto factsOf = [&](func::FuncOp) {
    RangeFacts facts;
    // The limit of ids bounds them already.
    facts.inputs = {{"x", {-2, 3}}, {"i", {0, 100}}};
    facts.weights = &weights;
    facts.training = true; // decides nothing here
    return facts;
  };
  auto forward = module->lookupSymbol<func::FuncOp>("forward");
  const llvm::json::Object certificate = makeCertificate(RangeAnalysis(forward, factsOf(forward)));
  const check::Verdict verdict = check::checkCertificate(certificate, *module, weights);
  EXPECT_TRUE(verdict.faults.empty()) << (verdict.faults.empty() ? "" : verdict.faults.front());
  EXPECT_EQ(certificate.getBoolean("training"), false);
  EXPECT_EQ(certificate.getObject("inputs")->size(), 1u);
  refuseAll(*module, forward, factsOf, weights);
}
