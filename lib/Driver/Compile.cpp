// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpcc's way from a model file to a compiled folder, phase by phase.
#include "lib/Driver/CheckOutputs.h"
#include "lib/Driver/ChooseTrainable.h"
#include "lib/Driver/Compilation.h"
#include "lib/Driver/LintPage.h"
#include "lib/Driver/ModelName.h"
#include "lib/Driver/OptimizerState.h"
#include "lib/Driver/ShapeEntries.h"
#include "lib/Driver/UnknownInput.h"
#include "lib/Driver/WeightsBeside.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mpc/Codegen/CPU/Emit.h"
#include "mpc/Import/IR/CheckIR.h"
#include "mpc/Import/Keras/Archive.h"
#include "mpc/Numerics/Lint/Lint.h"
#include "mpc/Support/InputFile.h"
#include "mpc/Support/InternalError.h"
#include "mpc/Support/Sha256.h"
#include "mpc/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace mpc;

ExitCode Compilation::load() {
  if (!file) {
    auto buffer = readInputFile(options.model);
    if (!buffer) {
      diagnostics.error(options.model + ": " +
                        describeUnreadable(options.model, buffer.getError()));
      return kExitBadInput;
    }
    file = std::move(*buffer);
  }
  StringRef stem = options.model == "-" ? StringRef("model") : llvm::sys::path::stem(options.model);
  if (StringRef(options.name).starts_with("mpc_rt")) {
    diagnostics.error("--name=" + options.name +
                      ": names that begin with mpc_rt are the runtime's; expected another one");
    return kExitUsage;
  }
  if (!options.name.empty() && toIdentifier(options.name) != options.name) {
    diagnostics.error("--name=" + options.name + ": must be a C identifier");
    return kExitUsage;
  }
  name = options.name.empty() ? toIdentifier(stem) : options.name;
  if (StringRef hidden = findHidden(name); !hidden.empty())
    diagnostics.warning(options.model + ": the model is named '" + name + "' as a system " +
                        hidden +
                        ", which its own would hide from programs that use it; name it otherwise "
                        "by --name");
  StringRef bytes = file->getBuffer();
  switch (keras::sniffContent(bytes)) {
  case keras::FileKind::Zip:
  case keras::FileKind::Json:
  case keras::FileKind::Hdf5:
    return loadKeras(file->getMemBufferRef());
  case keras::FileKind::Other:
    break;
  }
  if (isOnnxModel(options.model, bytes))
    return loadOnnx(*this);
  // Every other file is IR, as text or as bytecode.
  if (std::string why = describeUnknownInput(options.model, bytes); !why.empty()) {
    diagnostics.error(options.model + ": " + why);
    return kExitBadInput;
  }
  return loadIR(file->getMemBufferRef());
}

