// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the policy fixtures, which Keras 3.15.1 recorded, and compares what mpc makes of them.
#ifndef MPC_TEST_UNIT_LIB_POLICY_POLICYFIXTURE_H
#define MPC_TEST_UNIT_LIB_POLICY_POLICYFIXTURE_H

#include "mpc/Policy/DTypePolicyMap.h"
#include "test/Unit/Fixtures.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>

namespace mpc::test {

/// The fixture; a missing or damaged one ends the program, so that nothing passes by accident.
inline llvm::json::Object readFixture(const char *name) {
  std::string path = fixturePath(std::string("policies/") + name);
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    fprintf(stderr, "%s: %s\n", path.c_str(), buffer.getError().message().c_str());
    abort();
  }
  return *llvm::cantFail(llvm::json::parse((*buffer)->getBuffer())).getAsObject();
}

inline std::string show(const llvm::json::Value &value) {
  return llvm::formatv("{0}", value).str();
}

/// null, a name, or {"class": C, "arguments": {…}} as the JSON identifier that means the same.
inline llvm::json::Value toIdentifier(const llvm::json::Value &value) {
  const llvm::json::Object *object = value.getAsObject();
  if (!object || !object->get("class"))
    return value;
  llvm::json::Object config = *object->getObject("arguments");
  if (object->getString("class") == llvm::StringRef("DTypePolicyMap") && !config.get("policy_map"))
    config["policy_map"] = llvm::json::Object{};
  return llvm::json::Object{{"class_name", *object->get("class")}, {"config", std::move(config)}};
}

/// A policy as the fixtures describe one.
inline llvm::json::Object describe(const DTypePolicy &policy) {
  llvm::json::Object config = policy.toInnerConfig();
  llvm::json::Object out{{"class", policy.getClassName().str()},
                         {"name", policy.getName().str()},
                         {"compute_dtype", policy.getComputeDType().str()},
                         {"variable_dtype", policy.getVariableDType().str()},
                         {"quantization_mode", nullptr}};
  if (policy.isQuantized())
    out["quantization_mode"] = policy.getQuantizationModeName().str();
  if (policy.getClass() == PolicyClass::QuantizedFloat8)
    out["amax_history_length"] = *config.get("amax_history_length");
  if (policy.getClass() == PolicyClass::Int4)
    out["block_size"] = policy.getBlockSize().value;
  if (policy.getClass() == PolicyClass::GPTQ || policy.getClass() == PolicyClass::AWQ) {
    out["weight_bits"] = policy.getWeightBits();
    out["group_size"] = policy.getGroupSize().value;
  }
  out["config"] = std::move(config);
  return out;
}

inline llvm::json::Object describe(const PolicyOrMap &policy) {
  auto *map = std::get_if<DTypePolicyMap>(&policy);
  if (!map)
    return describe(std::get<DTypePolicy>(policy));
  llvm::json::Object out = describe(map->asPolicy());
  out.erase("config");
  out["default_policy"] = describe(map->getDefault());
  out["keys"] = llvm::json::Array(map->getKeys());
  return out;
}

/// Every member that Keras recorded is equal.
inline void expectMembers(const llvm::json::Object &expected, const llvm::json::Object &actual,
                          const std::string &what) {
  for (const auto &member : expected) {
    const llvm::json::Value *value = actual.get(member.first);
    ASSERT_TRUE(value) << what << ": no " << llvm::StringRef(member.first).str();
    EXPECT_EQ(show(member.second), show(*value))
        << what << ": " << llvm::StringRef(member.first).str();
  }
}

/// The class and the text of Keras's error. Keras wraps an unexpected argument in pages of advice;
/// of those only the reason counts. Dictionaries are quoted in Keras in the order of the file.
inline void expectError(const llvm::json::Object &expected, llvm::Error error,
                        const std::string &what) {
  std::string className = expected.getString("error_type")->str();
  llvm::StringRef text = *expected.getString("error_message");
  llvm::handleAllErrors(
      std::move(error),
      [&](const PolicyError &actual) {
        EXPECT_EQ(className, actual.getClassName().str()) << what;
        llvm::StringRef reason = text.rsplit("Exception encountered: ").second;
        if (!reason.empty())
          EXPECT_NE(actual.getText().find(reason), llvm::StringRef::npos)
              << what << ": " << actual.getText().str();
        else if (text.contains("config={"))
          EXPECT_TRUE(actual.getText().starts_with(text.split("config={").first))
              << what << ": " << actual.getText().str();
        else
          EXPECT_EQ(text.str(), actual.getText().str()) << what;
      },
      [&](const llvm::ErrorInfoBase &other) { ADD_FAILURE() << what << ": " << other.message(); });
}

/// Compares a result of getPolicy and its like with what Keras gave: members or an error.
template <typename Result>
void expectResult(const llvm::json::Object &expected, llvm::Expected<Result> actual,
                  const std::string &what) {
  if (expected.get("error_type")) {
    if (actual)
      ADD_FAILURE() << what << ": accepted, Keras says "
                    << expected.getString("error_message")->str();
    else
      expectError(expected, actual.takeError(), what);
    return;
  }
  if (!actual) {
    ADD_FAILURE() << what << ": " << llvm::toString(actual.takeError());
    return;
  }
  expectMembers(expected, describe(*actual), what);
}

} // namespace mpc::test

#endif // MPC_TEST_UNIT_LIB_POLICY_POLICYFIXTURE_H
