// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The scan of IR text. It knows strings, comments and brackets, and is right for every text that
// the parser accepts; others it may take for nested less deeply than they are.
#include "mpc/Import/IR/CheckIR.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Errc.h"

using llvm::StringRef;
using namespace mpc;

namespace {
class TextScan {
public:
  TextScan(StringRef file, StringRef text, const IRLimits &limits)
      : file(file), rest(text), limits(limits) {}

  llvm::Error run() {
    while (!rest.empty())
      if (llvm::Error error = step())
        return error;
    return llvm::Error::success();
  }

private:
  llvm::Error step() {
    const char first = rest.front();
    if (first == '"')
      return skip(stringLength());
    if (rest.starts_with("//"))
      return skip(std::min(rest.find('\n'), rest.size()));
    // Arrows and comparisons of affine sets.
    if (rest.starts_with("->") || rest.starts_with(">=") || rest.starts_with("<="))
      return skip(2);
    if (llvm::isAlnum(first) || first == '_')
      return skipWord();
    if (StringRef("([{<").contains(first) && ++depth > limits.depth)
      return refuse("is nested deeper than " + llvm::Twine(limits.depth) + " levels");
    if (StringRef(")]}>").contains(first))
      depth -= depth > 0;
    line += first == '\n';
    return skip(1);
  }

  /// A name or a number. Digits may stand in names, too.
  llvm::Error skipWord() {
    const StringRef word = rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    const size_t prefix = word.starts_with("0x") ? 2 : 0;
    const size_t digits =
        word.drop_front(prefix)
            .take_while([&](char c) { return prefix ? llvm::isHexDigit(c) : llvm::isDigit(c); })
            .size();
    if (digits > limits.digits)
      return refuse("has a number of " + llvm::Twine(digits) + " digits, more than " +
                    llvm::Twine(limits.digits));
    return skip(word.size());
  }

  /// Up to the closing quote, or to the end of the line, where the parser stops.
  size_t stringLength() const {
    for (size_t index = 1; index < rest.size(); ++index) {
      if (rest[index] == '\n')
        return index;
      if (rest[index] == '"')
        return index + 1;
      index += rest[index] == '\\';
    }
    return rest.size();
  }

  llvm::Error skip(size_t count) {
    rest = rest.drop_front(std::min(count, rest.size()));
    return llvm::Error::success();
  }

  llvm::Error refuse(const llvm::Twine &what) const {
    return llvm::createStringError(llvm::errc::invalid_argument,
                                   file + ":" + llvm::Twine(line) + ": the IR " + what +
                                       "; expected IR as mpcc --compile-to prints it");
  }

  StringRef file, rest;
  const IRLimits &limits;
  unsigned depth = 0;
  uint64_t line = 1;
};
} // namespace

llvm::Error mpc::checkIRText(llvm::MemoryBufferRef text, const IRLimits &limits) {
  return TextScan(text.getBufferIdentifier(), text.getBuffer(), limits).run();
}
