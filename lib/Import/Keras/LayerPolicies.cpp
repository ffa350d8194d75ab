// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The policies of layers as far as the import needs them: the file's, which mpc.layer carries, and
// which layers are imported in a quantized form.
#include "lib/Import/Keras/LayerPolicies.h"

#include "mpc/Policy/DTypePolicyMap.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

namespace mpc::keras {

const DTypePolicy &LayerPolicies::getStored(const LayerConfig &layer, llvm::StringRef path) {
  std::unique_ptr<DTypePolicy> &decided = storedOf[&layer];
  if (decided)
    return *decided;
  decided = std::make_unique<DTypePolicy>();
  const llvm::json::Value *value = layer.config.get("dtype");
  // The policy that an importer made for a part of a layer.
  llvm::json::Value made = nullptr;
  if (mlir::StringAttr known = names.lookup(&layer)) {
    made = known.getValue();
    value = &made;
  }
  if (!value || value->kind() == llvm::json::Value::Null)
    return *decided;
  llvm::Expected<PolicyOrMap> policy = getPolicyOrMap(*value);
  if (!policy) {
    report.error(path, llvm::toString(policy.takeError()));
    return *decided;
  }
  if (const auto *map = std::get_if<DTypePolicyMap>(&*policy)) {
    // Loading gives a layer its path when it is built from build_config, with no container open:
    // the path is the layer's own name. A layer without one asks nothing but the default.
    *decided = map->getDefault();
    if (layer.buildConfig) {
      llvm::Expected<DTypePolicyMap::Hit> hit = map->lookup(layer.name);
      if (!hit)
        report.error(path, llvm::toString(hit.takeError()));
      else
        *decided = hit->policy;
    }
  } else {
    *decided = std::get<DTypePolicy>(*policy);
  }
  return *decided;
}

mlir::StringAttr LayerPolicies::getName(const LayerConfig &layer, llvm::StringRef path) {
  if (auto known = names.find(&layer); known != names.end())
    return known->second;
  const llvm::json::Value *value = layer.config.get("dtype");
  if (!value || value->kind() == llvm::json::Value::Null)
    return {};
  const DTypePolicy &policy = getStored(layer, path);
  std::string text = policy.getName().str();
  // A quantized policy whose source was null in the file has a name that nobody can parse.
  if (policy.isQuantized())
    if (llvm::Expected<DTypePolicy> named = parsePolicyName(text); !named) {
      llvm::consumeError(named.takeError());
      text = llvm::formatv("{0}", llvm::json::Value(policy.toConfig())).str();
    }
  return names[&layer] = mlir::StringAttr::get(context, text);
}

const DTypePolicy &LayerPolicies::getDecided(const LayerConfig &layer, llvm::StringRef path) {
  if (!option)
    return getStored(layer, path);
  std::unique_ptr<DTypePolicy> &decided = decidedOf[&layer];
  if (!decided) {
    llvm::Expected<PolicySource::Resolved> resolved = option->resolve(path);
    if (!resolved)
      llvm::consumeError(resolved.takeError()); // mpc-apply-policy reports it
    decided = std::make_unique<DTypePolicy>(resolved ? resolved->policy : DTypePolicy());
  }
  return *decided;
}

static std::string describe(const DTypePolicy &policy) {
  return "the policy '" + policy.getName().str() + "'";
}

mpc_rt_dtype_t LayerPolicies::getVariableDType(const LayerConfig &layer, llvm::StringRef path) {
  return llvm::StringSwitch<mpc_rt_dtype_t>(getDecided(layer, path).getVariableDType())
      .Case("float16", MPC_RT_FLOAT16)
      .Case("bfloat16", MPC_RT_BFLOAT16)
      .Case("float64", MPC_RT_FLOAT64)
      .Default(MPC_RT_FLOAT32);
}

std::optional<Quantization>
LayerPolicies::decideQuantization(const LayerConfig &layer, llvm::StringRef path,
                                  llvm::ArrayRef<QuantizationMode> forms, bool isWhole) {
  const DTypePolicy &file = getStored(layer, path), &decided = getDecided(layer, path);
  auto fail = [&](const llvm::Twine &message) {
    report.error(path, message);
    return std::nullopt;
  };
  const bool isStored = file.isQuantized();
  if (!isStored && !decided.isQuantized())
    return Quantization();
  if (isStored && decided.getQuantizationMode() != file.getQuantizationMode())
    return fail("the file holds the layer quantized under " + describe(file) +
                ", which the option's policy '" + decided.getName() +
                "' cannot undo; give it a policy of the same mode, '" +
                file.getQuantizationModeName() + "_from_…'");
  if (!isStored && Quantization::isCalibratedMode(decided.getQuantizationMode())) {
    const bool isGptq = decided.getQuantizationMode() == QuantizationMode::GPTQ;
    const llvm::StringRef mode = decided.getQuantizationModeName();
    const llvm::StringRef name = isGptq ? "GPTQ" : "AWQ";
    return fail("the mode '" + mode + "' needs calibration data, which Keras takes in a `" + name +
                "Config` object; call model.quantize(\"" + mode + "\", config=" + name +
                "Config(...)) in Keras and compile the file that it saves");
  }
  // markQuantization refuses what is stored in a form that the class has not.
  if (!llvm::is_contained(forms, decided.getQuantizationMode()))
    return Quantization();
  // A wrapper computes its layer's numbers in its own way: model.quantize leaves it alone.
  if (!isWhole && !isStored)
    return Quantization();
  if (!isWhole)
    return fail("holds a quantized " + layer.className +
                ", which Keras then calls without its scales; leave it out of model.quantize "
                "(filters=), or use it without the wrapper around it");
  const llvm::json::Value *config = layer.config.get("quantization_config");
  llvm::Expected<Quantization> result = readQuantization(decided, isStored ? config : nullptr);
  if (!result)
    return fail(llvm::toString(result.takeError()));
  if (isStored) {
    // The option may change what is computed, not what is stored.
    llvm::Expected<Quantization> stored = readQuantization(file, config);
    if (!stored)
      return fail(llvm::toString(stored.takeError()));
    // The layer's own config decides; a policy that says a size must say that one.
    const int64_t said = std::clamp<int64_t>(decided.getBlockSize().value, 0, int64_t(1) << 40);
    if (&decided != &file && decided.getClass() == PolicyClass::Int4 && said != stored->blockSize)
      return fail("the file holds int4 in blocks of another size than the option's policy '" +
                  decided.getName() + "' says");
    result->historyLength = stored->historyLength;
  }
  result->ofFloats = !isStored;
  return std::move(*result);
}

void LayerPolicies::markQuantization(LayerOp op, const LayerConfig &layer, llvm::StringRef path,
                                     llvm::StringRef mode) {
  const DTypePolicy &file = getStored(layer, path);
  if (mode.empty() && file.isQuantized()) {
    report.error(path, describe(file) + " quantizes, and a layer of class " + layer.className +
                           " has no '" + file.getQuantizationModeName() +
                           "' form; Keras does not run such a model either; give the layer a plain "
                           "policy");
    return;
  }
  if (!mode.empty())
    op.setQuantization(mode);
  else if (option)
    op.setQuantization("none");
}

} // namespace mpc::keras
