// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keras's DTypePolicyMap (keras/src/dtype_policies/dtype_policy_map.py): a policy per layer path.
// A path is looked up as an exact key first, then every key is tried as a Python regular
// expression that must match the whole path.
#ifndef MPC_POLICY_DTYPEPOLICYMAP_H
#define MPC_POLICY_DTYPEPOLICYMAP_H

#include "mpc/Policy/DTypePolicy.h"
#include "mpc/Policy/PathPattern.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include <memory>
#include <variant>
#include <vector>

namespace mpc {

class DTypePolicyMap {
public:
  /// The policy that a layer path resolves to.
  struct Hit {
    DTypePolicy policy;
    /// The key that matched; nothing when the default was used.
    std::optional<std::string> key;
  };

  /// A map whose default is the global policy of this moment, written as null.
  explicit DTypePolicyMap(const DTypePolicy &global = {});
  /// `default_policy` as a JSON identifier: null, a name, or a serialised policy. A map is a
  /// ValueError.
  static llvm::Expected<DTypePolicyMap> withDefault(const llvm::json::Value &defaultPolicy,
                                                    const DTypePolicy &global = {});

  /// `map[key] = value`, value an identifier for getPolicy or a serialised map.
  /// ValueError for a key that is there already and for a value that names no policy.
  llvm::Error set(llvm::StringRef key, const llvm::json::Value &value,
                  const DTypePolicy &global = {});
  llvm::Error set(llvm::StringRef key, DTypePolicy policy);
  /// A map as an entry of a map: paths that hit it take its default.
  llvm::Error set(llvm::StringRef key, DTypePolicyMap nested);
  /// An entry as Keras's constructor takes it: a name is not looked at until a layer hits it.
  llvm::Error setUnchecked(llvm::StringRef key, llvm::StringRef name);

  /// ValueError when two keys match the path; the error of the first malformed key when the path
  /// is no exact key (all keys are tried on every such lookup, as in Keras).
  llvm::Expected<Hit> lookup(llvm::StringRef path) const;

  /// "map_<name of the default>".
  std::string getName() const { return "map_" + defaultPolicy.getName().str(); }
  const DTypePolicy &getDefault() const { return defaultPolicy; }
  /// In the order of insertion.
  std::vector<std::string> getKeys() const;
  size_t size() const { return entries.size(); }
  /// The map where one policy is expected: its name, the dtypes of its default.
  DTypePolicy asPolicy() const;

  /// `keras.dtype_policies.serialize(map)`. When the default is null, entries are written without
  /// names and take the reader's global policy; unlike Keras the live entries keep theirs.
  llvm::json::Object toConfig() const;
  /// The `config` part: {"default_policy": …, "policy_map": {…}}; KeyError without "policy_map".
  /// llvm::json does not keep the order of keys: pass it in keyOrder where the text is at hand
  /// (it shows only in messages); otherwise keys are sorted.
  static llvm::Expected<DTypePolicyMap> fromConfig(const llvm::json::Object &config,
                                                   const DTypePolicy &global = {},
                                                   llvm::ArrayRef<std::string> keyOrder = {});

private:
  struct Entry {
    std::string key;
    std::variant<DTypePolicy, std::shared_ptr<DTypePolicyMap>, std::string> value;
    PathPattern pattern;
  };

  llvm::Error insert(llvm::StringRef key,
                     std::variant<DTypePolicy, std::shared_ptr<DTypePolicyMap>, std::string> value);
  static llvm::Expected<DTypePolicy> resolve(const Entry &entry);
  static std::string reprOf(const Entry &entry);

  DTypePolicy defaultPolicy;
  /// As given: null, a string, or a serialised object.
  llvm::json::Value writtenDefault = nullptr;
  std::vector<Entry> entries;
  llvm::StringMap<size_t> exact;
};

/// `Layer(dtype=…)` accepts these from a file: one policy or a map.
using PolicyOrMap = std::variant<DTypePolicy, DTypePolicyMap>;

/// `keras.dtype_policies.get(identifier)` for JSON: null is the global policy, a string a name, an
/// object a serialised policy or map (`Policy` and `PolicyV1` of TensorFlow 2 files are plain
/// policies, their `loss_scale` is ignored), everything else a ValueError.
llvm::Expected<PolicyOrMap> getPolicyOrMap(const llvm::json::Value &identifier,
                                           const DTypePolicy &global = {},
                                           llvm::ArrayRef<std::string> keyOrder = {});
/// The same where only one policy fits; a map becomes DTypePolicyMap::asPolicy.
llvm::Expected<DTypePolicy> getPolicy(const llvm::json::Value &identifier,
                                      const DTypePolicy &global = {});

} // namespace mpc

#endif // MPC_POLICY_DTYPEPOLICYMAP_H