ExitCode Compilation::loadKeras(llvm::MemoryBufferRef buffer) {
  if (options.compileFrom && *options.compileFrom != Phase::Import) {
    diagnostics.error("--compile-from=" + stringifyPhase(*options.compileFrom) + ": " +
                      options.model + " is a Keras model; expected IR of that phase");
    return kExitUsage;
  }
  for (const auto &[input, shape] : options.inputShapes)
    if (llvm::is_contained(shape, kOpenExtent)) {
      diagnostics.error("--input-shape=" + (input.empty() ? "" : input + ":") +
                        "…: '?' stands for the batch of an ONNX model, which " + options.model +
                        " is not; leave it out");
      return kExitUsage;
    }
  if (ExitCode code = refuseTextWidths(options, diagnostics); code != kExitDone)
    return code;
  keras::ImportOptions importOptions;
  importOptions.readWeights = !options.initialize;
  importOptions.moduleName = name;
  importOptions.weights = weightsFile;
  importOptions.inputShapes = options.inputShapes;
  importOptions.openExtent = openExtent;
  std::optional<PolicySource> policy;
  if (!options.pipeline.policy.empty()) {
    // mpc-apply-policy, which reads it again, reports what is wrong with it.
    if (auto source = loadPolicyOption(options.pipeline.policy))
      policy.emplace(std::move(*source));
    else
      llvm::consumeError(source.takeError());
  }
  importOptions.policy = policy ? &*policy : nullptr;
  auto read = keras::importKeras(buffer, importOptions, context);
  if (!read) {
    diagnostics.error(read.takeError());
    return kExitBadInput;
  }
  imported = std::move(*read);
  module = std::move(imported->module);
  SmallVector<Attribute> outputNames;
  for (const std::string &output : imported->outputNames)
    outputNames.push_back(StringAttr::get(&context, output));
  (*module)->setAttr(MpcDialect::kOutputNamesAttr, ArrayAttr::get(&context, outputNames));
  if (imported->outputsAreDictionary)
    (*module)->setAttr(MpcDialect::kOutputDictionaryAttr, UnitAttr::get(&context));
  if (const llvm::json::Value &nested = imported->outputStructure;
      nested.kind() != llvm::json::Value::Null)
    (*module)->setAttr(MpcDialect::kOutputStructureAttr,
                       StringAttr::get(&context, llvm::formatv("{0}", nested).str()));
  for (auto &[path, tensor] : imported->weights)
    weights.add(path, {tensor.dtype, tensor.dims, std::move(tensor.bytes)});
  optimizerVariables = std::move(imported->optimizerVariables);
  legacyOptimizerNames = std::move(imported->legacyOptimizerNames);
  for (const std::string &warning : imported->warnings)
    diagnostics.warning(options.model + ": " + warning);
  if (ExitCode code = specializeBatch(); code != kExitDone)
    return code;
  if (ExitCode code = chooseTrainable(*module, options, imported->untrainable, diagnostics);
      code != kExitDone)
    return code;
  return prepareTraining(imported->compileConfig);
}

ExitCode Compilation::loadIR(llvm::MemoryBufferRef buffer) {
  if (llvm::Error error = checkIR(buffer, makeRegistry(), /*allowsUnregistered=*/false)) {
    diagnostics.error(std::move(error));
    return kExitBadInput;
  }
  ParserConfig config(&context);
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(buffer, false), llvm::SMLoc());
  module = parseSourceFile<ModuleOp>(sources, config);
  if (!module) {
    if (!diagnostics.hasErrors())
      diagnostics.error(options.model + ": is neither a Keras model nor mpc IR");
    else if (!StringRef(options.model).ends_with(".mlir"))
      diagnostics.note(options.model + ": was read as mpc IR, because it is neither a .keras "
                                       "archive nor HDF5 nor a JSON object");
    return kExitBadInput;
  }
  if (options.compileFrom)
    first = *options.compileFrom == Phase::Module ? Phase::Module
                                                  : Phase(int(*options.compileFrom) + 1);
  // A later pass that fails on other IR would seem to be at fault itself.
  const Phase written = options.compileFrom.value_or(Phase::Import);
  PassManager manager(&context);
  addVerification(manager, written);
  if (failed(manager.run(*module))) {
    diagnostics.error(options.model + ": is no IR of the phase " + stringifyPhase(written) +
                      "; expected what mpcc --compile-to=" + stringifyPhase(written) + " prints");
    return kExitBadInput;
  }
  if (!options.initialize) {
    llvm::Expected<WeightStore> beside = readWeightsBeside(options, *module);
    if (!beside) {
      diagnostics.error(beside.takeError());
      return kExitBadInput;
    }
    weights = std::move(*beside);
  }
  if (options.batch && first > Phase::Tensors) {
    diagnostics.error("--batch=" + Twine(*options.batch) + ": " + options.model +
                      " is IR behind the graph; expected IR of a phase up to fusion");
    return kExitUsage;
  }
  warnOfLateOptions();
  if (ExitCode code = specializeBatch(); code != kExitDone)
    return code;
  if (first != Phase::Policy)
    return kExitDone;
  if (!module->lookupSymbol("loss"))
    if (ExitCode code = chooseTrainable(*module, options, {}, diagnostics); code != kExitDone)
      return code;
  return prepareTraining({});
}

