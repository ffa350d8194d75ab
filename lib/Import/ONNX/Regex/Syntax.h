// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Regular expressions in RE2's syntax (github.com/google/re2/wiki/Syntax) as trees. Groups capture
// nothing, and greed means nothing: the whole text matches or does not.
#ifndef MPC_LIB_IMPORT_ONNX_REGEX_SYNTAX_H
#define MPC_LIB_IMPORT_ONNX_REGEX_SYNTAX_H

#include "lib/Import/ONNX/Regex/CodePointSet.h"

#include "llvm/Support/Error.h"

#include <memory>

namespace mpc::onnx {

/// A condition between two code points, or at an end of the text.
enum class Boundary { beginOfText, endOfText, beginOfLine, endOfLine, word, noWord };

struct RegexNode {
  enum class Kind { empty, set, boundary, sequence, choice, repeat } kind = Kind::empty;
  CodePointSet set;
  Boundary boundary = Boundary::beginOfText;
  int least = 0, most = -1; ///< of repeat; -1: any number
  std::vector<std::unique_ptr<RegexNode>> children;
};

/// `pattern` is UTF-8. An error says what is wrong or not supported, and where.
llvm::Expected<std::unique_ptr<RegexNode>> parseRegex(llvm::StringRef pattern);

/// Letters, digits and the underscore of ASCII, as \w and \b mean them.
const CodePointSet &getWordCharacters();

} // namespace mpc::onnx

#endif
