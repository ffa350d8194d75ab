// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keras's DTypePolicyMap: filling, lookup by layer path, serialisation.
#include "mpc/Policy/DTypePolicyMap.h"
#include "lib/Policy/PythonRepr.h"
#include "llvm/ADT/STLExtras.h"

using namespace mpc;

DTypePolicyMap::DTypePolicyMap(const DTypePolicy &global) : defaultPolicy(global) {}

llvm::Expected<DTypePolicyMap> DTypePolicyMap::withDefault(const llvm::json::Value &written,
                                                           const DTypePolicy &global) {
  DTypePolicyMap map(global);
  llvm::Expected<PolicyOrMap> policy = getPolicyOrMap(written, global);
  if (!policy)
    return policy.takeError();
  auto *single = std::get_if<DTypePolicy>(&*policy);
  if (!single)
    return valueError("`default_policy` cannot be a `DTypePolicyMap`.");
  map.defaultPolicy = *single;
  if (written.getAsObject())
    map.writtenDefault = single->toConfig();
  else if (std::optional<llvm::StringRef> name = written.getAsString())
    map.writtenDefault = name->str(); // a copy of the value might only refer to the text
  return map;
}

llvm::Error DTypePolicyMap::insert(
    llvm::StringRef key,
    std::variant<DTypePolicy, std::shared_ptr<DTypePolicyMap>, std::string> value) {
  auto found = exact.find(key);
  if (found != exact.end())
    return valueError(key + " already exist in the DTypePolicyMap with value " +
                      reprOf(entries[found->second]) +
                      ". Please make sure to not use duplicated keys.");
  exact[key] = entries.size();
  entries.push_back({key.str(), std::move(value), PathPattern(key)});
  return llvm::Error::success();
}

llvm::Error DTypePolicyMap::set(llvm::StringRef key, const llvm::json::Value &value,
                                const DTypePolicy &global) {
  // The duplicate is reported before the value is looked at.
  if (exact.count(key))
    return insert(key, DTypePolicy());
  llvm::Expected<PolicyOrMap> policy = getPolicyOrMap(value, global);
  if (!policy) {
    llvm::consumeError(policy.takeError());
    std::string shown = value.getAsString() ? value.getAsString()->str() : pythonRepr(value);
    return valueError("Cannot interpret the assigned value by `keras.dtype_policies.get`. "
                      "Received: " +
                      shown + " of type " + pythonType(value));
  }
  if (auto *map = std::get_if<DTypePolicyMap>(&*policy))
    return set(key, std::move(*map));
  return set(key, std::get<DTypePolicy>(*policy));
}

llvm::Error DTypePolicyMap::set(llvm::StringRef key, DTypePolicy policy) {
  return insert(key, std::move(policy));
}

llvm::Error DTypePolicyMap::set(llvm::StringRef key, DTypePolicyMap nested) {
  return insert(key, std::make_shared<DTypePolicyMap>(std::move(nested)));
}

llvm::Error DTypePolicyMap::setUnchecked(llvm::StringRef key, llvm::StringRef name) {
  return insert(key, name.str());
}

llvm::Expected<DTypePolicy> DTypePolicyMap::resolve(const Entry &entry) {
  if (auto *policy = std::get_if<DTypePolicy>(&entry.value))
    return *policy;
  if (auto *map = std::get_if<std::shared_ptr<DTypePolicyMap>>(&entry.value))
    return (*map)->asPolicy();
  return parsePolicyName(std::get<std::string>(entry.value));
}

std::string DTypePolicyMap::reprOf(const Entry &entry) {
  if (auto *policy = std::get_if<DTypePolicy>(&entry.value))
    return policy->repr();
  if (auto *map = std::get_if<std::shared_ptr<DTypePolicyMap>>(&entry.value))
    return (*map)->asPolicy().repr();
  return std::get<std::string>(entry.value);
}

