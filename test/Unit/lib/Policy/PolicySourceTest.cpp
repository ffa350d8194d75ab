// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The value of --policy: names, files, the short form, and what is wrong with them.
#include "mpc/Policy/PolicySource.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

using namespace mpc;

/// "<name> by <rule>", or the error.
static std::string resolve(llvm::Expected<PolicySource> source, llvm::StringRef path) {
  if (!source)
    return llvm::toString(source.takeError());
  llvm::Expected<PolicySource::Resolved> resolved = source->resolve(path);
  if (!resolved)
    return llvm::toString(resolved.takeError());
  return resolved->policy.getName().str() + " by " + resolved->rule;
}

TEST(PolicySource, NameHoldsForEveryLayer) {
  EXPECT_EQ(resolve(loadPolicyOption("mixed_bfloat16"), "a/b"),
            "mixed_bfloat16 by policy \"mixed_bfloat16\"");
  std::string wrong = resolve(loadPolicyOption("mixed_float32"), "a");
  EXPECT_NE(wrong.find("Cannot convert 'mixed_float32'"), std::string::npos);
  EXPECT_NE(wrong.find("no file 'mixed_float32'"), std::string::npos);
}

TEST(PolicySource, ShortForm) {
  llvm::StringRef text = R"({"default_policy": "mixed_bfloat16",
                             "policy_map": {"dense_1": "float32", "encoder/.*": "mixed_float16"}})";
  EXPECT_EQ(resolve(parsePolicyText(text), "dense_1"), "float32 by policy map key \"dense_1\"");
  EXPECT_EQ(resolve(parsePolicyText(text), "encoder/x"),
            "mixed_float16 by policy map key \"encoder/.*\"");
  EXPECT_EQ(resolve(parsePolicyText(text), "head"), "mixed_bfloat16 by policy map default");
}

TEST(PolicySource, KeysKeepTheOrderOfTheFile) {
  llvm::StringRef text = R"({"class_name": "DTypePolicyMap", "module": "keras.dtype_policies",
    "config": {"default_policy": null, "policy_map": {".*z": "float32", "a.*": "float16", "\u0061z.": "float64"}}})";
  EXPECT_NE(resolve(parsePolicyText(text), "az").find("['.*z', 'a.*']"), std::string::npos);
  EXPECT_NE(resolve(parsePolicyText(text), "azz").find("['.*z', 'a.*', 'az.']"), std::string::npos);
}

TEST(PolicySource, AllMistakesAreToldTogether) {
  std::string errors = resolve(parsePolicyText(R"({"default_policy": "float32",
                          "policy_map": {"a": "mixed_float32", "(": "float32", "b": "float16", "c": 3}})"),
                               "b");
  EXPECT_NE(errors.find("policy_map: \"a\": Cannot convert 'mixed_float32'"), std::string::npos);
  EXPECT_NE(errors.find("policy_map: \"(\": missing ), unterminated"), std::string::npos);
  EXPECT_NE(errors.find("policy_map: \"c\": Cannot interpret"), std::string::npos);
}

TEST(PolicySource, BadText) {
  auto starts = [](llvm::StringRef json, llvm::StringRef text) {
    std::string error = resolve(parsePolicyText(json), "a");
    EXPECT_TRUE(llvm::StringRef(error).starts_with(text)) << error;
  };
  starts("{", "not JSON: ");
  starts(std::string(200, '['), "not JSON: is nested more than 100 deep");
  starts(R"({"default": "float32", "policy_map": {}})", "unknown key \"default\"");
  starts(R"({"policy_map": []})", "\"policy_map\" must be an object");
  starts(R"({"default_policy": "x"})", "default_policy: Cannot convert 'x'");
  starts("[]", "Cannot interpret");
}

TEST(PolicySource, FileErrorsNameTheFile) {
  llvm::SmallString<128> path;
  int descriptor = -1;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("policy", "json", descriptor, path));
  {
    llvm::raw_fd_ostream os(descriptor, /*shouldClose=*/true);
    os << R"({"default_policy": "mixed_float16", "policy_map": {"a": "int8", "b": "nope"}})";
  }
  std::string errors = resolve(loadPolicyOption(path), "a");
  llvm::sys::fs::remove(path);
  EXPECT_EQ(llvm::StringRef(errors).count(path.str()), 2u) << errors;
  EXPECT_NE(
      resolve(loadPolicyFile("/nonexistent/policy.json"), "a").find("/nonexistent/policy.json: "),
      std::string::npos);
}
