// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The phase module: LLVM dialect to library, header, manifest, weights.
#include "mpc/Codegen/CPU/Emit.h"
#include "lib/Codegen/CPU/CompileUnits.h"
#include "lib/Codegen/CPU/CompilerIdentity.h"
#include "lib/Codegen/CPU/ModuleTables.h"
#include "lib/Codegen/CPU/ObjectFile.h"
#include "lib/Codegen/CPU/TableBuilder.h"
#include "lib/Codegen/CUDA/CudaProgram.h"
#include "lib/Target/Archive.h"
#include "lib/Target/Artifacts.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mpc/Pipelines/Codegen.h"
#include "mpc/Support/AtomicFile.h"
#include "mpc/Support/InternalError.h"
#include "mpc/Support/Sha256.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <array>
#include <future>

using namespace mlir;
using namespace mpc;

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
  module.walk(
      [](Operation *op) { op->removeDiscardableAttr(mpcrt::MpcrtDialect::kEntryTableAttr); });
}

/// The names of each level's versions of the kernels.
static KernelVersions nameVersions(llvm::ArrayRef<std::string> kernels,
                                   llvm::ArrayRef<IsaLevel> levels) {
  KernelVersions versions;
  for (const IsaLevel &level : levels) {
    versions.push_back({level.isa, {}});
    for (const std::string &kernel : kernels)
      versions.back().functions.push_back(kernel + level.suffix.str());
  }
  return versions;
}

/// The tables in an object of their own.
static llvm::Expected<std::string>
compileTables(const ModuleTables &tables, const KernelVersions &versions, const CudaProgram *cuda) {
  auto generator = CodeGenerator::create();
  if (!generator)
    return generator.takeError();
  llvm::LLVMContext context;
  llvm::Module module("tables", context);
  (*generator)->prepare(module);
  buildExecutableTables(module, tables, toManifest(tables), versions);
  if (cuda)
    addCudaTables(module, *cuda);
  return (*generator)->emitObject(module, Effort::Least);
}

static std::unique_ptr<ObjectCache> openCache(const EmitOptions &options) {
  if (options.cacheFolder.empty())
    return nullptr;
  const std::string compiler = identifyCompiler();
  if (compiler.empty())
    return nullptr;
  auto cache = ObjectCache::open(options.cacheFolder, options.compilerVersion + " " + compiler);
  if (cache)
    return std::move(*cache);
  options.warn(llvm::toString(cache.takeError()) + "; compiled without a cache");
  return nullptr;
}

static void closeCache(ObjectCache &cache, const EmitOptions &options) {
  cache.trim();
  if (std::error_code code = cache.failure())
    options.warn(options.cacheFolder + ": the cache cannot be written: " + code.message() +
                 "; expected space in a folder of yours; name another one by --cache, or none");
}

static llvm::Expected<std::string>
buildLibrary(ModuleOp module, ModuleTables &tables, const EmitOptions &options,
             const std::optional<CudaProgram> &cuda, std::optional<CudaCompilation> &compilation,
             llvm::function_ref<llvm::Error(ModuleTables &)> describeWeights) {
  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  eraseDeclarations(module);
  auto units = takeApart(module, tables.kernels);
  if (!units)
    return units.takeError();
  const std::vector<IsaLevel> levels = listLevels(options.march);
  for (const IsaLevel &level : levels)
    if (level.features.empty())
      tables.targets.push_back(level.cpu.str());
  const std::unique_ptr<ObjectCache> cache = openCache(options);
  const Effort effort = options.optimize ? Effort::Full : Effort::Least;
  auto objects = compileUnits(*units, levels, effort, cache.get(), [&](size_t done) {
    if (options.progress)
      options.progress(done, units->size());
  });
  if (!objects)
    return objects.takeError();
  if (cache)
    closeCache(*cache, options);
  // These come last: somebody hashes the weights meanwhile.
  if (llvm::Error error = describeWeights(tables))
    return error;
  if (cuda)
    if (llvm::Error error = compilation->finish())
      return error;
  auto object =
      compileTables(tables, nameVersions(tables.kernels, levels), cuda ? &*cuda : nullptr);
  if (!object)
    return object.takeError();
  objects->push_back({"tables", std::move(*object)});
  return options.isStatic ? linkStaticLibrary(*objects, options.name)
                          : linkSharedLibrary(*objects, options.name);
}

namespace {
struct WrittenWeights {
  std::string hash, embedded;
};
} // namespace

/// Into NAME.safetensors, or for the library; into an archive they go later.
static llvm::Expected<WrittenWeights> writeWeights(const WeightStore &weights,
                                                   const EmitOptions &options, AtomicFiles &files) {
  WrittenWeights written;
  Sha256 hash;
  auto print = [&](llvm::raw_ostream &stream) {
    forSafetensors(weights, [&](StringRef piece) {
      hash.update(piece);
      stream << piece;
    });
  };
  if (options.embedWeights) {
    llvm::raw_string_ostream stream(written.embedded);
    print(stream);
  } else if (options.isArchive) {
    llvm::raw_null_ostream nowhere;
    print(nowhere);
  } else if (llvm::Error error = files.add(options.name + ".safetensors", print)) {
    return error;
  }
  written.hash = hash.finish();
  return written;
}

