// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CSV tables.
#include "runtime/data/csv.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace mpc::data;

TEST(Csv, IntegersAndRealsByColumn) {
  Result<CsvTable> table = parseCsv("\xef\xbb\xbf"
                                    "a ,\"b \"\"x\"\"\",c\r\n1,2.5,+3\r\n\r\n-4,1e3,5\n",
                                    "p");
  ASSERT_TRUE(table) << table.failure().messages[0];
  EXPECT_EQ(table->names, (std::vector<std::string>{"a", "b \"x\"", "c"}));
  EXPECT_EQ(table->columns[0].dtype(), uint32_t(MPC_RT_INT64));
  EXPECT_EQ(table->columns[0].as<int64_t>()[1], -4);
  EXPECT_EQ(table->columns[1].dtype(), uint32_t(MPC_RT_FLOAT64));
  EXPECT_EQ(table->columns[1].as<double>()[1], 1000);
  EXPECT_EQ(table->columns[2].as<int64_t>()[0], 3);
}

TEST(Csv, TakesOneSign) {
  for (const char *cell : {"+-3", "++3", "-+3", "+", "-"})
    EXPECT_FALSE(parseCsv(std::string("a\n") + cell + "\n", "p")) << cell;
}

TEST(Csv, QuotedNamesAndCells) {
  Result<CsvTable> table = parseCsv("\"a,\nb\",c\n\"1\",\" 2 \"", "p");
  ASSERT_TRUE(table) << table.failure().messages[0];
  EXPECT_EQ(table->names[0], "a,\nb");
  EXPECT_EQ(table->columns[1].as<int64_t>()[0], 2);
}

TEST(Csv, EveryKindOfLineEnd) {
  for (const char *text : {"a,b\n1,2\n\n3,4", "a,b\r\n1,2\r\n\r\n3,4\r\n", "a,b\r1,2\r\r3,4\r"}) {
    Result<CsvTable> table = parseCsv(text, "p");
    ASSERT_TRUE(table) << table.failure().messages[0];
    EXPECT_EQ(table->names, (std::vector<std::string>{"a", "b"}));
    ASSERT_EQ(table->columns[1].elements(), 2);
    EXPECT_EQ(table->columns[1].as<int64_t>()[1], 4);
  }
}

TEST(Csv, LaterRealsTurnTheColumn) {
  Result<CsvTable> table = parseCsv("a\n1\n2\n0.5\nnan\ninf\n", "p");
  ASSERT_TRUE(table);
  EXPECT_EQ(table->columns[0].as<double>()[0], 1);
  EXPECT_TRUE(std::isnan(table->columns[0].as<double>()[3]));
  EXPECT_TRUE(std::isinf(table->columns[0].as<double>()[4]));
}

TEST(Csv, RowsOfDataAreNoHeader) {
  for (const char *text :
       {"0.5,1\n1,2\n", "1,1\n2,2\n", "3,1\n2,2\n", "7\n8\n", "1e3\n2\n", "nan,inf\n1,2\n",
        "-1,-2\n1,2\n", " 2 , 5\n1,2\n", "9223372036854775807,-9223372036854775808\n1,2\n"}) {
    Result<CsvTable> table = parseCsv(text, "p");
    ASSERT_FALSE(table) << text;
    EXPECT_EQ(table.failure().messages[0],
              "p:1: holds numbers alone, as a row of data does; expected a header line with the "
              "columns' names; put one "
              "in front, such as x0,x1,…");
  }
  // Columns without a name as pandas calls them, years, and names among numbers.
  for (const char *text : {"0,1,2\n1,2,3\n", "0\n1\n", "2019,2020\n1,2\n", "a,1\n1,2\n"})
    EXPECT_TRUE(parseCsv(text, "p")) << text;
}

TEST(Csv, FaultsNameTheLine) {
  auto first = [](const char *text) {
    Result<CsvTable> table = parseCsv(text, "p");
    return table ? std::string() : table.failure().messages[0];
  };
  EXPECT_EQ(first(""), "p: is empty; expected a header line with the columns' names");
  EXPECT_EQ(first("a,a\n1,2\n"), "p:1: has two columns named 'a'; expected one per name");
  EXPECT_EQ(first(",0,1\n0,1,2\n"), "p:1: column 1 has no name; expected one for each; pandas "
                                    "writes its index so, which to_csv(index=False) leaves out");
  EXPECT_EQ(first("a,b, \n1,2,3\n").substr(0, 24), "p:1: column 3 has no nam");
  EXPECT_EQ(first("a,b\n1,2\n\n3\n"), "p:4: has 1 cells; expected 2 as in the header");
  EXPECT_EQ(first("a\n\"1\n"), "p:2: has a quote that is not closed");
  EXPECT_EQ(first("a,b\n1,\"2\" \n1,\"2\"3\n"), "p:3: has text after a closed quote");
  EXPECT_EQ(first("a\"b\"\n1\n"), "");
  EXPECT_EQ(first("a\r1\r\rx\r"), "p:4: column 'a' holds 'x'; expected a number");
  EXPECT_EQ(first("a\n1\n1,5\n"), "p:3: has 2 cells; expected 1 as in the header");
  EXPECT_EQ(first("a\n1\nx\n"), "p:3: column 'a' holds 'x'; expected a number");
  EXPECT_EQ(first("a\n0x10\n"), "p:2: column 'a' holds '0x10'; expected a number");
}
