// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CSV reader.
#include "runtime/data/csv.h"

#include "runtime/data/input_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <set>

namespace mpc::data {

namespace {

constexpr uint64_t maximumFile = uint64_t(1) << 34;
constexpr size_t maximumColumns = 1 << 20, maximumMessages = 20;

/// Reads cells one by one; knows the line for messages.
class CellReader {
public:
  explicit CellReader(const std::string &text) : text_(text) {
    if (text.compare(0, 3, "\xef\xbb\xbf") == 0)
      at_ = 3;
  }
  size_t line() const { return line_; }
  bool atEnd() const { return at_ >= text_.size(); }

  /// Whether there are lines of nothing before the next record; skips them.
  void skipEmptyLines() {
    while (atLineEnd())
      skipLineEnd();
  }

  /// The next cell; `last` says that it ends its record. Null, or what is wrong.
  const char *next(std::string &cell, bool &last) {
    cell.clear();
    bool quoted = false;
    if (!atEnd() && text_[at_] == '"') {
      for (++at_;; ++at_) {
        if (atEnd())
          return "has a quote that is not closed";
        if (text_[at_] == '"') {
          if (at_ + 1 < text_.size() && text_[at_ + 1] == '"')
            ++at_;
          else
            break;
        }
        line_ += text_[at_] == '\n';
        cell += text_[at_];
      }
      ++at_;
      quoted = true;
    }
    for (; !atEnd() && text_[at_] != ',' && !atLineEnd(); ++at_) {
      if (quoted && text_[at_] != ' ' && text_[at_] != '\t')
        return "has text after a closed quote";
      cell += text_[at_];
    }
    last = atEnd() || atLineEnd();
    if (!last)
      ++at_;
    else if (!atEnd())
      skipLineEnd();
    return nullptr;
  }

private:
  bool atLineEnd() const { return !atEnd() && (text_[at_] == '\n' || text_[at_] == '\r'); }
  void skipLineEnd() {
    at_ += text_.compare(at_, 2, "\r\n") == 0 ? 2 : 1;
    ++line_;
  }

  const std::string &text_;
  size_t at_ = 0, line_ = 1;
};

struct TextColumn {
  std::vector<int64_t> integers;
  std::vector<double> reals;
  bool real = false;

  bool add(const std::string &cell) {
    size_t begin = cell.find_first_not_of(" \t"), end = cell.find_last_not_of(" \t");
    if (begin == std::string::npos)
      return false;
    const char *first = cell.data() + begin, *last = cell.data() + end + 1;
    if (*first == '+' && last - first > 1 && first[1] != '-') // from_chars knows no plus
      ++first;
    if (!real) {
      int64_t value;
      auto [rest, error] = std::from_chars(first, last, value);
      if (error == std::errc() && rest == last) {
        integers.push_back(value);
        return true;
      }
      real = true;
      reals.assign(integers.begin(), integers.end());
      integers.clear();
    }
    double value;
    auto [rest, error] = std::from_chars(first, last, value);
    // Which does not say whether a number is too large or rounds to 0.
    if (error == std::errc::result_out_of_range &&
        std::fabs(value = std::strtod(std::string(first, last).c_str(), nullptr)) < 1)
      error = std::errc();
    if (error != std::errc() || rest != last)
      return false;
    reals.push_back(value);
    return true;
  }
};

/// Whether a header is a row of data: numbers alone. Numbers that count up are names: pandas writes
/// 0, 1, 2, … for columns without one, and years are names, too.
bool isRowOfNumbers(const std::vector<std::string> &names) {
  TextColumn row;
  for (const std::string &name : names)
    if (!row.add(name))
      return false;
  if (row.real)
    return true;
  if (row.integers.size() == 1)
    return row.integers[0] != 0;
  for (size_t i = 1; i < row.integers.size(); ++i)
    if (row.integers[i - 1] == INT64_MAX || row.integers[i] != row.integers[i - 1] + 1)
      return true;
  return false;
}

} // namespace

Result<CsvTable> parseCsv(const std::string &text, const std::string &place) {
  CellReader reader(text);
  CsvTable table;
  Failure failure;
  std::string cell;
  reader.skipEmptyLines();
  if (reader.atEnd())
    return Failure(place + ": is empty; expected a header line with the columns' names");
  for (bool last = false; !last;) {
    if (const char *wrong = reader.next(cell, last))
      return Failure(place + ":1: " + wrong);
    size_t begin = cell.find_first_not_of(" \t"), end = cell.find_last_not_of(" \t");
    table.names.push_back(begin == std::string::npos ? "" : cell.substr(begin, end - begin + 1));
    if (table.names.size() > maximumColumns)
      return Failure(place + ":1: has more than " + std::to_string(maximumColumns) + " columns");
  }
  if (isRowOfNumbers(table.names))
    return Failure(
        place + ":1: holds numbers alone, as a row of data does; expected a header line with the "
                "columns' names; put one in front, such as x0,x1,…");
  if (auto unnamed = std::find(table.names.begin(), table.names.end(), "");
      unnamed != table.names.end())
    return Failure(place + ":1: column " + std::to_string(unnamed - table.names.begin() + 1) +
                   " has no name; expected one for each; pandas writes its index so, which "
                   "to_csv(index=False) leaves out");
  std::set<std::string> seen;
  for (const std::string &name : table.names)
    if (!seen.insert(name).second)
      return Failure(place + ":1: has two columns named '" + name + "'; expected one per name");

  std::vector<TextColumn> columns(table.names.size());
  int64_t rows = 0;
  for (reader.skipEmptyLines(); !reader.atEnd(); reader.skipEmptyLines(), ++rows) {
    size_t line = reader.line(), index = 0;
    for (bool last = false; !last; ++index) {
      std::string where = place + ":" + std::to_string(line);
      if (const char *wrong = reader.next(cell, last))
        return Failure(where + ": " + wrong);
      if (index < columns.size() && !columns[index].add(cell)) {
        failure.append(Failure(where + ": column '" + table.names[index] + "' holds '" +
                               cell.substr(0, 40) + "'; expected a number"));
        columns[index].real ? columns[index].reals.push_back(0)
                            : columns[index].integers.push_back(0);
      }
    }
    if (index != columns.size())
      return Failure(place + ":" + std::to_string(line) + ": has " + std::to_string(index) +
                     " cells; expected " + std::to_string(columns.size()) + " as in the header");
    if (failure.messages.size() >= maximumMessages)
      break;
  }
  if (!failure.empty())
    return failure;
  for (TextColumn &column : columns)
    table.columns.push_back(column.real
                                ? Array::copyOf(MPC_RT_FLOAT64, {rows}, column.reals.data())
                                : Array::copyOf(MPC_RT_INT64, {rows}, column.integers.data()));
  return table;
}

Result<CsvTable> readCsv(const std::string &path) {
  Result<std::string> text = readWholeFile(path, maximumFile);
  if (!text)
    return text.failure();
  return parseCsv(*text, path);
}

} // namespace mpc::data
