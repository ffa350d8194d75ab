// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every serialised policy of configs.json, written and read.
#include "test/Unit/lib/Policy/PolicyFixture.h"
#include "llvm/ADT/STLExtras.h"

using namespace mpc;
using namespace mpc::test;

static DTypePolicy globalOf(const llvm::json::Object &entry, llvm::StringRef member) {
  return llvm::cantFail(parsePolicyName(*entry.getString(member)));
}

/// Keras returns the bare class name where it does not know the class, and breaks later. mpc takes
/// the names of TensorFlow 2 as DTypePolicy and refuses the others.
static bool isBareClassName(const llvm::json::Object &expected) {
  return expected.getString("class") == llvm::StringRef("str");
}

static void expectBareClassName(const llvm::json::Value &input,
                                llvm::Expected<PolicyOrMap> actual) {
  llvm::StringRef name = *input.getAsObject()->getString("class_name");
  bool accepted = bool(actual);
  EXPECT_EQ(accepted, name == "Policy" || name == "PolicyV1") << show(input);
  if (!accepted)
    llvm::consumeError(actual.takeError());
  else
    EXPECT_EQ(std::get<DTypePolicy>(*actual), llvm::cantFail(DTypePolicy::plain("mixed_float16")))
        << show(input);
}

TEST(Configs, PoliciesAreWrittenAndReadLikeKeras) {
  llvm::json::Object fixture = readFixture("configs.json");
  int ran = 0;
  for (const llvm::json::Value &value : *fixture.getArray("serialize")) {
    DTypePolicy policy = llvm::cantFail(getPolicy(toIdentifier(value)));
    const llvm::json::Object &result = *value.getAsObject()->getObject("result");
    EXPECT_EQ(show(*result.get("serialized")), show(policy.toConfig())) << show(value);
    EXPECT_EQ(result.getString("repr")->str(), policy.repr());
    expectResult(*result.getObject("reloaded"), getPolicy(policy.toConfig()), show(value));
    ++ran;
  }
  EXPECT_EQ(ran, 30);
}

TEST(Configs, MapsAreWrittenAndReadLikeKeras) {
  llvm::json::Object fixture = readFixture("configs.json");
  int ran = 0;
  for (const llvm::json::Value &value : *fixture.getArray("serialize_maps")) {
    const llvm::json::Object &entry = *value.getAsObject();
    std::string what = show(value);
    DTypePolicyMap map =
        llvm::cantFail(DTypePolicyMap::withDefault(toIdentifier(*entry.get("default_policy"))));
    std::vector<std::string> order;
    for (const llvm::json::Value &pair : *entry.getArray("entries")) {
      order.push_back((*pair.getAsArray())[0].getAsString()->str());
      llvm::cantFail(map.set(order.back(), (*pair.getAsArray())[1]));
    }
    const llvm::json::Object &result = *entry.getObject("result");
    EXPECT_EQ(show(*result.get("serialized")), show(map.toConfig())) << what;
    PolicyOrMap reloaded = llvm::cantFail(
        getPolicyOrMap(map.toConfig(), globalOf(entry, "reload_global_policy"), order));
    llvm::json::Object actual = describe(reloaded);
    llvm::json::Array entries;
    for (const std::string &key : std::get<DTypePolicyMap>(reloaded).getKeys()) {
      llvm::json::Object one =
          describe(llvm::cantFail(std::get<DTypePolicyMap>(reloaded).lookup(key)).policy);
      for (llvm::StringRef extra :
           {"config", "amax_history_length", "block_size", "weight_bits", "group_size"})
        one.erase(extra);
      entries.push_back(llvm::json::Array{key, std::move(one)});
    }
    actual["entries"] = std::move(entries);
    expectMembers(*result.getObject("reloaded"), actual, what);
    ++ran;
  }
  // `live_names_after_serialize`: Keras clears the names of the live policies; values here do not.
  EXPECT_EQ(ran, 10);
}

