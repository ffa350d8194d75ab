// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mpc/Support/Sha256.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include <openssl/evp.h>

using namespace mpc;

struct Sha256::State {
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

/// Without memory, or with a libcrypto that was configured to have no SHA-256.
static void check(int done) {
  if (done != 1)
    llvm::reportFatalUsageError("libcrypto cannot compute SHA-256");
}

Sha256::Sha256() : state(std::make_unique<State>()) {
  check(EVP_DigestInit_ex(state->context, EVP_sha256(), nullptr));
}

Sha256::~Sha256() = default;

void Sha256::update(llvm::StringRef piece) {
  check(EVP_DigestUpdate(state->context, piece.data(), piece.size()));
}

std::string Sha256::finish() {
  uint8_t digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  check(EVP_DigestFinal_ex(state->context, digest, &size));
  return llvm::toHex({digest, size}, /*LowerCase=*/true);
}

std::string Sha256::of(llvm::StringRef content) {
  Sha256 hash;
  hash.update(content);
  return hash.finish();
}
