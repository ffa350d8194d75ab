// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_SUPPORT_INTERNALERROR_H
#define MPC_SUPPORT_INTERNALERROR_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <string>

namespace mpc {

/// A failure of the compiler's own, whatever the model is.
class InternalError : public llvm::ErrorInfo<InternalError> {
public:
  static inline char ID = 0;
  explicit InternalError(std::string text) : text(std::move(text)) {}
  void log(llvm::raw_ostream &stream) const override { stream << text; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

private:
  std::string text;
};

inline llvm::Error internalError(const llvm::Twine &what) {
  return llvm::make_error<InternalError>(what.str());
}

} // namespace mpc

#endif // MPC_SUPPORT_INTERNALERROR_H