/// Options whose phase IR has behind it are no mistake of those who give all commands the same
/// ones.
void Compilation::warnOfLateOptions() {
  SmallVector<StringRef> late;
  if (first > Phase::Policy && !options.pipeline.policy.empty())
    late.push_back("--policy");
  if (first > Phase::Policy && options.pipeline.lossScale != "auto")
    late.push_back("--loss-scale");
  if (first > Phase::Casts && !options.pipeline.outputGuard)
    late.push_back("--output-guard");
  if (first > Phase::Autodiff && options.mode == Mode::Infer)
    late.push_back("--mode");
  if (first > Phase::Policy || module->lookupSymbol("loss")) {
    for (auto [option, text] : {std::pair<StringRef, StringRef>("--loss", options.loss),
                                {"--optimizer", options.optimizer},
                                {"--metrics", options.metrics},
                                {"--trainable", options.trainable},
                                {"--frozen", options.frozen}})
      if (!text.empty())
        late.push_back(option);
    if (options.learningRate)
      late.push_back("--learning-rate");
  }
  if (!options.inputShapes.empty())
    late.push_back("--input-shape");
  if (!options.textWidths.empty())
    late.push_back("--text-width");
  if (!late.empty())
    diagnostics.warning(options.model + ": is IR in which this is decided, so that " +
                        llvm::join(late, ", ") + (late.size() == 1 ? " has" : " have") +
                        " no effect");
}

ExitCode Compilation::specializeBatch() {
  if (!options.batch)
    return kExitDone;
  PassManager manager(&context);
  manager.addPass(createSpecializeBatch({*options.batch}));
  return failed(manager.run(*module)) ? kExitBadInput : kExitDone;
}

/// Adds @loss and the optimizer unless the IR already has them or only inference is wanted.
ExitCode Compilation::prepareTraining(const llvm::json::Object &fileConfig) {
  if (ShapeEntries(*this).onlyPredicts(fileConfig) || module->lookupSymbol("loss"))
    return chooseShards(*this);
  auto config = mergeCompileConfig(fileConfig, options);
  if (!config) {
    diagnostics.error(config.takeError());
    return kExitBadInput;
  }
  if (imported)
    config->rules = imported->trainingRules;
  config->hasOwnLoss = hasLossTerms(*module);
  config->mayOnlyPredict = options.mode == Mode::Auto;
  if (options.mode == Mode::Auto)
    for (const std::string &remark : leaveUnknownOut(*config))
      diagnostics.warning(options.model + ": " + remark);
  if (!config->isComplete()) {
    if (options.mode != Mode::Train)
      return kExitDone;
    diagnostics.error(options.model +
                      ": --mode=train needs a loss and an optimizer; the file's compile config has "
                      "none; add --loss=NAME --optimizer=NAME");
    return kExitBadInput;
  }
  if (imported && !imported->inferenceOnly.empty()) {
    const std::string what = options.model + ": " + llvm::join(imported->inferenceOnly, ", ") +
                             ": what these layers do in training is not in this version; ";
    if (options.mode != Mode::Train) {
      diagnostics.warning(what + "compiled for inference alone (--mode=infer)");
      return kExitDone;
    }
    diagnostics.error(what + "expected a model without them; move them into the input pipeline");
    return kExitBadInput;
  }
  compileConfig = *config;
  return failed(buildTraining(*module, *config)) ? kExitBadInput : chooseShards(*this);
}

/// Also of a model that --lint=error refuses: it says why.
ExitCode Compilation::writeFindings() {
  if (options.lint.page.empty())
    return kExitDone;
  const StringRef path = options.lint.page, folder = llvm::sys::path::parent_path(path);
  AtomicFiles files(folder.empty() ? "." : folder, "--html");
  return finish(files, files.add(llvm::sys::path::filename(path),
                                 writeLintPage(options.model, explanation.listLayers(),
                                               diagnostics.getFindings())));
}

/// With --lint=error nothing is written of a model in which anything was found.
ExitCode Compilation::refuseFindings() {
  const size_t findings = diagnostics.getFindings().size();
  if (!options.lint.isError || findings == 0)
    return kExitDone;
  diagnostics.error(options.model + ": --lint=error: " + llvm::Twine(findings) +
                    (findings == 1 ? " hazard was" : " hazards were") +
                    " found; expected none; repair them, or silence them by --lint=error,-NAME");
  return kExitBadInput;
}