/// example.c has no model's name: another model's in the folder stays, as does a program of the
/// user's.
static bool mayReplaceExample(const EmitOptions &options) {
  llvm::SmallString<128> path(options.output);
  llvm::sys::path::append(path, "example.c");
  if (!llvm::sys::fs::is_regular_file(path))
    return true; // a folder is an error when it is to be replaced
  auto text = llvm::MemoryBuffer::getFile(path);
  return text && llvm::any_of(std::array{false, true}, [&](bool isStatic) {
           return (*text)->getBuffer().starts_with(toExampleHead(options.name, isStatic));
         });
}

/// Names and contents of what is written beside the weights.
static std::vector<std::pair<std::string, std::string>>
toTexts(const ModuleTables &tables, const EmitOptions &options, std::string library) {
  const std::string &name = options.name;
  std::vector<std::pair<std::string, std::string>> texts = {
      {libraryName(name, options.isStatic), std::move(library)},
      {name + ".h", toHeader(tables)},
      {name + ".json", toManifest(tables)}};
  if (!options.isArchive) {
    texts.emplace_back(name + "Config.cmake", toCMakeConfig(tables, options.isStatic));
    texts.emplace_back("example.c", toExample(tables, options.isStatic));
  }
  return texts;
}

/// All texts and the weights as one file.
static llvm::Error addArchive(AtomicFiles &files, const EmitOptions &options,
                              const WeightStore &weights,
                              llvm::ArrayRef<std::pair<std::string, std::string>> texts) {
  std::vector<ArchiveMember> members;
  for (const auto &[file, text] : texts)
    members.push_back({file, [&text = text](auto take) { take(text); }, false});
  if (!options.embedWeights)
    members.push_back({options.name + ".safetensors",
                       [&](auto take) { forSafetensors(weights, take); }, /*isMapped=*/true});
  return files.add(llvm::sys::path::filename(options.output),
                   [&](llvm::raw_ostream &stream) { writeArchive(members, stream); });
}

/// A folder of texts; the weights are there already.
static llvm::Error addTexts(AtomicFiles &files, const EmitOptions &options,
                            llvm::ArrayRef<std::pair<std::string, std::string>> texts) {
  for (const auto &[file, text] : texts)
    if (file == "example.c" && !mayReplaceExample(options))
      continue;
    else if (llvm::Error error = files.add(file, text))
      return error;
  return llvm::Error::success();
}

/// Where the files go: the folder, or that of the archive.
static std::string outputFolder(const EmitOptions &options) {
  if (!options.isArchive)
    return options.output;
  StringRef folder = llvm::sys::path::parent_path(options.output);
  return folder.empty() ? "." : folder.str();
}

std::string mpc::libraryName(llvm::StringRef name, bool isStatic) {
  return ("lib" + name + (isStatic ? ".a" : ".so")).str();
}

llvm::SmallVector<std::string> mpc::listOutputs(const EmitOptions &options) {
  llvm::StringRef name = options.name;
  llvm::SmallVector<std::string> files;
  for (llvm::StringRef suffix : {".h", ".json", "Config.cmake", ".safetensors"})
    if (!options.embedWeights || suffix != ".safetensors")
      files.push_back((name + suffix).str());
  files.push_back(libraryName(name, options.isStatic));
  for (const auto &[file, text] : options.extraFiles)
    files.push_back(file);
  return files;
}

llvm::Error mpc::emitModule(ModuleOp module, const WeightStore &weights,
                            const EmitOptions &options) {
  AtomicFiles files(outputFolder(options));
  // On another thread: what the guide's weights take is a third of everything else.
  auto written = std::async([&] { return writeWeights(weights, options, files); });
  llvm::scope_exit dropUnused([&] {
    if (written.valid())
      llvm::consumeError(written.get().takeError());
  });
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
  // Once, at the end: see Compilation::runPhase.
  manager.enableVerifier(false);
  buildLLVMPipeline(manager);
  if (failed(manager.run(module)) || failed(verify(module)))
    return internalError("lowering to the LLVM dialect failed");
  auto tables = readModuleTables(module);
  if (!tables)
    return tables.takeError();
  if (llvm::Error error = checkNames(*tables, options.model))
    return error;
  tables->name = options.name;
  tables->compilerVersion = options.compilerVersion;
  tables->batchParts = options.batchParts;
  if (cuda)
    for (const CudaImage &image : cuda->images)
      tables->targets.push_back((image.isPtx ? "compute_" : "sm_") +
                                std::to_string(image.architecture));
  // The header describes no weights and no instruction set.
  tables->headerHash = Sha256::of(toManifest(*tables, /*describesBuild=*/false));
  auto library = buildLibrary(module, *tables, options, cuda, compilation,
                              [&](ModuleTables &given) -> llvm::Error {
                                llvm::Expected<WrittenWeights> result = written.get();
                                if (!result)
                                  return result.takeError();
                                given.weightsHash = std::move(result->hash);
                                given.embeddedWeights = std::move(result->embedded);
                                return llvm::Error::success();
                              });
  if (!library)
    return library.takeError();
  const auto texts = toTexts(*tables, options, std::move(*library));
  if (llvm::Error error = options.isArchive ? addArchive(files, options, weights, texts)
                                            : addTexts(files, options, texts))
    return error;
  for (const auto &[file, text] : options.extraFiles)
    if (llvm::Error error = files.add(file, text))
      return error;
  return files.commit();
}
