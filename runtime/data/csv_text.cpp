// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writing CSV.
#include "runtime/data/csv.h"

#include "runtime/data/convert.h"
#include "runtime/untrusted/outlets.h"

#include <charconv>

namespace mpc::data {

template <typename Number> static void print(std::string &text, Number value) {
  char digits[64];
  auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  text.append(digits, error == std::errc() ? end : digits);
}

static void printElement(std::string &text, const Array &array, int64_t index) {
  if (array.dtype() == MPC_RT_BOOL)
    text += array.data()[index] ? '1' : '0';
  else if (array.dtype() == MPC_RT_FLOAT64)
    print(text, array.as<double>()[index]);
  else if (isFloating(array.dtype()))
    print(text, static_cast<float>(elementAsDouble(array, index))); // exact: none is wider
  else
    text += formatElement(array, index);
}

Result<std::string> formatCsv(const std::vector<NamedArray> &arrays, const std::string &place) {
  std::string text;
  int64_t rows = -1;
  Failure failure;
  for (const auto &[name, array] : arrays) {
    if (array.isText()) {
      failure.append(Failure(place + ": the output '" + name +
                             "' is text, which a table of numbers has not; write an .npz"));
      continue;
    }
    if (array.rank() && rows < 0)
      rows = array.rows();
    if (!array.rank() || array.rows() != rows) {
      failure.append(
          Failure(place + ": the output '" + name + "' of shape " + formatShape(array.dims()) +
                  " has no value for each row of a table; expected rows; write an .npz"));
      continue;
    }
    int64_t width = 1;
    for (int64_t i = 1; i < array.rank(); ++i)
      width *= array.dims()[static_cast<size_t>(i)];
    for (int64_t i = 0; i < width; ++i)
      text += (text.empty() ? "" : ",") +
              untrusted::forCsv(width == 1 ? name : name + "_" + std::to_string(i));
  }
  if (!failure.empty())
    return failure;
  text += '\n';
  for (int64_t row = 0; row < rows; ++row) {
    bool isFirst = true;
    for (const NamedArray &each : arrays) {
      const int64_t width = each.array.elements() / rows;
      for (int64_t i = 0; i < width; ++i, isFirst = false) {
        if (!isFirst)
          text += ',';
        printElement(text, each.array, row * width + i);
      }
    }
    text += '\n';
  }
  return text;
}

} // namespace mpc::data
