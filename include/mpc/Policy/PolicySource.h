// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `--policy` option: a policy name, or a JSON file with a policy, a policy map, or the short
// form {"default_policy": "mixed_bfloat16", "policy_map": {"head": "float32"}}.
#ifndef MPC_POLICY_POLICYSOURCE_H
#define MPC_POLICY_POLICYSOURCE_H

#include "mpc/Policy/DTypePolicyMap.h"

namespace mpc {

/// Decides the policy of each layer by its path ("encoder/mha/query").
class PolicySource {
public:
  enum class Decider { Policy, MapKey, MapDefault };
  struct Resolved {
    DTypePolicy policy;
    Decider decider;
    /// The key of a map that decided; empty for other deciders.
    std::string key;
    /// The rule that decided, for remarks: `policy "mixed_float16"`, `policy map key "enc/.*"`,
    /// `policy map default`.
    std::string rule;
  };

  explicit PolicySource(PolicyOrMap policy) : policy(std::move(policy)) {}

  llvm::Expected<Resolved> resolve(llvm::StringRef layerPath) const;
  llvm::Expected<DTypePolicy> lookup(llvm::StringRef layerPath) const;
  const PolicyOrMap &getPolicy() const { return policy; }

private:
  PolicyOrMap policy;
};

/// The value of `--policy=`. A name is taken before a file of that name; text that is neither is an
/// error that says both.
llvm::Expected<PolicySource> loadPolicyOption(llvm::StringRef text, const DTypePolicy &global = {});
/// The file of `policy-file=`; errors start with the file's name.
llvm::Expected<PolicySource> loadPolicyFile(llvm::StringRef path, const DTypePolicy &global = {});
/// JSON text: a serialised policy or map, or the short form.
llvm::Expected<PolicySource> parsePolicyText(llvm::StringRef json, const DTypePolicy &global = {});

} // namespace mpc

#endif // MPC_POLICY_POLICYSOURCE_H