llvm::Expected<DTypePolicyMap::Hit> DTypePolicyMap::lookup(llvm::StringRef path) const {
  const Entry *hit = nullptr;
  if (auto found = exact.find(path); found != exact.end()) {
    hit = &entries[found->second];
  } else {
    std::vector<std::string> matching;
    for (const Entry &entry : entries) {
      llvm::Expected<bool> matches = entry.pattern.fullMatch(path);
      if (!matches)
        return matches.takeError();
      if (!*matches)
        continue;
      hit = &entry;
      matching.push_back(pythonRepr(llvm::StringRef(entry.key)));
    }
    if (matching.size() > 1)
      return valueError("Path '" + path + "' matches multiple dtype policy specification keys: [" +
                        llvm::join(matching, ", ") +
                        "]. Please make sure each path only matches at most one dtype policy "
                        "specification key in the DTypePolicyMap.");
  }
  if (!hit)
    return Hit{defaultPolicy, std::nullopt};
  llvm::Expected<DTypePolicy> policy = resolve(*hit);
  if (!policy)
    return policy.takeError();
  return Hit{std::move(*policy), hit->key};
}

std::vector<std::string> DTypePolicyMap::getKeys() const {
  std::vector<std::string> keys;
  for (const Entry &entry : entries)
    keys.push_back(entry.key);
  return keys;
}

DTypePolicy DTypePolicyMap::asPolicy() const {
  DTypePolicy policy = defaultPolicy;
  policy.policyClass = PolicyClass::Map;
  policy.name = getName();
  return policy;
}

llvm::json::Object DTypePolicyMap::toConfig() const {
  bool nullNames = writtenDefault.kind() == llvm::json::Value::Null;
  llvm::json::Object policies;
  for (const Entry &entry : entries) {
    if (auto *policy = std::get_if<DTypePolicy>(&entry.value))
      policies[entry.key] = policy->toConfig(nullNames);
    else if (auto *map = std::get_if<std::shared_ptr<DTypePolicyMap>>(&entry.value))
      policies[entry.key] = (*map)->toConfig();
    else
      policies[entry.key] = std::get<std::string>(entry.value);
  }
  return llvm::json::Object{{"module", "keras.dtype_policies"},
                            {"class_name", "DTypePolicyMap"},
                            {"config", llvm::json::Object{{"default_policy", writtenDefault},
                                                          {"policy_map", std::move(policies)}}},
                            {"registered_name", nullptr}};
}

llvm::Expected<DTypePolicyMap> DTypePolicyMap::fromConfig(const llvm::json::Object &config,
                                                          const DTypePolicy &global,
                                                          llvm::ArrayRef<std::string> keyOrder) {
  const llvm::json::Value *policies = config.get("policy_map");
  if (!policies)
    return keyError("policy_map");
  for (const auto &member : config)
    if (llvm::StringRef name = member.first; name != "policy_map" && name != "default_policy")
      return typeError("DTypePolicyMap.__init__() got an unexpected keyword argument '" + name +
                       "'");
  const llvm::json::Object *object = policies->getAsObject();
  if (!object)
    return typeError("Expected `policy_map` to be a dict. Received: policy_map=" +
                     pythonRepr(*policies));
  const llvm::json::Value *written = config.get("default_policy");
  llvm::Expected<DTypePolicyMap> map =
      withDefault(written ? *written : llvm::json::Value(nullptr), global);
  if (!map)
    return map.takeError();

  std::vector<std::string> order(keyOrder.begin(), keyOrder.end());
  if (order.size() != object->size()) {
    order.clear();
    for (const auto &member : *object)
      order.push_back(llvm::StringRef(member.first).str());
    llvm::sort(order);
  }
  for (const std::string &key : order) {
    const llvm::json::Value *value = object->get(key);
    if (!value)
      return keyError(key);
    llvm::Error error = llvm::Error::success();
    if (std::optional<llvm::StringRef> name = value->getAsString()) {
      error = map->setUnchecked(key, *name);
    } else {
      llvm::Expected<PolicyOrMap> policy = getPolicyOrMap(*value, global);
      if (!policy)
        error = policy.takeError();
      else if (auto *nested = std::get_if<DTypePolicyMap>(&*policy))
        error = map->set(key, std::move(*nested));
      else
        error = map->set(key, std::get<DTypePolicy>(*policy));
    }
    if (error)
      return error;
  }
  return map;
}
