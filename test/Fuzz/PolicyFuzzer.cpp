// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The JSON that --policy takes: policies, maps and their short form, whose keys are Python's
// regular expressions. Layers are looked up, so that the expressions run.
#include "mpc/Policy/PolicySource.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  llvm::Expected<mpc::PolicySource> policy = mpc::parsePolicyText(text);
  if (!policy) {
    llvm::consumeError(policy.takeError());
    return 0;
  }
  for (const char *path :
       {"dense", "encoder/layer_11/mha/query", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"})
    if (auto resolved = policy->resolve(path); !resolved)
      llvm::consumeError(resolved.takeError());
  return 0;
}