ExitCode Compilation::runPhase(Phase phase) {
  PassManager manager(&context);
  // Behind each pass where the input can be at fault; later IR is long, and checking it behind each
  // pass would take a third of the time of them all.
  const bool verifiesEachPass = phase <= Phase::Fusion;
  manager.enableVerifier(verifiesEachPass);
  PipelineOptions pipeline = options.pipeline;
  pipeline.outputGuard &= !keepsOutputTypes;
  addPhase(manager, phase, pipeline);
  progress.follow(manager);
  progress.show("phase " + stringifyPhase(phase));
  if (options.verbose)
    diagnostics.note("phase " + stringifyPhase(phase));
  if (failed(manager.run(*module)) || (!verifiesEachPass && failed(verify(*module))))
    // Up to fusion, and where CUDA's kernels are made or ranks share updates, the input can be at
    // fault; elsewhere a failure is ours.
    return phase <= Phase::Fusion ||
                   ((options.cuda || !options.shard.empty()) && phase == Phase::Kernels)
               ? kExitBadInput
               : reportInternalError(phase, "a pass failed");
  if (phase == Phase::Policy) {
    recordManifest();
    explanation.recordLayers(*module, options.policyReasons);
  }
  // Rules on layers look at the former, rules on types at the latter.
  if (phase == Phase::Policy || phase == Phase::Casts)
    emitFindings(lint(*module, {options.pipeline.device, &weights}));
  if (phase == Phase::Fusion)
    explanation.recordOps(*module);
  if (phase == Phase::Kernels)
    explanation.recordMemory(*module);
  if (phase == Phase::Kernels && options.cuda &&
      options.cuda->fp32Precision == Fp32Precision::tf32x3)
    explanation.recordWideConvolutions(*module);
  return kExitDone;
}

ExitCode Compilation::runPhases() {
  if (options.explain != Explain::Off || !options.lint.page.empty())
    explanation.listen(context);
  last = options.compileTo.value_or(last);
  for (int phase = int(first); phase <= int(std::min(last, Phase::Kernels)); ++phase) {
    if (Phase(phase) == Phase::Scaling)
      if (ExitCode code = ShapeEntries(*this).add(); code != kExitDone)
        return code;
    if (ExitCode code = runPhase(Phase(phase)); code != kExitDone)
      return code;
  }
  allPhasesRan = true;
  return refuseFindings();
}

/// Commits the files unless one could not be written.
ExitCode Compilation::finish(AtomicFiles &files, llvm::Error failure) {
  if (!failure)
    failure = files.commit();
  if (!failure)
    return kExitDone;
  diagnostics.error(std::move(failure));
  return kExitBadInput;
}

ExitCode Compilation::flushOutput() {
  llvm::outs().flush();
  if (!llvm::outs().has_error())
    return kExitDone;
  diagnostics.error("standard output: cannot be written: " + llvm::outs().error().message() +
                    "; expected an open pipe, or a file with room");
  llvm::outs().clear_error(); // else the stream's end is a fatal error
  return kExitBadInput;
}

std::string Compilation::printIR() {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, OpPrintingFlags().enableDebugInfo(true));
  stream << '\n';
  return text;
}

ExitCode Compilation::writeIR() {
  recordSourceHash();
  const std::string text = printIR();
  if (options.output.empty() || options.output == "-") {
    llvm::outs() << text;
    return flushOutput();
  }
  if (ExitCode code = checkOutputs(options, diagnostics, options.output, {name + ".mlir"});
      code != kExitDone)
    return code;
  // The optimizer's variables are declared with the backward pass; before, its state has no place.
  if (last >= Phase::Autodiff) {
    if (ExitCode code = takeOptimizerState(); code != kExitDone)
      return code;
    replaceLearningRate();
  } else if (hasStepped(optimizerVariables))
    diagnostics.warning(options.model +
                        ": the optimizer's state in it does not go with IR of phase " +
                        stringifyPhase(last) + "; --compile-to=autodiff or a later phase keeps it");
  AtomicFiles files(options.output);
  llvm::Error failure = files.add(name + ".mlir", text);
  if (!failure && !weights.all().empty())
    failure = files.add(name + ".safetensors", [&](llvm::raw_ostream &stream) {
      forSafetensors(weights, [&](StringRef piece) { stream << piece; });
    });
  return finish(files, std::move(failure));
}