TEST(Configs, GetAgreesWithKeras) {
  llvm::json::Object fixture = readFixture("configs.json");
  int ran = 0, bare = 0;
  for (const llvm::json::Value &value : *fixture.getArray("get")) {
    const llvm::json::Object &entry = *value.getAsObject();
    const llvm::json::Value &input = *entry.get("input");
    const llvm::json::Object &result = *entry.getObject("result");
    llvm::Expected<PolicyOrMap> actual = getPolicyOrMap(input, globalOf(entry, "global_policy"));
    ++ran;
    if (isBareClassName(result)) {
      expectBareClassName(input, std::move(actual));
      ++bare;
    } else {
      expectResult(result, std::move(actual), show(value));
    }
  }
  EXPECT_EQ(ran, 102);
  EXPECT_EQ(bare, 14);
}

/// The same values as the dtype of a Dense layer: what the layer ends up with and writes again.
TEST(Configs, LayerFieldsAgreeWithKeras) {
  llvm::json::Object fixture = readFixture("configs.json");
  int ran = 0, bare = 0;
  for (const llvm::json::Value &value : *fixture.getArray("layer_dtype_field")) {
    const llvm::json::Object &entry = *value.getAsObject();
    const llvm::json::Value &input = *entry.get("dtype_field");
    const llvm::json::Object &result = *entry.getObject("result");
    std::string what = show(input);
    llvm::Expected<PolicyOrMap> actual = getPolicyOrMap(input, globalOf(entry, "global_policy"));
    ++ran;
    if (result.getString("error_message").value_or("").ends_with("'quantization_mode'")) {
      expectBareClassName(input, std::move(actual));
      ++bare;
      continue;
    }
    EXPECT_EQ(bool(actual), !result.get("error_type")) << what;
    if (!actual) {
      llvm::consumeError(actual.takeError());
      continue;
    }
    llvm::json::Object description = describe(*actual);
    llvm::json::Object written = std::visit([](auto &p) { return p.toConfig(); }, *actual);
    if (auto *policy = std::get_if<DTypePolicy>(&*actual);
        policy && policy->getClass() == PolicyClass::Float) {
      // A layer hands plain policies on by name, which drops the subclass.
      description["class"] = written["class_name"] = "DTypePolicy";
    }
    expectMembers(*result.getObject("policy"), description, what);
    EXPECT_EQ(*result.getString("compute_dtype"), *description.getString("compute_dtype"));
    EXPECT_EQ(*result.getString("variable_dtype"), *description.getString("variable_dtype"));
    if (!std::holds_alternative<DTypePolicyMap>(*actual))
      EXPECT_EQ(show(*result.get("config_dtype")), show(std::move(written))) << what;
  }
  EXPECT_EQ(ran, 102);
  EXPECT_EQ(bare, 14);
}

TEST(Configs, LayerArgumentsAgreeWithKeras) {
  llvm::json::Object fixture = readFixture("configs.json");
  int ran = 0;
  for (const llvm::json::Value &value : *fixture.getArray("layer_constructor")) {
    const llvm::json::Object &entry = *value.getAsObject();
    const llvm::json::Object &result = *entry.getObject("result");
    std::string what = show(value);
    llvm::Expected<PolicyOrMap> actual = getPolicyOrMap(toIdentifier(*entry.get("dtype_argument")),
                                                        globalOf(entry, "global_policy"));
    ++ran;
    if (result.get("error_type")) {
      expectResult(result, std::move(actual), what);
      continue;
    }
    if (!actual) {
      ADD_FAILURE() << what << ": " << llvm::toString(actual.takeError());
      continue;
    }
    expectMembers(*result.getObject("policy"), describe(*actual), what);
    llvm::json::Object written = std::visit([](auto &p) { return p.toConfig(); }, *actual);
    EXPECT_EQ(show(*result.get("config_dtype")), show(std::move(written))) << what;
  }
  EXPECT_EQ(ran, 88);
  // `layer_classes` is about layers: test/Transforms/insert-casts/autocast-fixture.test.
}
