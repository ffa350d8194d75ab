// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Changes of config.json leave every other byte alone; new JSON is what Python would write.
#include "mpc/Export/Keras/KerasFile.h"

#include <gtest/gtest.h>

using namespace mpc::keras;

namespace {

std::string splice(llvm::StringRef text, llvm::ArrayRef<llvm::StringRef> keys,
                   llvm::StringRef value) {
  return spliceJson(text, keys, value).value_or("none");
}

TEST(SpliceJson, ReplacesOneValue) {
  EXPECT_EQ(
      splice(R"({"a": [1, {"b": "}"}], "b" : {"c": NaN, "d": "\"" }, "e": 2})", {"b", "c"}, "7"),
      R"({"a": [1, {"b": "}"}], "b" : {"c": 7, "d": "\"" }, "e": 2})");
  EXPECT_EQ(splice(R"({"a": {"x": 1}})", {"a"}, "null"), R"({"a": null})");
}

TEST(SpliceJson, AddsWhatIsMissing) {
  EXPECT_EQ(splice(R"({"a": 1})", {"c"}, "2"), R"({"c": 2, "a": 1})");
  EXPECT_EQ(splice("{}", {"c", "d"}, "2"), R"({"c": {"d": 2}})");
  EXPECT_EQ(splice(R"({"c": {}})", {"c", "d"}, "2"), R"({"c": {"d": 2}})");
}

TEST(SpliceJson, RefusesWhatIsNoObject) {
  for (llvm::StringRef text : {"", "[1]", "{\"a", "{\"a\": {", "{\"a\": [}", "{\"a\": 1}"})
    EXPECT_EQ(splice(text, {"a", "b"}, "1"), "none") << text.str();
}

TEST(PrintPythonJson, FloatsStayFloats) {
  llvm::Expected<llvm::json::Value> value =
      llvm::json::parse(R"({"units": 4, "momentum": 0.0, "l2": 1e999, "axis": [-1], "rate": 0.5})");
  ASSERT_TRUE(bool(value));
  EXPECT_EQ(printPythonJson(*value),
            R"({"axis": [-1], "l2": Infinity, "momentum": 0.0, "rate": 0.5, "units": 4})");
}

} // namespace
