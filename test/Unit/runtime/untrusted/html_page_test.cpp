// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Text of any origin is text on a page: in its title, its tables and their classes.
#include "runtime/untrusted/html_page.h"

#include <gtest/gtest.h>

using mpc::untrusted::HtmlPage;

TEST(HtmlPage, TextIsNoMarkup) {
  HtmlPage page("<script>", ".row { color: red; }\n");
  page.addHeading("a & b");
  page.addParagraph("</main>");
  page.beginTable({"<th>", "two"});
  page.addRow({"<img src=x>", "\"quoted\""}, "row\" onclick=\"x");
  page.endTable();
  const std::string text = page.finish();
  for (const char *markup : {"<script", "</main>\n</p>", "<img", "<th><", "onclick=\"x"})
    EXPECT_EQ(text.find(markup), std::string::npos) << markup;
  EXPECT_NE(text.find("<h2>a &amp; b</h2>"), std::string::npos);
  EXPECT_NE(text.find("<title>&lt;script&gt;</title>"), std::string::npos);
}

TEST(HtmlPage, LayersHaveASign) {
  HtmlPage page("Layers");
  page.addLayer({"a<b", mpc::untrusted::Grade::good, "3 bits", "2 values", "<svg></svg>"});
  page.addLayer({"c", mpc::untrusted::Grade::near, "<1", "", ""});
  page.addLayer({"d", mpc::untrusted::Grade::bad, "not finite", "", ""});
  const std::string text = page.finish();
  EXPECT_NE(text.find("<div class=\"layer good\"><span class=\"mark\">✓ 3 bits</span>"
                      "<b>a&lt;b</b><br>2 values\n<svg></svg></div>"),
            std::string::npos);
  EXPECT_NE(text.find("<div class=\"layer near\"><span class=\"mark\">! &lt;1</span>"),
            std::string::npos);
  EXPECT_NE(text.find("<div class=\"layer bad\"><span class=\"mark\">✗ not finite</span>"),
            std::string::npos);
}

TEST(HtmlPage, IsWhole) {
  HtmlPage page("Policies");
  page.addMarkup("<svg></svg>");
  const std::string text = page.finish();
  EXPECT_EQ(text.rfind("<!DOCTYPE html>", 0), 0u);
  EXPECT_NE(text.find("<main>\n<h1>Policies</h1>\n<svg></svg></main>"), std::string::npos);
  EXPECT_NE(text.find("name=\"viewport\""), std::string::npos);
  EXPECT_NE(text.find("</body></html>"), std::string::npos);
}