ExitCode Compilation::writeCudaSource() {
  std::optional<std::string> source = printCudaSource(*module, *options.cuda);
  if (!source)
    return kExitBadInput;
  if (options.output.empty() || options.output == "-") {
    llvm::outs() << *source;
    return flushOutput();
  }
  if (ExitCode code = checkOutputs(options, diagnostics, options.output, {name + ".cu"});
      code != kExitDone)
    return code;
  AtomicFiles files(options.output);
  return finish(files, files.add(name + ".cu", *source));
}

/// Only now: until here it was computed beside everything else.
void Compilation::recordSourceHash() {
  if (sourceHash.valid())
    (*module)->setAttr(MpcDialect::kSourceHashAttr, StringAttr::get(&context, sourceHash.get()));
}

/// The state holds a rate, too; one that an option says replaces it.
void Compilation::replaceLearningRate() {
  if (options.learningRate || !options.optimizer.empty())
    dropLearningRate(*module, weights);
}

ExitCode Compilation::emit() {
  recordSourceHash();
  if (ExitCode code = takeOptimizerState(); code != kExitDone)
    return code;
  replaceLearningRate();
  EmitOptions emitOptions;
  emitOptions.name = name;
  emitOptions.model = options.model;
  emitOptions.output = options.output.empty() ? name + ".mpc" : options.output;
  emitOptions.isArchive = options.emitArchive;
  emitOptions.isStatic = options.linkStatic;
  emitOptions.batchParts = options.batchParts;
  emitOptions.march = options.march;
  emitOptions.optimize = options.optimize;
  emitOptions.cuda = options.cuda;
  emitOptions.compilerVersion = options.compilerVersion;
  emitOptions.embedWeights = options.embedWeights;
  emitOptions.cacheFolder = options.cacheFolder;
  emitOptions.extraFiles = options.extraFiles;
  emitOptions.warn = [&](const llvm::Twine &text) { diagnostics.warning(text); };
  progress.show("phase module");
  emitOptions.progress = [&](size_t done, size_t all) {
    progress.show("phase module: " + llvm::Twine(done) + " of " + llvm::Twine(all) + " functions");
  };
  if (ExitCode code = options.emitArchive ? checkArchive(options, diagnostics, emitOptions.output)
                                          : checkOutputs(options, diagnostics, emitOptions.output,
                                                         listOutputs(emitOptions));
      code != kExitDone)
    return code;
  if (llvm::Error failure = emitModule(*module, weights, emitOptions)) {
    if (failure.isA<InternalError>())
      return reportInternalError(Phase::Module, llvm::toString(std::move(failure)));
    diagnostics.error(std::move(failure));
    return kExitBadInput;
  }
  if (options.verbose)
    diagnostics.note("wrote " + emitOptions.output +
                     (options.emitArchive ? "" : "/" + libraryName(name, options.linkStatic)));
  if (options.linkStatic && llvm::sys::fs::exists(emitOptions.output + "/lib" + name + ".so"))
    diagnostics.warning(emitOptions.output + "/lib" + name +
                        ".so: is of an earlier compilation, and what -l" + name +
                        " would link; name lib" + name + ".a itself, or remove it");
  return kExitDone;
}

ExitCode Compilation::run() {
  if (ExitCode code = ShapeEntries(*this).check(); code != kExitDone)
    return code;
  if (ExitCode code = load(); code != kExitDone)
    return code;
  // The IR of later phases has it.
  if (first == Phase::Policy)
    sourceHash = std::async([content = file->getBuffer()] { return Sha256::of(content); });
  const ExitCode ran = runPhases();
  if (ExitCode code = allPhasesRan ? writeFindings() : ran; code != kExitDone)
    return code;
  if (ran != kExitDone)
    return ran;
  progress.erase();
  if (options.explain == Explain::Json)
    explanation.printJson(llvm::outs());
  else if (options.explain != Explain::Off)
    explanation.printTables(llvm::outs(), options.explain);
  if (ExitCode code = flushOutput(); code != kExitDone)
    return code;
  if (options.emitCuda)
    return writeCudaSource();
  if (last != Phase::Module)
    return options.explain == Explain::Off ? writeIR() : kExitDone;
  return emit();
}

ExitCode mpc::compileModel(const CompileOptions &options) { return Compilation(options).run(); }
