// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sha256: what names contents in manifests, as `sha256sum` prints it.
#ifndef MPC_SUPPORT_SHA256_H
#define MPC_SUPPORT_SHA256_H

#include "llvm/ADT/StringRef.h"

#include <memory>
#include <string>

namespace mpc {

/// SHA-256 (FIPS 180-4) of pieces that follow each other. By libcrypto, which has the CPU's
/// instructions for it: docs/decisions/0056-libcrypto.md.
class Sha256 {
public:
  Sha256();
  ~Sha256();

  void update(llvm::StringRef piece);
  /// 64 hexadecimal digits in lower case; nothing may follow.
  std::string finish();

  static std::string of(llvm::StringRef content);

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace mpc

#endif
