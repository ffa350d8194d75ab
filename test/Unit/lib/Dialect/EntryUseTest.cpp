// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The runtime's rows of entries against the roles of the dialect.
#include "dialects/mpc/IR/Mpc.h"
#include "runtime/rules/entry_use.h"
#include <gtest/gtest.h>

using namespace mpc;

namespace {

TEST(EntryUse, HasARowForEachRole) {
  ASSERT_EQ(std::size(rules::entryUses), size_t(getMaxEnumValForEntryRole()) + 1);
  for (unsigned i = 0; i < std::size(rules::entryUses); ++i)
    EXPECT_EQ(stringifyEntryRole(EntryRole(i)), llvm::StringRef(rules::entryUses[i].name));
}

TEST(EntryUse, TakesAnEntryOfTheUserForOneThatUpdates) {
  EXPECT_TRUE(rules::entryUse("my_entry").updatesWeights);
  EXPECT_FALSE(rules::entryUse("my_entry").takesMeans);
}

} // namespace
