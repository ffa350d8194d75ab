// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CSV with a header line (RFC 4180): numeric columns.
#ifndef MPC_RUNTIME_DATA_CSV_H
#define MPC_RUNTIME_DATA_CSV_H

#include "runtime/data/array.h"

namespace mpc::data {

struct CsvTable {
  std::vector<std::string> names; // in file order
  std::vector<Array> columns;     // int64 [rows] when every cell is an integer, else float64 [rows]
};

/// Cells are numbers in C notation whatever the locale, `nan` and `inf` included. Messages name
/// line and column.
Result<CsvTable> readCsv(const std::string &path);
Result<CsvTable> parseCsv(const std::string &text, const std::string &place);

struct NamedArray {
  std::string name;
  Array array;
};

/// A table with a line per row and, of each array, a column per value of a row: NAME where there is
/// one, else NAME_0, NAME_1, ... Numbers are the shortest that read back as they were. `place`
/// begins the message that an array is no table.
Result<std::string> formatCsv(const std::vector<NamedArray> &arrays, const std::string &place);

} // namespace mpc::data
#endif
