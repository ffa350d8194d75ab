// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The --policy option.
#include "mpc/Policy/PolicySource.h"
#include "lib/Policy/JsonText.h"
#include "mpc/Support/InputFile.h"
#include "llvm/Support/FileSystem.h"

using namespace mpc;

llvm::Expected<PolicySource::Resolved> PolicySource::resolve(llvm::StringRef layerPath) const {
  if (auto *single = std::get_if<DTypePolicy>(&policy))
    return Resolved{*single, Decider::Policy, "", "policy \"" + single->getName().str() + "\""};
  llvm::Expected<DTypePolicyMap::Hit> hit = std::get<DTypePolicyMap>(policy).lookup(layerPath);
  if (!hit)
    return hit.takeError();
  if (!hit->key)
    return Resolved{hit->policy, Decider::MapDefault, "", "policy map default"};
  return Resolved{hit->policy, Decider::MapKey, *hit->key, "policy map key \"" + *hit->key + "\""};
}

llvm::Expected<DTypePolicy> PolicySource::lookup(llvm::StringRef layerPath) const {
  llvm::Expected<Resolved> resolved = resolve(layerPath);
  if (!resolved)
    return resolved.takeError();
  return resolved->policy;
}

/// Adds the place to an error and keeps its kind.
static llvm::Error at(llvm::StringRef place, llvm::Error error) {
  auto kind = PolicyErrorKind::Value;
  std::string text;
  llvm::handleAllErrors(
      std::move(error),
      [&](const PolicyError &policy) {
        kind = policy.getKind();
        text = policy.getText().str();
      },
      [&](const llvm::ErrorInfoBase &other) { text = other.message(); });
  return llvm::make_error<PolicyError>(kind, place.str() + ": " + text);
}

/// {"default_policy": name, "policy_map": {key: name}}. Unlike a serialised map every entry is
/// checked at once: people write this form by hand.
static llvm::Expected<DTypePolicyMap>
parseShortForm(const llvm::json::Object &object, llvm::StringRef text, const DTypePolicy &global) {
  for (const auto &member : object)
    if (llvm::StringRef name = member.first; name != "policy_map" && name != "default_policy")
      return valueError("unknown key \"" + name +
                        "\"; expected \"default_policy\" and \"policy_map\"");
  const llvm::json::Value *written = object.get("default_policy");
  llvm::Expected<DTypePolicyMap> map =
      DTypePolicyMap::withDefault(written ? *written : llvm::json::Value(nullptr), global);
  if (!map)
    return at("default_policy", map.takeError());
  const llvm::json::Value *policies = object.get("policy_map");
  if (!policies)
    return map;
  const llvm::json::Object *entries = policies->getAsObject();
  if (!entries)
    return typeError("\"policy_map\" must be an object of layer paths and policies");
  llvm::Error errors = llvm::Error::success();
  for (const std::string &key : jsonKeyOrder(text, {"policy_map"})) {
    const llvm::json::Value *value = entries->get(key);
    if (!value)
      continue;
    llvm::Expected<PolicyOrMap> policy = getPolicyOrMap(*value, global);
    llvm::Error error = policy ? llvm::Error::success() : policy.takeError();
    if (!error) {
      // Also a malformed key would make every layer fail: say it once, here.
      if (llvm::Expected<std::string> pattern = translatePythonRegex(key))
        error = map->set(key, *value, global);
      else
        error = pattern.takeError();
    }
    if (error)
      errors =
          llvm::joinErrors(std::move(errors), at("policy_map: \"" + key + "\"", std::move(error)));
  }
  if (errors)
    return errors;
  return map;
}

llvm::Expected<PolicySource> mpc::parsePolicyText(llvm::StringRef text, const DTypePolicy &global) {
  llvm::Expected<llvm::json::Value> value = parseJsonText(text);
  if (!value)
    return valueError("not JSON: " + llvm::toString(value.takeError()));
  const llvm::json::Object *object = value->getAsObject();
  if (object && (object->get("default_policy") || object->get("policy_map"))) {
    llvm::Expected<DTypePolicyMap> map = parseShortForm(*object, text, global);
    if (!map)
      return map.takeError();
    return PolicySource(std::move(*map));
  }
  llvm::Expected<PolicyOrMap> policy =
      getPolicyOrMap(*value, global, jsonKeyOrder(text, {"config", "policy_map"}));
  if (!policy)
    return policy.takeError();
  return PolicySource(std::move(*policy));
}

llvm::Expected<PolicySource> mpc::loadPolicyFile(llvm::StringRef path, const DTypePolicy &global) {
  auto buffer = readInputFile(path);
  if (!buffer)
    return valueError(path + ": " + buffer.getError().message() +
                      "; expected a JSON file with a policy or a policy map");
  llvm::Expected<PolicySource> source = parsePolicyText((*buffer)->getBuffer(), global);
  if (!source) {
    llvm::Error errors = llvm::Error::success();
    llvm::handleAllErrors(source.takeError(), [&](std::unique_ptr<llvm::ErrorInfoBase> one) {
      errors = llvm::joinErrors(std::move(errors), at(path, llvm::Error(std::move(one))));
    });
    return errors;
  }
  return source;
}

llvm::Expected<PolicySource> mpc::loadPolicyOption(llvm::StringRef text,
                                                   const DTypePolicy &global) {
  llvm::Expected<DTypePolicy> policy = parsePolicyName(text, global);
  if (policy)
    return PolicySource(PolicyOrMap(std::move(*policy)));
  if (!text.empty() && llvm::sys::fs::exists(text)) {
    llvm::consumeError(policy.takeError());
    return loadPolicyFile(text, global);
  }
  const std::string nearest = findNearestPolicyName(text);
  return valueError(llvm::toString(policy.takeError()) + " There is no file '" + text +
                    "' either; expected a policy name or a JSON file" +
                    (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
}
