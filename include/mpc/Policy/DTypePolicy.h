// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keras's dtype policies as values: which dtype a layer computes in, which dtype its variables are
// stored in, and how they are quantized. Acceptance, names and error texts are those of Keras
// 3.15.1 on TensorFlow (keras/src/dtype_policies/dtype_policy.py and __init__.py); the policy name
// match is strict: no trimming, no case folding.
#ifndef MPC_POLICY_DTYPEPOLICY_H
#define MPC_POLICY_DTYPEPOLICY_H

#include "mpc/Policy/PolicyError.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include <cstdint>
#include <optional>
#include <string>

namespace mpc {

class PolicyReader;

/// The Keras class of a policy. `Map` is a DTypePolicyMap that stands where a policy is expected;
/// its dtypes are those of its default.
enum class PolicyClass { Plain, Float, Quantized, QuantizedFloat8, Int4, GPTQ, AWQ, Map };

enum class QuantizationMode { None, Int8, Float8, Int4, GPTQ, AWQ };

/// As Keras spells it ("int8"); empty for none.
llvm::StringRef nameOf(QuantizationMode mode);

/// A Python `int`, of any size: Keras puts no bound on block sizes and history lengths.
struct PythonInteger {
  /// The normalised decimal spelling, as Python prints it.
  std::string text = "0";
  /// The value, saturated at the limits of int64_t.
  int64_t value = 0;

  friend bool operator==(const PythonInteger &a, const PythonInteger &b) {
    return a.text == b.text;
  }
};

class DTypePolicy {
public:
  /// The policy `float32`.
  DTypePolicy();

  /// `keras.DTypePolicy(name)`: a plain policy, never a quantized one, so "int8" is legal here and
  /// not in getPolicy. ValueError for every other name.
  static llvm::Expected<DTypePolicy> plain(llvm::StringRef name,
                                           PolicyClass policyClass = PolicyClass::Plain);

  /// `QuantizedDTypePolicy(mode, source)`: mode is exactly one of int8 float8 int4 gptq awq.
  /// A missing source is the global policy, here and below.
  static llvm::Expected<DTypePolicy> quantized(llvm::StringRef mode,
                                               std::optional<llvm::StringRef> source,
                                               const DTypePolicy &global = {});
  /// `QuantizedFloat8DTypePolicy(mode, source, amax_history_length)`. The history length is any
  /// integer, also 0 and negative ones.
  static llvm::Expected<DTypePolicy> quantizedFloat8(llvm::StringRef mode,
                                                     std::optional<llvm::StringRef> source,
                                                     int64_t amaxHistoryLength = 1024,
                                                     const DTypePolicy &global = {});
  /// `Int4DTypePolicy("int4/<block>", source)`: block -1 (per channel) or positive.
  static llvm::Expected<DTypePolicy>
  int4(llvm::StringRef mode, std::optional<llvm::StringRef> source, const DTypePolicy &global = {});
  /// `GPTQDTypePolicy("gptq/<bits>/<group>", source)`: bits 2, 3, 4 or 8; group -1 or positive.
  static llvm::Expected<DTypePolicy>
  gptq(llvm::StringRef mode, std::optional<llvm::StringRef> source, const DTypePolicy &global = {});
  /// `AWQDTypePolicy("awq/4/<group>", source)`.
  static llvm::Expected<DTypePolicy>
  awq(llvm::StringRef mode, std::optional<llvm::StringRef> source, const DTypePolicy &global = {});

  PolicyClass getClass() const { return policyClass; }
  /// "DTypePolicy", "QuantizedDTypePolicy", …
  llvm::StringRef getClassName() const;
  /// As given: "mixed_float16", "torch.float16", "int4/016_from_float32".
  llvm::StringRef getName() const { return name; }
  /// A Keras dtype name: "float16", "int64", "string", … (not every one is a type that mpc runs).
  llvm::StringRef getComputeDType() const { return computeDType; }
  llvm::StringRef getVariableDType() const { return variableDType; }

  bool isQuantized() const { return mode != QuantizationMode::None; }
  QuantizationMode getQuantizationMode() const { return mode; }
  /// "int8", … ; empty for a plain policy.
  llvm::StringRef getQuantizationModeName() const { return nameOf(mode); }
  /// The plain policy under a quantized one; empty for a plain policy.
  llvm::StringRef getSourceName() const { return sourceName; }
  /// Entries kept per float8 scale.
  int64_t getAmaxHistoryLength() const { return amaxHistoryLength; }
  /// Int4: rows that share a scale; -1 is one scale per channel.
  const PythonInteger &getBlockSize() const { return blockSize; }
  /// GPTQ, AWQ.
  int64_t getWeightBits() const { return weightBits; }
  const PythonInteger &getGroupSize() const { return groupSize; }

  /// The `config` of §serialisation; `nullNames` writes null for `name` and `source_name`, as a map
  /// without a default does for its entries.
  llvm::json::Object toInnerConfig(bool nullNames = false) const;
  /// `keras.dtype_policies.serialize`: module, class_name, config, registered_name (null).
  llvm::json::Object toConfig(bool nullNames = false) const;
  /// Python's repr: `<DTypePolicy "mixed_float16">`.
  std::string repr() const;

  /// Keras's `==`: DTypePolicy and FloatDTypePolicy of one name are equal.
  friend bool operator==(const DTypePolicy &a, const DTypePolicy &b);
  friend bool operator!=(const DTypePolicy &a, const DTypePolicy &b) { return !(a == b); }

private:
  friend class DTypePolicyMap;
  friend class PolicyReader;

  llvm::Error setQuantization(llvm::StringRef mode, std::optional<llvm::StringRef> source,
                              const DTypePolicy &global);

  PolicyClass policyClass = PolicyClass::Plain;
  QuantizationMode mode = QuantizationMode::None;
  std::string name = "float32";
  std::string computeDType = "float32";
  std::string variableDType = "float32";
  std::string sourceName;
  int64_t amaxHistoryLength = 1024;
  /// Python's True is an int, and Keras writes it back as it came.
  bool historyIsBoolean = false;
  int64_t weightBits = 0;
  PythonInteger blockSize;
  PythonInteger groupSize;
};

/// The name of a policy that mpc compiles and that `name` begins or is a misspelling of; "" where
/// none is near.
std::string findNearestPolicyName(llvm::StringRef name);

/// `keras.dtype_policies.get(name)`: a name that starts with a quantization mode is a quantized
/// one, everything else is plain. So "int8" and "float8_e4m3fn" are errors here, as in Keras.
llvm::Expected<DTypePolicy> parsePolicyName(llvm::StringRef name, const DTypePolicy &global = {});

/// Keras's standardize_dtype for strings: the canonical dtype name, or nothing.
/// "int" is int64 (TensorFlow); "torch.float16" and "jax.numpy.float16" are their last part.
std::optional<std::string> standardizeDType(llvm::StringRef name);

/// Python's `int(text)`: surrounding white space, sign, single underscores, Unicode digits.
std::optional<PythonInteger> parsePythonInteger(llvm::StringRef utf8);

} // namespace mpc

#endif // MPC_POLICY_DTYPEPOLICY_H
