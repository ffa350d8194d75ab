// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Construction, equality and serialisation of one policy. The order of the checks in each factory
// is Keras's, because it decides which of two faults is reported.
#include "mpc/Policy/DTypePolicy.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace mpc;

DTypePolicy::DTypePolicy() = default;

llvm::Expected<DTypePolicy> DTypePolicy::plain(llvm::StringRef name, PolicyClass policyClass) {
  DTypePolicy policy;
  policy.policyClass = policyClass;
  policy.name = name.str();
  if (name == "mixed_float16" || name == "mixed_bfloat16") {
    policy.computeDType = name.drop_front(strlen("mixed_")).str();
    return policy;
  }
  std::optional<std::string> dtype = standardizeDType(name);
  if (!dtype)
    return valueError("Cannot convert '" + name +
                      "' to a mixed precision DTypePolicy. Valid policies include 'mixed_float16', "
                      "'mixed_bfloat16', and the name of any float dtype such as 'float32'.");
  policy.computeDType = policy.variableDType = *dtype;
  return policy;
}

llvm::Error DTypePolicy::setQuantization(llvm::StringRef modeName,
                                         std::optional<llvm::StringRef> source,
                                         const DTypePolicy &global) {
  llvm::StringRef plainName = source ? *source : global.getName();
  llvm::Expected<DTypePolicy> base = plain(plainName);
  if (!base)
    return base.takeError();
  computeDType = base->computeDType;
  variableDType = base->variableDType;

  if (modeName == "int8")
    mode = QuantizationMode::Int8;
  else if (modeName == "float8")
    mode = QuantizationMode::Float8;
  else if (modeName == "int4")
    mode = QuantizationMode::Int4;
  else if (modeName == "gptq")
    mode = QuantizationMode::GPTQ;
  else if (modeName == "awq")
    mode = QuantizationMode::AWQ;
  else
    return valueError("Invalid quantization mode. Expected one of ('int8', 'float8', 'int4', "
                      "'gptq', 'awq'). Received: mode=" +
                      modeName);
  if (computeDType == "float16" && mode == QuantizationMode::Int8)
    return valueError("Quantization mode='" + modeName +
                      "' doesn't work well with compute_dtype='float16'.");
  name = (modeName + "_from_" + plainName).str();
  sourceName = plainName.str();
  return llvm::Error::success();
}

llvm::Expected<DTypePolicy> DTypePolicy::quantized(llvm::StringRef mode,
                                                   std::optional<llvm::StringRef> source,
                                                   const DTypePolicy &global) {
  DTypePolicy policy;
  policy.policyClass = PolicyClass::Quantized;
  if (llvm::Error error = policy.setQuantization(mode, source, global))
    return error;
  return policy;
}

llvm::Expected<DTypePolicy> DTypePolicy::quantizedFloat8(llvm::StringRef mode,
                                                         std::optional<llvm::StringRef> source,
                                                         int64_t amaxHistoryLength,
                                                         const DTypePolicy &global) {
  DTypePolicy policy;
  policy.policyClass = PolicyClass::QuantizedFloat8;
  if (llvm::Error error = policy.setQuantization(mode, source, global))
    return error;
  policy.amaxHistoryLength = amaxHistoryLength;
  return policy;
}

/// Keras keeps the spelling of mode and source in the name, also a missing source: "…_from_None".
static std::string nameAsGiven(llvm::StringRef mode, std::optional<llvm::StringRef> source) {
  return (mode + "_from_" + source.value_or("None")).str();
}

llvm::Expected<DTypePolicy> DTypePolicy::int4(llvm::StringRef mode,
                                              std::optional<llvm::StringRef> source,
                                              const DTypePolicy &global) {
  llvm::SmallVector<llvm::StringRef> parts;
  mode.split(parts, '/');
  if (parts.size() != 2 || parts[0] != "int4")
    return valueError("Invalid mode for Int4DTypePolicy. Expected format 'int4/<block_size>', but "
                      "got '" +
                      mode + "'.");
  std::optional<PythonInteger> block = parsePythonInteger(parts[1]);
  if (!block)
    return valueError("Invalid mode for Int4DTypePolicy. <block_size> must be an integer. Expected "
                      "format 'int4/<block_size>', but got '" +
                      mode + "'.");
  if (block->value < -1 || block->value == 0)
    return valueError("Invalid block_size in mode. Supported values are -1 (per-channel) or a "
                      "positive integer (sub-channel), but got " +
                      block->text + " from '" + mode + "'.");
  DTypePolicy policy;
  policy.policyClass = PolicyClass::Int4;
  if (llvm::Error error = policy.setQuantization("int4", source, global))
    return error;
  policy.name = nameAsGiven(mode, source);
  policy.blockSize = *block;
  return policy;
}

/// "<mode>/<weight_bits>/<group_size>" of GPTQ and AWQ.
static llvm::Error parseBitsAndGroup(llvm::StringRef mode, llvm::StringRef base,
                                     llvm::StringRef className, PythonInteger &bits,
                                     PythonInteger &group) {
  std::string expected =
      ("Expected format '" + base + "/<weight_bits>/<group_size>', but got '" + mode + "'.").str();
  llvm::SmallVector<llvm::StringRef> parts;
  mode.split(parts, '/');
  if (parts.size() != 3 || parts[0] != base)
    return valueError("Invalid mode for " + className + ". " + expected);
  std::optional<PythonInteger> first = parsePythonInteger(parts[1]);
  std::optional<PythonInteger> second = parsePythonInteger(parts[2]);
  if (!first || !second)
    return valueError("Invalid mode for " + className +
                      ". <weight_bits> and <group_size> must be integers. " + expected);
  bits = *first;
  group = *second;
  return llvm::Error::success();
}

