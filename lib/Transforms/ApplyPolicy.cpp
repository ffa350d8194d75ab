// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mpc-apply-policy: the policy of each layer, from the file or the option, as a precision
// attribute. It runs before any type changes, so that everything later reads one attribute instead
// of names.
#include "mlir/IR/Remarks.h"
#include "mpc/Analysis/LintName.h"
#include "mpc/Policy/PolicySource.h"
#include "mpc/Support/Dtype.h"
#include "mpc/Transforms/Passes.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpc;

namespace mpc {
#define GEN_PASS_DEF_APPLYPOLICY
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

static std::string spell(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

static bool isFloatTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType());
}

/// Whether the layer computes on floating tensors; one that only moves integers or converts its
/// inputs may have a policy of integers.
static bool computesOnFloats(LayerOp layer) {
  if (layer.getBody().front().without_terminator().empty())
    return false;
  if (llvm::any_of(layer->getOperandTypes(), isFloatTensor) ||
      llvm::any_of(layer->getResultTypes(), isFloatTensor))
    return true;
  return layer.getBody()
      .walk([](Operation *op) {
        return llvm::any_of(op->getResultTypes(), isFloatTensor) ? WalkResult::interrupt()
                                                                 : WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {
class ApplyPolicyPass : public mpc::impl::ApplyPolicyBase<ApplyPolicyPass> {
public:
  using ApplyPolicyBase::ApplyPolicyBase;

  void runOnModule() override {
    ModuleOp module = getOperation();
    std::optional<PolicySource> option;
    if (failed(loadOption(option)))
      return signalPassFailure();
    bool failedAny = false;
    paths.clear();
    usedKeys.clear();
    module.walk<WalkOrder::PreOrder>([&](LayerOp layer) {
      // Decided by the importer: an Input's dtype and loss terms are no policy's business.
      if (layer.getPrecision() && !layer.getPolicy())
        return WalkResult::advance();
      // The dtype of a nested model's input is part of its signature, no policy: float32 in Keras
      // under every global policy, or what the file says.
      bool byOption = option && layer.getKind() != "InputLayer";
      std::string rule = byOption ? "option" : "file";
      llvm::Expected<PolicySource::Resolved> resolved =
          byOption ? option->resolve(layer.getPath()) : resolveFromFile(layer, rule);
      if (!resolved) {
        bool isSpent = false;
        llvm::handleAllErrors(
            resolved.takeError(),
            [&](const PolicyError &error) {
              isSpent = error.getKind() == PolicyErrorKind::Budget;
              layer.emitError() << "layer \"" << layer.getPath() << "\": " << error.getText();
            },
            [&](const llvm::ErrorInfoBase &error) {
              layer.emitError() << "layer \"" << layer.getPath() << "\": " << error.message();
            });
        failedAny = true;
        // Every further layer would fail for the same reason.
        return isSpent ? WalkResult::interrupt() : WalkResult::advance();
      }
      paths.push_back(layer.getPath());
      usedKeys.insert(resolved->key);
      // No entry of a map names the layer.
      const bool isDefault = byOption && resolved->decider != PolicySource::Decider::MapKey;
      // A rule is worth showing where an entry of a map decided.
      if (resolved->decider != PolicySource::Decider::Policy)
        rule += ": " + resolved->rule;
      if (failed(decide(layer, resolved->policy, rule, isDefault)))
        failedAny = true;
      return WalkResult::advance();
    });
    if (failedAny)
      return signalPassFailure();
    if (option)
      if (const auto *map = std::get_if<DTypePolicyMap>(&option->getPolicy()))
        warnOfUnusedKeys(*map);
  }

private:
  /// A key that decides nothing is more often misspelled than meant for another model.
  void warnOfUnusedKeys(const DTypePolicyMap &map) {
    // A model may bring keys and paths of any number and length.
    constexpr size_t mostKeys = 20, mostPaths = 10'000, longestKey = 200;
    size_t unused = 0;
    for (const std::string &key : map.getKeys()) {
      if (usedKeys.contains(key) || ++unused > mostKeys)
        continue;
      // Distances beyond the best one so far cost nothing.
      StringRef nearest;
      unsigned fewest = unsigned(key.size());
      for (StringRef path : ArrayRef(paths).take_front(key.size() > longestKey ? 0 : mostPaths))
        if (unsigned distance = StringRef(key).edit_distance_insensitive(path, true, fewest);
            distance < fewest) {
          fewest = distance;
          nearest = path;
        }
      InFlightDiagnostic warning = emitLint(getOperation().getLoc(), kUnusedKeyLint);
      warning << "the policy map's key \"" << key << "\" matches no layer and decides nothing";
      if (!nearest.empty())
        warning << "; the nearest layer is \"" << nearest << "\"";
      warning << "; keys are whole paths, or regular expressions of these (--explain lists them)";
    }
    if (unused > mostKeys)
      emitLint(getOperation().getLoc(), kUnusedKeyLint)
          << "and " << unused - mostKeys << " more keys of the policy map match no layer";
  }

  LogicalResult loadOption(std::optional<PolicySource> &option) {
    if (policy.empty() && policyFile.empty())
      return success();
    if (!policy.empty() && !policyFile.empty())
      return getOperation().emitError("policy and policy-file exclude each other; give one");
    llvm::Expected<PolicySource> source =
        policy.empty() ? loadPolicyFile(policyFile) : loadPolicyOption(policy);
    if (source) {
      option.emplace(std::move(*source));
      return success();
    }
    llvm::handleAllErrors(source.takeError(), [&](const llvm::ErrorInfoBase &error) {
      getOperation().emitError() << error.message();
    });
    return failure();
  }

  /// The file's own policy: a name, or Keras's JSON. The same text is read once.
  llvm::Expected<PolicySource::Resolved> resolveFromFile(LayerOp layer, std::string &rule) {
    std::optional<StringRef> written = layer.getPolicy();
    if (!written) {
      rule = "default";
      return PolicySource::Resolved{DTypePolicy(), PolicySource::Decider::Policy, "", "default"};
    }
    auto known = sources.find(*written);
    if (known == sources.end()) {
      StringRef text = written->ltrim();
      llvm::Expected<PolicySource> source = [&]() -> llvm::Expected<PolicySource> {
        if (text.starts_with("{"))
          return parsePolicyText(*written);
        llvm::Expected<DTypePolicy> named = parsePolicyName(*written);
        if (!named)
          return named.takeError();
        return PolicySource(std::move(*named));
      }();
      if (!source)
        return source.takeError();
      known = sources.try_emplace(*written, std::move(*source)).first;
    }
    return known->second.resolve(layer.getPath());
  }

  LogicalResult decide(LayerOp layer, const DTypePolicy &decided, StringRef rule, bool isDefault) {
    auto error = [&]() -> InFlightDiagnostic {
      return layer.emitError() << "layer \"" << layer.getPath() << "\": policy \""
                               << decided.getName() << "\" ";
    };
    StringAttr form = layer.getQuantizationAttr();
    if (decided.isQuantized() && !form)
      return error() << "quantizes its variables, which the import of a Keras model does and this "
                        "IR is behind; compile the model file with this policy";
    const bool isImported = form && form != "none";
    if (decided.isQuantized() && !isImported && !isDefault)
      return error() << "quantizes, and a layer of class " << layer.getKind() << " has no \""
                     << decided.getQuantizationModeName() << "\" form; give it a plain policy";
    if (isImported && form != decided.getQuantizationModeName())
      return error() << "does not quantize as the layer was imported, \"" << form.getValue()
                     << "\"; give it a policy of that mode";
    Type compute = parseDtype(&getContext(), decided.getComputeDType());
    Type variable = parseDtype(&getContext(), decided.getVariableDType());
    if (!compute || !variable)
      return error() << "computes in " << decided.getComputeDType()
                     << ", a dtype that mpc does not compile; expected a floating policy such as "
                        "\"mixed_bfloat16\"";
    if (std::optional<DictionaryAttr> refusals = layer.getRefuses())
      if (auto reason = refusals->getAs<StringAttr>(spell(compute)))
        return error() << "computes in " << decided.getComputeDType() << ", " << reason.getValue();
    if (!isa<FloatType>(compute) && computesOnFloats(layer))
      return error() << "computes in " << decided.getComputeDType() << ", but a " << layer.getKind()
                     << " layer computes on floating tensors; expected a floating policy such as "
                        "\"mixed_bfloat16\"";
    Type accumulate = isa<FloatType>(compute) ? widerOf32(compute) : compute;
    layer.setPrecisionAttr(PrecisionAttr::get(&getContext(), compute, variable, accumulate,
                                              StringAttr::get(&getContext(), rule)));
    layer.removePolicyAttr();
    layer.removeQuantizationAttr();
    layer.removeQuantizedFormsAttr();
    layer.removeRefusesAttr();
    if (isImported)
      layer.setQuantizedPolicy(decided.getName());
    remarkDecision(layer, decided, rule);
    if (decided.isQuantized())
      remarkQuantization(layer, decided, isImported);
    return success();
  }

  /// model.quantize leaves alone what it cannot quantize; its layers then have the source's dtypes.
  static void remarkQuantization(LayerOp layer, const DTypePolicy &decided, bool isQuantized) {
    auto opts = remark::RemarkOpts::name("layer-quantization").category("mpc-policy");
    std::string text = "layer \"" + layer.getPath().str() + "\" (" + layer.getKind().str() + "): ";
    if (isQuantized)
      remark::passed(layer.getLoc(), opts)
          << text + "quantized, " + decided.getQuantizationModeName().str()
          << remark::metric("layer", layer.getPath())
          << remark::metric("mode", decided.getQuantizationModeName());
    else
      remark::missed(layer.getLoc(), opts)
          << text + "not quantized: the class has no " + decided.getQuantizationModeName().str() +
                 " form; computes under " + decided.getSourceName().str()
          << remark::metric("layer", layer.getPath());
  }

  static void remarkDecision(LayerOp layer, const DTypePolicy &decided, StringRef rule) {
    PrecisionAttr precision = *layer.getPrecision();
    std::string compute = spell(precision.getCompute()), variable = spell(precision.getVariable()),
                accumulate = spell(precision.getAccumulate());
    std::string text = "layer \"" + layer.getPath().str() + "\" (" + layer.getKind().str() +
                       "): " + decided.getName().str() + " by " + rule.str() + ": compute " +
                       compute + ", variables " + variable + ", accumulate " + accumulate;
    remark::analysis(layer.getLoc(),
                     remark::RemarkOpts::name("layer-policy").category("mpc-policy"))
        << text << remark::metric("layer", layer.getPath())
        << remark::metric("policy", decided.getName()) << remark::metric("rule", rule)
        << remark::metric("compute", compute) << remark::metric("variable", variable)
        << remark::metric("accumulate", accumulate);
  }

  llvm::StringMap<PolicySource> sources;
  SmallVector<StringRef> paths;
  llvm::StringSet<> usedKeys;
};
} // namespace
