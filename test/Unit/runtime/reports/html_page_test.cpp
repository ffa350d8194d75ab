// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The page shows what it was given, whatever names a model has.
#include "runtime/reports/html_page.h"

#include <gtest/gtest.h>

using namespace mpc::reports;

static TracedValue valueOf(const char *layer) {
  TracedValue value;
  value.layer = layer;
  value.op = "add";
  value.dtype = MPC_RT_FLOAT16;
  value.counts.count = 10;
  value.counts.max_magnitude = 8188;
  value.exponents = {{-50, 1}, {13, 9}};
  return value;
}

TEST(HtmlPage, LayersWithHeadroom) {
  TracedValue broken = valueOf("dense_2");
  broken.counts.infinite = 1;
  const std::string page = writePage("Numbers", {valueOf("dense_1"), broken});
  EXPECT_NE(page.find("<b>dense_1</b>"), std::string::npos);
  EXPECT_NE(page.find("3 bits"), std::string::npos); // 65504 / 8188
  EXPECT_NE(page.find("✗ not finite"), std::string::npos);
  EXPECT_NE(page.find("<title>2^13: 9</title>"), std::string::npos);
  EXPECT_NE(page.find("name=\"viewport\""), std::string::npos);
}

TEST(HtmlPage, NothingFromTheNetworkAndNoMarkupOfNames) {
  const std::string page = writePage("<script>", {valueOf("<img src=http://x>\"'&")});
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find("src=\""), std::string::npos);
  EXPECT_EQ(page.find("href="), std::string::npos);
}
