// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// keras.dtype_policies.get and deserialize for JSON values as model files hold them.
#include "lib/Policy/PythonRepr.h"
#include "mpc/Policy/DTypePolicyMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mpc;

/// Builds one policy from the `config` of its serialised form.
class mpc::PolicyReader {
public:
  PolicyReader(llvm::StringRef className, const llvm::json::Object &config,
               const DTypePolicy &global)
      : className(className), config(config), global(global) {}

  llvm::Expected<DTypePolicy> read(PolicyClass policyClass) {
    switch (policyClass) {
    case PolicyClass::Plain:
    case PolicyClass::Float:
      return readPlain(policyClass);
    case PolicyClass::Quantized:
    case PolicyClass::QuantizedFloat8:
    case PolicyClass::Int4:
    case PolicyClass::GPTQ:
    case PolicyClass::AWQ:
      return readQuantized(policyClass);
    case PolicyClass::Map:
      break;
    }
    llvm_unreachable("maps are read elsewhere");
  }

private:
  llvm::Error deserializeError(const llvm::Twine &reason) {
    return typeError("<class '" + className +
                     "'> could not be deserialized properly. Exception encountered: " + className +
                     ".__init__() " + reason);
  }

  llvm::Error checkKeys(llvm::ArrayRef<llvm::StringRef> allowed) {
    llvm::SmallVector<llvm::StringRef> keys;
    for (const auto &member : config)
      keys.push_back(member.first);
    llvm::sort(keys);
    for (llvm::StringRef key : keys)
      if (!llvm::is_contained(allowed, key))
        return deserializeError("got an unexpected keyword argument '" + key + "'");
    return llvm::Error::success();
  }

  /// A string, or nothing for null and absent.
  llvm::Expected<std::optional<llvm::StringRef>> readName(llvm::StringRef key) {
    const llvm::json::Value *value = config.get(key);
    if (!value || value->kind() == llvm::json::Value::Null)
      return std::nullopt;
    if (std::optional<llvm::StringRef> text = value->getAsString())
      return text;
    return typeError("'name' must be a string, such as 'mixed_float16'. Received: name=" +
                     pythonRepr(*value) + " (of type " + pythonType(*value) + ")");
  }

  llvm::Expected<DTypePolicy> readPlain(PolicyClass policyClass) {
    // TensorFlow 2's Policy also held a loss scale, which the optimizer owns today.
    bool isTF2 = className == "Policy" || className == "PolicyV1";
    if (llvm::Error error =
            isTF2 ? checkKeys({"name", "loss_scale"}) : checkKeys(llvm::StringRef("name")))
      return error;
    llvm::Expected<std::optional<llvm::StringRef>> name = readName("name");
    if (!name)
      return name.takeError();
    return DTypePolicy::plain(name->value_or(global.getName()), policyClass);
  }

  llvm::Expected<DTypePolicy> readQuantized(PolicyClass policyClass) {
    bool isFloat8 = policyClass == PolicyClass::QuantizedFloat8;
    llvm::SmallVector<llvm::StringRef> allowed = {"mode", "source_name"};
    if (isFloat8)
      allowed.push_back("amax_history_length");
    if (llvm::Error error = checkKeys(allowed))
      return error;
    const llvm::json::Value *modeValue = config.get("mode");
    if (!modeValue && !isFloat8)
      return deserializeError("missing 1 required positional argument: 'mode'");
    if (modeValue && !modeValue->getAsString())
      return typeError("the quantization mode must be a string. Received: mode=" +
                       pythonRepr(*modeValue));
    llvm::StringRef mode = modeValue ? *modeValue->getAsString() : llvm::StringRef("float8");
    llvm::Expected<std::optional<llvm::StringRef>> source = readName("source_name");
    if (!source)
      return source.takeError();
    switch (policyClass) {
    case PolicyClass::Int4:
      return DTypePolicy::int4(mode, *source, global);
    case PolicyClass::GPTQ:
      return DTypePolicy::gptq(mode, *source, global);
    case PolicyClass::AWQ:
      return DTypePolicy::awq(mode, *source, global);
    case PolicyClass::QuantizedFloat8:
      return readFloat8(mode, *source);
    default:
      return DTypePolicy::quantized(mode, *source, global);
    }
  }

  llvm::Expected<DTypePolicy> readFloat8(llvm::StringRef mode,
                                         std::optional<llvm::StringRef> source) {
    llvm::Expected<DTypePolicy> policy = DTypePolicy::quantizedFloat8(mode, source, 1024, global);
    const llvm::json::Value *length = config.get("amax_history_length");
    if (!policy || !length)
      return policy;
    if (std::optional<bool> boolean = length->getAsBoolean()) {
      policy->historyIsBoolean = true;
      policy->amaxHistoryLength = *boolean;
      return policy;
    }
    std::optional<int64_t> integer = length->getAsInteger();
    if (!integer)
      return typeError(
          "`amax_history_length` must be an integer. Received: amax_history_length=" +
          (length->getAsString() ? length->getAsString()->str() : pythonRepr(*length)));
    policy->amaxHistoryLength = *integer;
    return policy;
  }

