// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every policy name, constructor call and comparison of names.json.
#include "test/Unit/lib/Policy/PolicyFixture.h"

using namespace mpc;
using namespace mpc::test;

TEST(Names, GetAgreesWithKeras) {
  llvm::json::Object fixture = readFixture("names.json");
  int ran = 0;
  for (const llvm::json::Value &value : *fixture.getArray("cases")) {
    const llvm::json::Object &entry = *value.getAsObject();
    std::string name = entry.getString("name")->str();
    expectResult(*entry.getObject("get"), parsePolicyName(name), "get " + name);
    expectResult(*entry.getObject("get"), getPolicy(name), "get " + name);
    // DTypePolicy(name) is recorded where it differs.
    const llvm::json::Object *constructor = entry.getObject("constructor");
    expectResult(constructor ? *constructor : *entry.getObject("get"), DTypePolicy::plain(name),
                 "DTypePolicy " + name);
    ++ran;
  }
  EXPECT_EQ(ran, 292);
}

TEST(Names, ObjectsAgreeWithKeras) {
  llvm::json::Object fixture = readFixture("names.json");
  int ran = 0, excepted = 0;
  for (const llvm::json::Value &value : *fixture.getArray("objects")) {
    const llvm::json::Object &entry = *value.getAsObject();
    std::string words = entry.getString("argument")->str();
    llvm::json::Value argument = nullptr;
    if (words == "int 32")
      argument = 32;
    else if (words == "bool True")
      argument = true;
    else if (words == "list []")
      argument = llvm::json::Array();
    else if (words != "None") {
      // Python types and NumPy or TensorFlow dtypes; and llvm::json does not tell 1.0 from 1.
      ++excepted;
      continue;
    }
    expectResult(*entry.getObject("get"), getPolicy(argument), "get " + words);
    llvm::json::Object call{{"class_name", "DTypePolicy"},
                            {"config", llvm::json::Object{{"name", argument}}}};
    expectResult(*entry.getObject("constructor"), getPolicy(std::move(call)),
                 "DTypePolicy " + words);
    ++ran;
  }
  printf("objects: %d compared, %d are Python objects\n", ran, excepted);
  EXPECT_EQ(ran, 4);
  EXPECT_EQ(excepted, 14);
}

TEST(Names, ClassesAgreeWithKeras) {
  llvm::json::Object fixture = readFixture("names.json");
  int ran = 0, excepted = 0;
  for (const llvm::json::Value &value : *fixture.getArray("direct")) {
    const llvm::json::Object &entry = *value.getAsObject();
    DTypePolicy global = llvm::cantFail(parsePolicyName(*entry.getString("global_policy")));
    const llvm::json::Object &result = *entry.getObject("result");
    if (result.getString("error_message").value_or("").ends_with("amax_history_length=1024.0")) {
      ++excepted; // llvm::json does not tell 1024.0 from 1024.
      continue;
    }
    expectResult(result, getPolicy(toIdentifier(value), global), show(value));
    ++ran;
  }
  printf("direct: %d compared, %d excepted\n", ran, excepted);
  EXPECT_EQ(ran, 62);
  EXPECT_EQ(excepted, 1);
}

TEST(Names, EqualityAgreesWithKeras) {
  llvm::json::Object fixture = readFixture("names.json");
  const llvm::json::Object &equality = *fixture.getObject("equality");
  std::vector<DTypePolicy> policies;
  for (const llvm::json::Value &value : *equality.getArray("policies"))
    policies.push_back(llvm::cantFail(getPolicy(toIdentifier(value))));
  const llvm::json::Array &pairs = *equality.getArray("equal_pairs");
  EXPECT_EQ(policies.size(), 15u);
  for (size_t i = 0; i < policies.size(); ++i)
    for (size_t j = 0; j < policies.size(); ++j) {
      llvm::json::Value pair = llvm::json::Array{int64_t(i), int64_t(j)};
      EXPECT_EQ(llvm::is_contained(pairs, pair), policies[i] == policies[j]) << i << " " << j;
    }
}

TEST(Names, NumbersAreReadLikePythons) {
  auto text = [](llvm::StringRef spelling) {
    std::optional<PythonInteger> number = parsePythonInteger(spelling);
    return number ? number->text : "error";
  };
  EXPECT_EQ(text("16"), "16");
  EXPECT_EQ(text(" +0_1_6\n"), "16");
  EXPECT_EQ(text("-0"), "0");
  EXPECT_EQ(text("\xd9\xa3\xd9\xa2"), "32"); // Arabic-Indic
  EXPECT_EQ(text("\xf0\x9d\x9f\x98"), "0");  // mathematical double-struck
  EXPECT_EQ(text("-99999999999999999999"), "-99999999999999999999");
  EXPECT_EQ(parsePythonInteger("99999999999999999999")->value, INT64_MAX);
  EXPECT_EQ(parsePythonInteger("-99999999999999999999")->value, INT64_MIN);
  EXPECT_EQ(text(std::string(4300, '1')), std::string(4300, '1'));
  for (std::string wrong : {"", " ", "+", "- 1", "1__0", "_1", "1_", "0x10", "1.0", "1e3", "\xff",
                            "\xc2\xb2" /* superscript two */})
    EXPECT_EQ(text(wrong), "error") << wrong;
  EXPECT_EQ(text(std::string(4301, '1')), "error");
}
