// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CSV with a header.
#include "runtime/data/csv.h"

using namespace mpc::data;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string text(reinterpret_cast<const char *>(data), size);
  Result<CsvTable> table = parseCsv(text, "fuzzed");
  if (!table)
    return 0;
  if (table->names.size() != table->columns.size())
    __builtin_trap();
  for (const Array &column : table->columns)
    if (column.rank() != 1 || column.rows() != table->columns[0].rows())
      __builtin_trap();
  return 0;
}