  llvm::StringRef className;
  const llvm::json::Object &config;
  const DTypePolicy &global;
};

static std::optional<PolicyClass> classOf(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<PolicyClass>>(name)
      .Cases({"DTypePolicy", "Policy", "PolicyV1"}, PolicyClass::Plain)
      .Case("FloatDTypePolicy", PolicyClass::Float)
      .Case("QuantizedDTypePolicy", PolicyClass::Quantized)
      .Case("QuantizedFloat8DTypePolicy", PolicyClass::QuantizedFloat8)
      .Case("Int4DTypePolicy", PolicyClass::Int4)
      .Case("GPTQDTypePolicy", PolicyClass::GPTQ)
      .Case("AWQDTypePolicy", PolicyClass::AWQ)
      .Case("DTypePolicyMap", PolicyClass::Map)
      .Default(std::nullopt);
}

/// keras.dtype_policies.deserialize. A wrong module name does no harm for a known class, a null
/// one is refused, as in Keras; registered_name and shared_object_id are not looked at.
static llvm::Expected<PolicyOrMap> deserialize(const llvm::json::Object &object,
                                               const DTypePolicy &global,
                                               llvm::ArrayRef<std::string> keyOrder) {
  const llvm::json::Value *nameValue = object.get("class_name");
  if (!nameValue)
    return valueError("Unknown `config` as a `dict`, config=" +
                      pythonRepr(llvm::json::Value(llvm::json::Object(object))));
  std::optional<llvm::StringRef> className = nameValue->getAsString();
  if (!className)
    return typeError("`class_name` must be a string. Received: class_name=" +
                     pythonRepr(*nameValue));
  const llvm::json::Value *module = object.get("module");
  if (module && module->kind() == llvm::json::Value::Null)
    return typeError("Cannot deserialize object of type `" + *className + "`. If `" + *className +
                     "` is a custom class, please register it using the "
                     "`@keras.saving.register_keras_serializable()` decorator.");
  std::optional<PolicyClass> policyClass = classOf(*className);
  if (!policyClass)
    return valueError("Unknown dtype policy class '" + *className +
                      "'. Expected DTypePolicy, FloatDTypePolicy, QuantizedDTypePolicy, "
                      "QuantizedFloat8DTypePolicy, Int4DTypePolicy, GPTQDTypePolicy, "
                      "AWQDTypePolicy or DTypePolicyMap.");
  const llvm::json::Value *configValue = object.get("config");
  static const llvm::json::Object empty;
  const llvm::json::Object *config = &empty;
  if (configValue && configValue->kind() != llvm::json::Value::Null &&
      !(config = configValue->getAsObject()))
    return typeError("`config` of " + *className +
                     " must be a dict. Received: config=" + pythonRepr(*configValue));
  if (*policyClass == PolicyClass::Map) {
    llvm::Expected<DTypePolicyMap> map = DTypePolicyMap::fromConfig(*config, global, keyOrder);
    if (!map)
      return map.takeError();
    return PolicyOrMap(std::move(*map));
  }
  llvm::Expected<DTypePolicy> policy = PolicyReader(*className, *config, global).read(*policyClass);
  if (!policy)
    return policy.takeError();
  return PolicyOrMap(std::move(*policy));
}

llvm::Expected<PolicyOrMap> mpc::getPolicyOrMap(const llvm::json::Value &identifier,
                                                const DTypePolicy &global,
                                                llvm::ArrayRef<std::string> keyOrder) {
  if (identifier.kind() == llvm::json::Value::Null)
    return PolicyOrMap(global);
  if (const llvm::json::Object *object = identifier.getAsObject())
    return deserialize(*object, global, keyOrder);
  if (std::optional<llvm::StringRef> name = identifier.getAsString()) {
    llvm::Expected<DTypePolicy> policy = parsePolicyName(*name, global);
    if (!policy)
      return policy.takeError();
    return PolicyOrMap(std::move(*policy));
  }
  return valueError("Cannot interpret `dtype` argument. Expected a string or an instance of "
                    "DTypePolicy. Received: dtype=" +
                    pythonRepr(identifier));
}

llvm::Expected<DTypePolicy> mpc::getPolicy(const llvm::json::Value &identifier,
                                           const DTypePolicy &global) {
  llvm::Expected<PolicyOrMap> result = getPolicyOrMap(identifier, global);
  if (!result)
    return result.takeError();
  if (auto *map = std::get_if<DTypePolicyMap>(&*result))
    return map->asPolicy();
  return std::get<DTypePolicy>(*result);
}
