// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Python's names of the exceptions that lib/Policy reproduces.
#include "mpc/Policy/PolicyError.h"

using namespace mpc;

char PolicyError::ID = 0;

llvm::StringRef PolicyError::getClassName() const {
  switch (kind) {
  case PolicyErrorKind::Type:
    return "TypeError";
  case PolicyErrorKind::Value:
    return "ValueError";
  case PolicyErrorKind::Key:
    return "KeyError";
  case PolicyErrorKind::Regex:
  case PolicyErrorKind::Budget:
    return "re.error";
  }
  llvm_unreachable("unknown policy error kind");
}
