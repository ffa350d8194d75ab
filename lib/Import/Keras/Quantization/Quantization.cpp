// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/Quantization/Quantization.h"

#include "lib/Import/Keras/Objects.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <algorithm>

namespace mpc::keras {
namespace {

llvm::Error configError(const llvm::Twine &message) {
  return llvm::createStringError(message + " in 'quantization_config'");
}

/// A tuple is a list, or {"class_name": "__tuple__", "items": [...]}.
const llvm::json::Array *readTuple(const llvm::json::Value *value) {
  if (!value)
    return nullptr;
  if (const llvm::json::Object *object = value->getAsObject())
    return object->getArray("items");
  return value->getAsArray();
}

llvm::Expected<ActivationQuantizer> readAbsMax(const SerializedObject &object) {
  if (object.className != "AbsMaxQuantizer")
    return configError("the activation quantizer '" + object.className +
                       "' is not supported; expected AbsMaxQuantizer");
  if (llvm::StringRef dtype = object.config.getString("output_dtype").value_or("int8");
      dtype != "int8")
    return configError("an activation quantizer to " + dtype + " is not supported; expected int8");
  ActivationQuantizer result;
  if (const llvm::json::Value *range = object.config.get("value_range")) {
    const llvm::json::Array *bounds = readTuple(range);
    if (!bounds || bounds->size() != 2 || !(*bounds)[0].getAsNumber() ||
        !(*bounds)[1].getAsNumber())
      return configError("'value_range' must be two numbers");
    result.low = *(*bounds)[0].getAsNumber();
    result.high = *(*bounds)[1].getAsNumber();
    if (!(result.low >= -128 && result.low <= result.high && result.high <= 127))
      return configError("'value_range' must lie within [-128, 127]");
  }
  result.epsilon = object.config.getNumber("epsilon").value_or(result.epsilon);
  return result;
}

/// keras/src/quantizers/gptq_core.py and awq_core.py: the config's numbers, else the policy's.
llvm::Expected<Quantization> readCalibrated(const DTypePolicy &policy,
                                            const SerializedObject &object) {
  Quantization result;
  result.mode = policy.getQuantizationMode();
  const bool isGptq = result.mode == QuantizationMode::GPTQ;
  int64_t group = policy.getGroupSize().value;
  result.weightBits = isGptq ? policy.getWeightBits() : 4;
  if (object.className == (isGptq ? "GPTQConfig" : "AWQConfig")) {
    group = object.config.getInteger("group_size").value_or(128);
    result.weightBits = object.config.getInteger("weight_bits").value_or(4);
  } else if (!object.className.empty()) {
    return configError("'" + object.className + "' is not supported for the mode " +
                       policy.getQuantizationModeName());
  }
  if (group < -1 || group == 0)
    return configError("'group_size' must be -1 or positive");
  if (!llvm::is_contained({2, 3, 4, 8}, result.weightBits))
    return configError("'weight_bits' must be 2, 3, 4 or 8");
  result.blockSize = group == -1 ? 0 : std::min<int64_t>(group, int64_t(1) << 40);
  return result;
}

} // namespace

llvm::Expected<Quantization> readQuantization(const DTypePolicy &policy,
                                              const llvm::json::Value *config) {
  Quantization result;
  result.mode = policy.getQuantizationMode();
  result.computesInFloat32 = policy.getComputeDType() == "float32";
  const SerializedObject object = readObject(config);
  const bool hasConfig = !object.className.empty();
  switch (result.mode) {
  case QuantizationMode::None:
    return result;
  case QuantizationMode::GPTQ:
  case QuantizationMode::AWQ:
    return readCalibrated(policy, object);
  case QuantizationMode::Float8:
    // A map in place of the policy has no history length of its own, and Keras takes the default.
    result.historyLength =
        policy.getClass() == PolicyClass::QuantizedFloat8 ? policy.getAmaxHistoryLength() : 1024;
    if (result.historyLength < 1 || result.historyLength > (int64_t(1) << 24))
      return llvm::createStringError("'amax_history_length' must be from 1 to 2^24, not " +
                                     llvm::Twine(result.historyLength));
    return result;
  case QuantizationMode::Int8:
    if (!hasConfig)
      result.activation = ActivationQuantizer();
    break;
  case QuantizationMode::Int4:
    if (policy.getClass() == PolicyClass::Int4)
      result.blockSize = policy.getBlockSize().value;
    // The mode that the layer was built with counts; a policy that was assigned later may say
    // something else.
    if (object.className == "Int4QuantizationConfig")
      result.blockSize = object.config.getInteger("block_size").value_or(0);
    // A kernel that is shorter than a block has one block.
    result.blockSize =
        result.blockSize == -1 ? 0 : std::min<int64_t>(result.blockSize, int64_t(1) << 40);
    if (result.blockSize < 0)
      return configError("'block_size' must be null, -1 or positive");
    break;
  }
  if (!hasConfig)
    return result;
  if (object.className != "Int8QuantizationConfig" && object.className != "Int4QuantizationConfig")
    return configError("'" + object.className + "' is not supported for the mode " +
                       policy.getQuantizationModeName());
  const SerializedObject quantizer = readObject(object.config.get("activation_quantizer"));
  if (quantizer.className.empty())
    return result;
  if (result.blockSize > 0)
    return configError("blocks of int4 take no activation quantizer");
  llvm::Expected<ActivationQuantizer> activation = readAbsMax(quantizer);
  if (!activation)
    return activation.takeError();
  result.activation = *activation;
  return result;
}

} // namespace mpc::keras
