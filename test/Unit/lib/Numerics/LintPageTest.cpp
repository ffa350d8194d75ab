// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// docs/lint.md is the table of rules: `LintPageTest --write` writes it.
#include "mpc/Numerics/Lint/Lint.h"
#include "llvm/ADT/StringSet.h"
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

static const std::string kPage = MPC_SOURCE_DIR "/docs/lint.md";

static bool writes() {
  const auto &arguments = ::testing::internal::GetArgvs();
  return std::find(arguments.begin(), arguments.end(), "--write") != arguments.end();
}

TEST(LintPage, IsWhatTheTableSays) {
  if (writes())
    std::ofstream(kPage) << mpc::describeLintRules();
  std::stringstream page;
  page << std::ifstream(kPage).rdbuf();
  EXPECT_EQ(page.str(), mpc::describeLintRules()) << "run LintPageTest --write";
}

TEST(LintPage, NamesAreDistinctAndFound) {
  llvm::StringSet<> names;
  for (const mpc::LintRule *rule : mpc::lintRules()) {
    EXPECT_TRUE(names.insert(rule->name).second) << rule->name.str();
    EXPECT_EQ(mpc::findLintRule(rule->name), rule);
    EXPECT_FALSE(rule->finds.empty() || rule->why.empty() || rule->fix.empty());
  }
  EXPECT_EQ(mpc::findLintRule("no-such-rule"), nullptr);
}