static llvm::Error checkGroup(const PythonInteger &group, llvm::StringRef mode,
                              llvm::StringRef minusOne) {
  if (group.value >= -1 && group.value != 0)
    return llvm::Error::success();
  return valueError("Invalid group_size in mode. Supported values are -1 (" + minusOne +
                    ") or a positive integer, but got " + group.text + " from '" + mode + "'.");
}

llvm::Expected<DTypePolicy> DTypePolicy::gptq(llvm::StringRef mode,
                                              std::optional<llvm::StringRef> source,
                                              const DTypePolicy &global) {
  PythonInteger bits, group;
  if (llvm::Error error = parseBitsAndGroup(mode, "gptq", "GPTQDTypePolicy", bits, group))
    return error;
  if (!llvm::is_contained({2, 3, 4, 8}, bits.value))
    return valueError("Invalid weight_bits in mode. Supported values are 2, 3, 4, and 8, but got " +
                      bits.text + " from '" + mode + "'.");
  if (llvm::Error error = checkGroup(group, mode, "whole-tensor"))
    return error;
  DTypePolicy policy;
  policy.policyClass = PolicyClass::GPTQ;
  if (llvm::Error error = policy.setQuantization("gptq", source, global))
    return error;
  policy.name = nameAsGiven(mode, source);
  policy.weightBits = bits.value;
  policy.groupSize = group;
  return policy;
}

llvm::Expected<DTypePolicy> DTypePolicy::awq(llvm::StringRef mode,
                                             std::optional<llvm::StringRef> source,
                                             const DTypePolicy &global) {
  PythonInteger bits, group;
  if (llvm::Error error = parseBitsAndGroup(mode, "awq", "AWQDTypePolicy", bits, group))
    return error;
  if (bits.value != 4)
    return valueError(
        "Invalid weight_bits in mode. AWQ only supports 4-bit quantization, but got " + bits.text +
        " from '" + mode + "'.");
  if (llvm::Error error = checkGroup(group, mode, "per-channel"))
    return error;
  DTypePolicy policy;
  policy.policyClass = PolicyClass::AWQ;
  if (llvm::Error error = policy.setQuantization("awq", source, global))
    return error;
  policy.name = nameAsGiven(mode, source);
  policy.weightBits = bits.value;
  policy.groupSize = group;
  return policy;
}

llvm::StringRef DTypePolicy::getClassName() const {
  switch (policyClass) {
  case PolicyClass::Plain:
    return "DTypePolicy";
  case PolicyClass::Float:
    return "FloatDTypePolicy";
  case PolicyClass::Quantized:
    return "QuantizedDTypePolicy";
  case PolicyClass::QuantizedFloat8:
    return "QuantizedFloat8DTypePolicy";
  case PolicyClass::Int4:
    return "Int4DTypePolicy";
  case PolicyClass::GPTQ:
    return "GPTQDTypePolicy";
  case PolicyClass::AWQ:
    return "AWQDTypePolicy";
  case PolicyClass::Map:
    return "DTypePolicyMap";
  }
  llvm_unreachable("unknown policy class");
}

llvm::StringRef mpc::nameOf(QuantizationMode mode) {
  switch (mode) {
  case QuantizationMode::None:
    return "";
  case QuantizationMode::Int8:
    return "int8";
  case QuantizationMode::Float8:
    return "float8";
  case QuantizationMode::Int4:
    return "int4";
  case QuantizationMode::GPTQ:
    return "gptq";
  case QuantizationMode::AWQ:
    return "awq";
  }
  llvm_unreachable("unknown quantization mode");
}

llvm::json::Object DTypePolicy::toInnerConfig(bool nullNames) const {
  llvm::json::Object config;
  if (policyClass == PolicyClass::Plain || policyClass == PolicyClass::Float) {
    config["name"] = nullNames ? llvm::json::Value(nullptr) : llvm::json::Value(name);
    return config;
  }
  std::string modeText = getQuantizationModeName().str();
  if (policyClass == PolicyClass::Int4)
    modeText += "/" + blockSize.text;
  if (policyClass == PolicyClass::GPTQ || policyClass == PolicyClass::AWQ)
    modeText += "/" + std::to_string(weightBits) + "/" + groupSize.text;
  config["mode"] = modeText;
  config["source_name"] = nullNames ? llvm::json::Value(nullptr) : llvm::json::Value(sourceName);
  if (policyClass == PolicyClass::QuantizedFloat8)
    config["amax_history_length"] = historyIsBoolean ? llvm::json::Value(amaxHistoryLength != 0)
                                                     : llvm::json::Value(amaxHistoryLength);
  return config;
}

llvm::json::Object DTypePolicy::toConfig(bool nullNames) const {
  bool isPlain = policyClass == PolicyClass::Plain || policyClass == PolicyClass::Float;
  return llvm::json::Object{{"module", isPlain ? "keras" : "keras.dtype_policies"},
                            {"class_name", getClassName()},
                            {"config", toInnerConfig(nullNames)},
                            {"registered_name", nullptr}};
}

std::string DTypePolicy::repr() const {
  // FloatDTypePolicy inherits DTypePolicy's repr, which writes that name.
  llvm::StringRef shown = policyClass == PolicyClass::Float ? "DTypePolicy" : getClassName();
  return ("<" + shown + " \"" + name + "\">").str();
}

bool mpc::operator==(const DTypePolicy &a, const DTypePolicy &b) {
  auto family = [](PolicyClass c) { return c == PolicyClass::Float ? PolicyClass::Plain : c; };
  return family(a.policyClass) == family(b.policyClass) && a.name == b.name &&
         a.amaxHistoryLength == b.amaxHistoryLength && a.blockSize == b.blockSize &&
         a.weightBits == b.weightBits && a.groupSize == b.groupSize;
}
