// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/ModelWeights.h"

#include "lib/Import/Common/Shape.h"
#include "lib/Import/Keras/Legacy/ArchiveGroups.h"
#include "mpc/Import/Keras/InputError.h"

#include "llvm/ADT/SetVector.h"

namespace mpc::keras {
namespace {

bool isFloating(mpc_rt_dtype_t dtype) {
  return dtype == MPC_RT_FLOAT32 || dtype == MPC_RT_FLOAT16 || dtype == MPC_RT_BFLOAT16 ||
         dtype == MPC_RT_FLOAT64;
}

using ReportAtFn = llvm::function_ref<void(llvm::StringRef place, const llvm::Twine &)>;

/// The floating weight becomes what its layer's quantized form holds.
void quantizeTensor(const ModelVariable &variable, llvm::StringRef dataset,
                    const StoredTensor &tensor, ReportAtFn report, ImportedModel &model) {
  const KernelQuantizer &quantizer = *variable.quantizer;
  if (tensor.dims != quantizer.fileShape || !isFloating(tensor.dtype))
    return report(variable.path,
                  "the weights have shape " + printShape(tensor.dims) +
                      "; the layer, which is to be quantized, needs floating ones of shape " +
                      printShape(quantizer.fileShape) + " (dataset " + dataset + ")");
  KernelQuantizer::Result result = quantizer.quantize(tensor);
  model.weights.emplace(variable.path, std::move(result.values));
  model.weights.emplace(variable.scalePath, std::move(result.scale));
  if (result.zero) {
    model.weights.emplace(variable.zeroPath, std::move(*result.zero));
    model.weights.emplace(variable.groupsPath, std::move(*result.groups));
  }
}

/// Why a tensor may have another shape than its variable.
llvm::StringRef adviceOf(const ModelVariable &variable) {
  const llvm::StringRef name = llvm::StringRef(variable.path).rsplit('/').second;
  if (variable.type.getElementType().isUnsignedInteger(8) &&
      (name == "kernel_zero" || name == "zero_point"))
    return "Keras 3.14 to 3.15.1 leave the zero points of gptq and awq out of their files, and do "
           "not "
           "load them either; quantize and save the model with another version";
  return "the architecture and the weights are of different models";
}

/// Variable `number` of the layer that has this group; null behind the last one.
const StoredTensor *findVariable(const WeightFile &file, llvm::StringRef group, uint64_t number) {
  auto stored = file.find(group.str() + "/vars/" + std::to_string(number));
  return stored == file.end() ? nullptr : &stored->second;
}

/// Whether Keras's float8 form of the layer is in the file: behind its `count` variables a scale
/// and a history of largest magnitudes for inputs, kernel and gradients of outputs
/// (keras/src/layers/core/dense.py, einsum_dense.py, _float8_build), and nothing else.
bool holdsFloat8(const WeightFile &file, const LayerConfig &layer, llvm::StringRef group,
                 uint64_t count) {
  if (layer.className != "Dense" && layer.className != "EinsumDense")
    return false;
  constexpr uint64_t kPairs = 3;
  for (uint64_t pair = 0; pair < kPairs; ++pair) {
    const StoredTensor *scale = findVariable(file, group, count + 2 * pair),
                       *history = findVariable(file, group, count + 2 * pair + 1);
    if (!scale || !scale->dims.empty() || !isFloating(scale->dtype) || !history ||
        history->dims.size() != 1 || !isFloating(history->dtype))
      return false;
  }
  return !findVariable(file, group, count + 2 * kPairs);
}

} // namespace

void takeTensor(const ModelVariable &variable, llvm::StringRef dataset, StoredTensor &tensor,
                llvm::function_ref<void(llvm::StringRef place, const llvm::Twine &)> report,
                ImportedModel &model) {
  if (variable.quantizer)
    return quantizeTensor(variable, dataset, tensor, report, model);
  if (llvm::ArrayRef<int64_t>(tensor.dims) != variable.type.getShape())
    report(variable.path, "the weights have shape " + printShape(tensor.dims) + "; the layer has " +
                              printShape(variable.type.getShape()) + "; " + adviceOf(variable));
  else if (isFloating(tensor.dtype) != mlir::isa<mlir::FloatType>(variable.type.getElementType()))
    report(variable.path,
           "the weights are of another kind of number than the layer's (dataset " + dataset + ")");
  else
    model.weights.emplace(variable.path, std::move(tensor));
}

llvm::Error takeWeights(WeightFile &file, llvm::StringRef fileName, const GraphImporter &importer,
                        ImportedModel &model) {
  std::vector<std::string> datasets;
  for (const ModelVariable &variable : importer.variables.getAll())
    datasets.push_back(variable.dataset);
  renameLegacyGroups(file, datasets);
  llvm::Error errors = llvm::Error::success();
  auto report = [&](llvm::StringRef place, const llvm::Twine &message) {
    errors = llvm::joinErrors(std::move(errors), inputError(fileName + ":" + place, message));
  };

  // model.quantize changes the layers inside an attention, and its config does not say so: a kernel
  // of integers with scales behind the layer's own variables, or the numbers of float8.
  llvm::SmallSetVector<const LayerConfig *, 4> secretlyQuantized;
  llvm::SmallVector<std::pair<const ModelVariable *, StoredTensor *>> integers;
  auto findHolder = [&](const LayerConfig *layer) -> const LayerConfig * {
    const LayerConfig *holder = importer.tree.getContainers(layer).back();
    return holder == layer ? nullptr : holder;
  };

  llvm::StringMap<uint64_t> expected; // group to number of variables
  for (const auto &[layer, group] : importer.tree.getGroups())
    if (!layer->model)
      expected[group] = 0;
  for (const ModelVariable &variable : importer.variables.getAll()) {
    if (variable.stateful || variable.derived)
      continue;
    // The file may hold more before them (SpectralNormalization repeats its layer's kernel).
    auto [group, index] = llvm::StringRef(variable.dataset).rsplit("/vars/");
    uint64_t number = 0;
    (void)index.getAsInteger(10, number);
    uint64_t &count = expected[group];
    count = std::max(count, number + 1);
    auto stored = file.find(variable.dataset);
    if (stored == file.end()) {
      report(variable.path, "the weights are missing; expected the dataset " + variable.dataset +
                                " in model.weights.h5; save the model again");
      continue;
    }
    if (findHolder(variable.layer) && stored->second.dtype == MPC_RT_INT8 &&
        mlir::isa<mlir::FloatType>(variable.type.getElementType()))
      integers.emplace_back(&variable, &stored->second);
    else
      takeTensor(variable, variable.dataset, stored->second, report, model);
  }
  for (auto [variable, tensor] : integers) {
    const llvm::StringRef group = llvm::StringRef(variable->dataset).rsplit("/vars/").first;
    const StoredTensor *scale = findVariable(file, group, expected.lookup(group));
    if (scale && isFloating(scale->dtype))
      secretlyQuantized.insert(findHolder(variable->layer));
    else
      takeTensor(*variable, variable->dataset, *tensor, report, model);
  }
  // Keras, too, refuses a layer whose group holds another number of variables.
  for (const auto &[layer, group] : importer.tree.getGroups()) {
    if (layer->model)
      continue;
    const uint64_t count = expected.lookup(group);
    const LayerConfig *holder = findHolder(layer);
    if (holder && holdsFloat8(file, *layer, group, count))
      secretlyQuantized.insert(holder);
    else if (findVariable(file, group, count) && !secretlyQuantized.contains(holder))
      report(layer->name, "model.weights.h5 holds more than the layer's " + llvm::Twine(count) +
                              " variables (" + group +
                              "/vars); the architecture and the weights are of different models");
  }
  for (const LayerConfig *holder : secretlyQuantized)
    report(holder->name,
           "model.weights.h5 holds quantized weights inside this " + holder->className +
               ", of which its config says nothing: Keras 3.15 leaves that out of the files of "
               "models that model.quantize changed, and does not load them either; save the model "
               "before quantize, and let mpcc quantize it (--policy=MODE_from_POLICY, such as "
               "int4_from_mixed_bfloat16)");
  // Keras 2 has those of a LossScaleOptimizer under the optimizer inside, and some versions under
  // both.
  for (llvm::StringRef group : {"optimizer/vars/", "optimizer/inner_optimizer/vars/"})
    for (uint64_t index = 0; index == model.optimizerVariables.size(); ++index)
      if (auto stored = file.find((group + llvm::Twine(index)).str()); stored != file.end())
        model.optimizerVariables.push_back(std::move(stored->second));
  model.hasWeights = true;
  return errors;
}

} // namespace mpc::keras
