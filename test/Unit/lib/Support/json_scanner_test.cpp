// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where values of JSON text end, and what a scan makes of text that ends too early.
#include "lib/Support/JsonScanner.h"
#include "gtest/gtest.h"

#include <string>
#include <vector>

using mpc::JsonScanner;

static std::string valueOf(llvm::StringRef text) {
  const size_t end = JsonScanner(text).endOfValue(0);
  return end == JsonScanner::npos ? "none" : text.take_front(end).str();
}

TEST(JsonScanner, FindsTheEndsOfValues) {
  EXPECT_EQ(valueOf("12, 3"), "12");
  EXPECT_EQ(valueOf("-Infinity}"), "-Infinity");
  EXPECT_EQ(valueOf(R"("a\"b", 1)"), R"("a\"b")");
  EXPECT_EQ(valueOf(R"("a\\", 1)"), R"("a\\")");
  EXPECT_EQ(valueOf(R"({"a": [1, {"}": "]"}]}, 2)"), R"({"a": [1, {"}": "]"}]})");
  EXPECT_EQ(valueOf("[[], []]]"), "[[], []]");
  for (const char *text : {"", "\"a", "\"a\\", "[1", "{\"a\": \"", "[\"]"})
    EXPECT_EQ(valueOf(text), "none") << text;
}

TEST(JsonScanner, StepsOverMembers) {
  const JsonScanner scan(R"( {"a" : 1,"b":[2, 3] , "c": {"d": "}"} } )");
  std::vector<std::string> members;
  size_t next = scan.firstMember(scan.skipSpace(0));
  for (;;) {
    const JsonScanner::Member member = scan.memberAt(next);
    if (member.key.empty())
      break;
    members.push_back(member.key.str() + "=" + member.value.str());
    next = member.next;
  }
  EXPECT_EQ(members, (std::vector<std::string>{R"("a"=1)", R"("b"=[2, 3])", R"("c"={"d": "}"})"}));
  EXPECT_EQ(scan.text[next], '}');
  EXPECT_EQ(JsonScanner("[1]").firstMember(0), JsonScanner::npos);
  for (const char *text : {"{\"a", "{\"a\"", "{\"a\":", "{\"a\": [1"})
    EXPECT_TRUE(JsonScanner(text).memberAt(1).key.empty()) << text;
}
