// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Policy names: keras.dtype_policies.get for strings, and standardize_dtype under it.
#include "mpc/Policy/DTypePolicy.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mpc;

/// ALLOWED_DTYPES of keras/src/backend/common/dtypes.py.
static bool isAllowedDType(llvm::StringRef name) {
  return llvm::StringSwitch<bool>(name)
      .Cases({"float16", "float32", "float64", "bfloat16"}, true)
      .Cases({"uint8", "uint16", "uint32", "uint64"}, true)
      .Cases({"int8", "int16", "int32", "int64"}, true)
      .Cases({"bool", "string", "complex64", "complex128"}, true)
      .Cases({"float8_e4m3fn", "float8_e5m2"}, true)
      .Default(false);
}

std::optional<std::string> mpc::standardizeDType(llvm::StringRef name) {
  if (name == "int")
    return "int64";
  if (name.contains("torch") || name.contains("jax.numpy"))
    name = name.substr(name.rfind('.') + 1); // npos + 1 is 0
  if (!isAllowedDType(name))
    return std::nullopt;
  return name.str();
}

std::string mpc::findNearestPolicyName(llvm::StringRef name) {
  static constexpr llvm::StringLiteral sources[] = {"mixed_bfloat16", "mixed_float16", "float32",
                                                    "bfloat16",       "float16",       "float64"};
  llvm::SmallVector<std::string> names(std::begin(sources), std::end(sources));
  for (llvm::StringRef mode : {"int8", "int4", "float8"})
    for (llvm::StringRef source : llvm::ArrayRef(sources).drop_back())
      names.push_back((mode + "_from_" + source).str());
  // The beginning of a longer name, as "float8", says more than a likeness of letters.
  if (auto begun = llvm::find_if(
          names,
          [&](const std::string &known) { return llvm::StringRef(known).starts_with(name); });
      begun != names.end() && name.size() > 3)
    return *begun;
  const std::string *best = nullptr;
  unsigned fewest = unsigned(std::min<size_t>(name.size() / 3, 8)) + 1;
  for (const std::string &known : names)
    if (unsigned distance =
            name.edit_distance_insensitive(known, /*AllowReplacements=*/true, fewest);
        distance < fewest) {
      fewest = distance;
      best = &known;
    }
  return best ? *best : "";
}

llvm::Expected<DTypePolicy> mpc::parsePolicyName(llvm::StringRef name, const DTypePolicy &global) {
  static constexpr llvm::StringLiteral modes[] = {"int8", "float8", "int4", "gptq", "awq"};
  if (!llvm::any_of(modes, [&](llvm::StringRef mode) { return name.starts_with(mode); }))
    return DTypePolicy::plain(name);

  // Python's str.split on the whole separator; exactly two parts.
  auto [mode, source] = name.split("_from_");
  if (name.find("_from_") == llvm::StringRef::npos || source.contains("_from_"))
    return valueError("Cannot convert `policy` into a valid pair (`mode`, `source_name`) to "
                      "instantiate `QuantizedDTypePolicy`. Received: policy=" +
                      name);
  if (name.starts_with("int8"))
    return DTypePolicy::quantized(mode, source, global);
  if (name.starts_with("int4"))
    return mode.contains('/') ? DTypePolicy::int4(mode, source, global)
                              : DTypePolicy::quantized(mode, source, global);
  if (name.starts_with("gptq"))
    return DTypePolicy::gptq(mode, source, global);
  if (name.starts_with("awq"))
    return DTypePolicy::awq(mode, source, global);
  return DTypePolicy::quantizedFloat8(mode, source, 1024, global);
}
