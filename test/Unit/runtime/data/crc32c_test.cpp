// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CRC-32C against the values of RFC 3720, appendix B.4.
#include "runtime/data/crc32c.h"

#include <gtest/gtest.h>
#include <string>

TEST(Crc32c, KnownValues) {
  std::string zeros(32, '\0'), ones(32, '\xff'), rising;
  for (char i = 0; i < 32; ++i)
    rising += i;
  EXPECT_EQ(mpc::data::crc32c(0, zeros.data(), 32), 0x8a9136aau);
  EXPECT_EQ(mpc::data::crc32c(0, ones.data(), 32), 0x62a8ab43u);
  EXPECT_EQ(mpc::data::crc32c(0, rising.data(), 32), 0x46dd794eu);
  EXPECT_EQ(mpc::data::crc32c(0, "123456789", 9), 0xe3069283u);
}

TEST(Crc32c, PartsGiveTheWhole) {
  std::string text = "the quick brown fox jumps over the lazy dog";
  uint32_t whole = mpc::data::crc32c(0, text.data(), text.size());
  for (size_t cut = 0; cut <= text.size(); ++cut)
    EXPECT_EQ(mpc::data::crc32c(mpc::data::crc32c(0, text.data(), cut), text.data() + cut,
                                text.size() - cut),
              whole);
}
