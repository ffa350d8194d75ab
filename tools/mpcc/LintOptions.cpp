// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/mpcc/LintOptions.h"
#include "mpc/Numerics/Lint/Lint.h"
#include "llvm/ADT/StringExtras.h"

using namespace mpc;

using ReportFn = llvm::function_ref<void(const llvm::Twine &)>;

static void readPart(llvm::StringRef part, ReportFn report, LintChoice &choice) {
  llvm::StringRef name = part;
  if (part == "error")
    choice.isError = true;
  else if (name.consume_front("-") && findLintRule(name))
    choice.silenced.insert(name.str());
  else
    report("--lint=" + part + ": expected error, or -NAME with one of " +
           llvm::join(llvm::map_range(lintRules(), [](const LintRule *rule) { return rule->name; }),
                      ", "));
}

LintChoice mpc::readLint(const std::optional<std::string> &lint, const std::string &page,
                         ReportFn report) {
  LintChoice choice;
  choice.isOn = lint.has_value();
  choice.page = page;
  llvm::SmallVector<llvm::StringRef> parts;
  if (lint)
    llvm::StringRef(*lint).split(parts, ',', -1, /*KeepEmpty=*/!lint->empty());
  for (llvm::StringRef part : parts)
    readPart(part, report, choice);
  if (!lint)
    report("--html: belongs to --lint; add it, or leave --html out");
  if (!llvm::StringRef(page).ends_with(".html") && !llvm::StringRef(page).ends_with(".htm") &&
      !page.empty())
    report("--html=" + page + ": expected a file that ends with .html or .htm");
  return choice;
}
