// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CSV that is written: shortest digits, and what is no table.
#include "runtime/data/csv.h"

#include <gtest/gtest.h>
#include <limits>

using namespace mpc::data;

TEST(CsvText, ReadsBackAsItWas) {
  const float reals[] = {0.1f, -0.0f, 1e-45f, 3.4028235e38f};
  const double wide[] = {0.1, std::numeric_limits<double>::infinity()};
  const int64_t integers[] = {INT64_MIN, INT64_MAX};
  const uint8_t flags[] = {1, 0};
  Result<std::string> text = formatCsv({{"r", Array::copyOf(MPC_RT_FLOAT32, {2, 2}, reals)},
                                        {"w", Array::copyOf(MPC_RT_FLOAT64, {2, 1}, wide)},
                                        {"=i", Array::copyOf(MPC_RT_INT64, {2}, integers)},
                                        {"b", Array::copyOf(MPC_RT_BOOL, {2}, flags)}},
                                       "t");
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, "r_0,r_1,w,'=i,b\n"
                   "0.1,-0,0.1,-9223372036854775808,1\n"
                   "1e-45,3.4028235e+38,inf,9223372036854775807,0\n");
  Result<CsvTable> read = parseCsv(*text, "t");
  ASSERT_TRUE(read);
  EXPECT_EQ(static_cast<float>(read->columns[1].as<double>()[1]), reals[3]);
  EXPECT_EQ(read->columns[3].as<int64_t>()[0], INT64_MIN);
}

TEST(CsvText, NoTable) {
  const float values[] = {1, 2, 3};
  Result<std::string> text = formatCsv({{"a", Array::copyOf(MPC_RT_FLOAT32, {3}, values)},
                                        {"b", Array::copyOf(MPC_RT_FLOAT32, {2}, values)},
                                        {"c", Array::scalar(1)}},
                                       "t.csv");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.failure().messages.size(), 2u);
  EXPECT_EQ(
      text.failure().messages[0],
      "t.csv: the output 'b' of shape [2] has no value for each row of a table; expected rows; "
      "write an .npz");
  Result<std::string> empty =
      formatCsv({{"a", Array::copyOf(MPC_RT_FLOAT32, {0, 2}, values)}}, "t");
  ASSERT_TRUE(empty);
  EXPECT_EQ(*empty, "a_0,a_1\n");
}
