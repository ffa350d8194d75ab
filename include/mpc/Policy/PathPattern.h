// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One key of a policy map as a regular expression: the syntax and the error texts of Python 3.11's
// `re`, run by PCRE2. The syntax that both languages share is checked and copied, what they read
// differently is rewritten, and rare syntax of Python (octal escapes, \N{…}, the flags a, L, u) is
// refused by name.
#ifndef MPC_POLICY_PATHPATTERN_H
#define MPC_POLICY_PATHPATTERN_H

#include "mpc/Policy/PolicyError.h"
#include "llvm/ADT/StringRef.h"
#include <memory>
#include <string>

namespace mpc {

class PathPattern {
public:
  /// Never fails: a malformed pattern gives its error at each match, as in Keras.
  explicit PathPattern(llvm::StringRef utf8);

  /// `re.fullmatch(pattern, path) is not None`. An error for a malformed pattern, for one beyond
  /// mpc's limits, and when the matches of a compilation take more steps
  /// than mpc allows.
  llvm::Expected<bool> fullMatch(llvm::StringRef path) const;

private:
  std::string source;
  std::shared_ptr<void> code;
  std::string error;
};

/// All matches of a process share one budget of steps, however many keys and paths a model brings.
/// Each compilation begins with a whole one.
void renewMatchBudget();

/// The translation of a Python 3.11 pattern into PCRE2 syntax (options UTF, UCP; newline LF), or a
/// `re.error` with Python's text.
llvm::Expected<std::string> translatePythonRegex(llvm::StringRef utf8);

} // namespace mpc

#endif // MPC_POLICY_PATHPATTERN_H
