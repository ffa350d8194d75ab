// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The phase module: LLVM dialect to library, header, manifest, weights.
#include "mpc/Codegen/CPU/Emit.h"
#include "lib/Codegen/CPU/IsaVersions.h"
#include "lib/Codegen/CPU/ModuleTables.h"
#include "lib/Codegen/CPU/ObjectFile.h"
#include "lib/Codegen/CPU/TableBuilder.h"
#include "lib/Codegen/CUDA/CudaProgram.h"
#include "lib/Target/Artifacts.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mpc/Pipelines/Codegen.h"
#include "mpc/Support/AtomicFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace mpc;

static llvm::Error internalError(const Twine &what) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), "internal error: " + what);
}

static std::string hashOf(StringRef text) {
  return llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(text)), /*LowerCase=*/true);
}

/// Declarations have no LLVM form; they live on in the tables.
static void eraseDeclarations(ModuleOp module) {
  for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (isa_and_nonnull<MpcDialect>(op.getDialect()))
      op.erase();
  SmallVector<StringAttr> names;
  for (NamedAttribute attribute : module->getDiscardableAttrs())
    if (attribute.getName().getValue().starts_with("mpc"))
      names.push_back(attribute.getName());
  for (StringAttr name : names)
    module->removeDiscardableAttr(name);
  module.walk([](Operation *op) { op->removeDiscardableAttr("mpcrt.entry"); });
}

static llvm::Expected<std::string>
buildLibrary(ModuleOp module, ModuleTables &tables, const EmitOptions &options,
             const std::optional<CudaProgram> &cuda, std::optional<CudaCompilation> &compilation,
             llvm::function_ref<std::string(const ModuleTables &)> manifest) {
  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  eraseDeclarations(module);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> llvmModule = translateModuleToLLVMIR(module, context, tables.name);
  if (!llvmModule)
    return internalError("the module does not translate to LLVM IR");
  auto target = createTargetMachine();
  if (!target)
    return target.takeError();
  llvmModule->setDataLayout((*target)->createDataLayout());
  llvmModule->setTargetTriple((*target)->getTargetTriple());
  // What depends on no instruction set is done once, before kernels are copied for each.
  simplify(*llvmModule, **target);
  // Only now: nothing refers to entries before the tables are there.
  for (llvm::Function &function : *llvmModule)
    if (!function.isDeclaration())
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
  auto versions = buildKernelVersions(*llvmModule, tables.kernels, options.march, tables.targets);
  if (!versions)
    return versions.takeError();
  buildExecutableTables(*llvmModule, tables, manifest(tables), *versions);
  vectorize(*llvmModule, **target);
  if (cuda) {
    if (llvm::Error error = compilation->finish())
      return error;
    addCudaTables(*llvmModule, *cuda);
  }
  auto object = emitObject(*llvmModule, **target);
  if (!object)
    return object.takeError();
  return linkSharedLibrary(*object, options.name);
}

llvm::Error mpc::emitModule(ModuleOp module, const WeightStore &weights,
                            const EmitOptions &options) {
  std::optional<CudaProgram> cuda;
  std::optional<CudaCompilation> compilation;
  if (options.cuda) {
    // While kernels are functions of buffers.
    auto program = buildCudaProgram(module, *options.cuda);
    if (!program)
      return program.takeError();
    cuda = std::move(*program);
    // While the code for the CPU is made.
    compilation.emplace(*cuda, *options.cuda, options.name);
  }
  PassManager manager(module.getContext());
  buildLLVMPipeline(manager);
  if (failed(manager.run(module)))
    return internalError("lowering to the LLVM dialect failed");
  auto tables = readModuleTables(module);
  if (!tables)
    return tables.takeError();
  tables->name = options.name;
  tables->compilerVersion = options.compilerVersion;
  if (cuda)
    for (const CudaImage &image : cuda->images)
      tables->targets.push_back((image.isPtx ? "compute_" : "sm_") +
                                std::to_string(image.architecture));
  std::string safetensors = toSafetensors(weights);
  tables->weightsHash = hashOf(safetensors);
  // The header describes no weights and no instruction set.
  tables->headerHash = hashOf(toManifest(*tables, /*describesBuild=*/false));
  if (options.embedWeights)
    tables->embeddedWeights = safetensors;
  auto library = buildLibrary(module, *tables, options, cuda, compilation,
                              [](const ModuleTables &given) { return toManifest(given); });
  if (!library)
    return library.takeError();
  const std::string &name = options.name;
  std::vector<std::pair<std::string, std::string>> files{
      {"lib" + name + ".so", std::move(*library)},
      {name + ".h", toHeader(*tables)},
      {name + ".json", toManifest(*tables)},
      {name + "Config.cmake", toCMakeConfig(*tables)},
      {"example.c", toExample(*tables)}};
  if (!options.embedWeights)
    files.emplace_back(name + ".safetensors", std::move(safetensors));
  return writeFilesAtomically(options.outputDirectory, files);
}
