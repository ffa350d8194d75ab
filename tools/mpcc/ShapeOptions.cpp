// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/mpcc/ShapeOptions.h"
#include "runtime/rules/entry_names.h"
#include "runtime/rules/text_width.h"
#include "llvm/ADT/StringExtras.h"

using namespace mpc;

using ReportFn = llvm::function_ref<void(const llvm::Twine &)>;

/// By input, in the order of the command line.
using ShapesByInput = std::map<std::string, std::vector<llvm::SmallVector<int64_t>>>;

/// "NAME:1200,36", or the extents alone for a model with one input.
static void readInputShape(llvm::StringRef text, ReportFn report, ShapesByInput &shapes) {
  auto [name, list] = text.contains(':') ? text.rsplit(':') : std::pair(llvm::StringRef(), text);
  llvm::SmallVector<llvm::StringRef> parts;
  list.split(parts, ',');
  llvm::SmallVector<int64_t> extents;
  for (llvm::StringRef part : parts) {
    int64_t extent = 0;
    if (part.trim() == "?")
      extent = kOpenExtent;
    else if (part.trim().getAsInteger(10, extent) || extent < 1 || extent > (int64_t(1) << 40))
      extent = 0;
    if (extent == 0 || extents.size() == 31)
      return report("--input-shape=" + text +
                    ": expected [NAME:] and at most 31 extents behind the batch, positive "
                    "integers with commas between them; '?' stands for the batch of an ONNX file");
    extents.push_back(extent);
  }
  std::vector<llvm::SmallVector<int64_t>> &own = shapes[name.str()];
  if (llvm::is_contained(own, extents))
    return report("--input-shape=" + text + ": the input has this shape already");
  own.push_back(std::move(extents));
}

void mpc::readInputShapes(llvm::ArrayRef<std::string> texts, ReportFn report,
                          CompileOptions &options) {
  ShapesByInput shapes;
  for (const std::string &text : texts)
    readInputShape(text, report, shapes);
  size_t count = 1;
  for (const auto &[name, own] : shapes)
    count = std::max(count, own.size());
  if (count > rules::mostShapes)
    report("--input-shape: " + std::to_string(count) + " shapes of one input; expected at most " +
           std::to_string(rules::mostShapes) + "; compile several libraries");
  std::vector<InputShapes> sets(count);
  for (const auto &[name, own] : shapes) {
    if (own.size() != 1 && own.size() != count)
      report("--input-shape=" + name + ": has " + std::to_string(own.size()) +
             " shapes where another input has " + std::to_string(count) +
             "; expected as many, or one");
    for (size_t i = 0; i < count; ++i)
      sets[i][name] = own[std::min(i, own.size() - 1)];
  }
  options.inputShapes = std::move(sets.front());
  options.moreInputShapes.assign(std::make_move_iterator(sets.begin() + 1),
                                 std::make_move_iterator(sets.end()));
}

void mpc::readTextWidths(llvm::ArrayRef<std::string> texts, ReportFn report,
                         CompileOptions &options) {
  for (const std::string &text : texts) {
    const llvm::StringRef given = text;
    auto [name, number] =
        given.contains(':') ? given.rsplit(':') : std::pair(llvm::StringRef(), given);
    int64_t width = 0;
    if (number.getAsInteger(10, width) || width < 1 || width > rules::mostTextWidth)
      report("--text-width=" + given + ": expected [NAME:] and a number of characters, 1 to " +
             llvm::Twine(rules::mostTextWidth));
    else if (!options.textWidths.try_emplace(name.str(), width).second)
      report("--text-width=" + given + ": is given twice");
  }
}
