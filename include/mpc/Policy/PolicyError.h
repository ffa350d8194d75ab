// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The error that everything in lib/Policy returns: Keras's exception class and Keras's text, so
// that a caller can say the same thing as Keras and tests can compare both.
#ifndef MPC_POLICY_POLICYERROR_H
#define MPC_POLICY_POLICYERROR_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

namespace mpc {

/// Which Python exception Keras raises. `Regex` is Python's `re.error`.
/// Budget: all keys and paths together may take no more steps.
enum class PolicyErrorKind { Type, Value, Key, Regex, Budget };

class PolicyError : public llvm::ErrorInfo<PolicyError> {
public:
  static char ID;

  PolicyError(PolicyErrorKind kind, std::string message) : kind(kind), text(std::move(message)) {}

  PolicyErrorKind getKind() const { return kind; }
  /// "TypeError", "ValueError", "KeyError" or "re.error".
  llvm::StringRef getClassName() const;
  /// The text without the class name.
  llvm::StringRef getText() const { return text; }

  void log(llvm::raw_ostream &os) const override { os << text; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

private:
  PolicyErrorKind kind;
  std::string text;
};

inline llvm::Error typeError(const llvm::Twine &text) {
  return llvm::make_error<PolicyError>(PolicyErrorKind::Type, text.str());
}
inline llvm::Error valueError(const llvm::Twine &text) {
  return llvm::make_error<PolicyError>(PolicyErrorKind::Value, text.str());
}
inline llvm::Error keyError(const llvm::Twine &text) {
  return llvm::make_error<PolicyError>(PolicyErrorKind::Key, text.str());
}

} // namespace mpc

#endif // MPC_POLICY_POLICYERROR_H
