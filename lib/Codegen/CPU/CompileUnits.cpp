// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Optimisation and object code take most of mpcc's time, and functions do not need each other for
// them: each is compiled by itself, in a context of its own, the longest ones first. In its object
// the function has the same name whatever the model calls it, so that equal ones are one.
#include "lib/Codegen/CPU/CompileUnits.h"
#include "lib/Codegen/CPU/HalfConversions.h"
#include "lib/Codegen/CPU/SymbolNames.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mpc/Support/InternalError.h"
#include "mpc/Support/Sha256.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/ThreadPool.h"
#include <condition_variable>
#include <map>
#include <numeric>

using namespace mpc;
using llvm::StringRef;

/// No symbol of C has a dot.
static constexpr StringRef kOwnName = "unit.function";
static constexpr StringRef kCalleeName = "unit.callee.";

namespace {
/// Those that no thread uses.
class CodeGenerators {
public:
  llvm::Expected<std::unique_ptr<CodeGenerator>> take() {
    {
      std::lock_guard lock(mutex);
      if (!unused.empty()) {
        auto generator = std::move(unused.back());
        unused.pop_back();
        return generator;
      }
    }
    return CodeGenerator::create();
  }
  void giveBack(std::unique_ptr<CodeGenerator> generator) {
    std::lock_guard lock(mutex);
    unused.push_back(std::move(generator));
  }

private:
  std::mutex mutex;
  std::vector<std::unique_ptr<CodeGenerator>> unused;
};

/// The objects of one compilation by content. Whoever asks for one first makes it, and those who
/// ask meanwhile wait.
class SharedObjects {
public:
  using Object = std::shared_ptr<const std::string>;
  /// Empty: the caller has to call `finish`.
  std::optional<Object> find(const std::string &key) {
    std::unique_lock lock(mutex);
    const auto inserted = objects.try_emplace(key);
    if (inserted.second)
      return std::nullopt;
    const Entry &entry = inserted.first->second;
    changed.wait(lock, [&] { return entry.isFinished; });
    return entry.object;
  }
  /// Null where it could not be made.
  void finish(const std::string &key, Object object) {
    std::lock_guard lock(mutex);
    objects[key] = {true, std::move(object)};
    changed.notify_all();
  }

private:
  struct Entry {
    bool isFinished = false;
    Object object;
  };
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, Entry> objects;
};

/// Compiles units of one module.
class UnitCompiler {
public:
  UnitCompiler(llvm::ArrayRef<IsaLevel> levels, Effort effort, ObjectCache *cache)
      : levels(levels), effort(effort), cache(cache) {}

  /// With the names of the model.
  llvm::Expected<std::string> compile(CodeUnit &unit);

private:
  llvm::Expected<SharedObjects::Object> find(const CodeUnit &unit, llvm::Module &module);
  std::string keyOf(const CodeUnit &unit, llvm::Module &module) const;
  llvm::Expected<std::string> make(const CodeUnit &unit, llvm::Module &module);
  llvm::Expected<std::string> optimize(const CodeUnit &unit, llvm::Module &module,
                                       CodeGenerator &generator);

  llvm::ArrayRef<IsaLevel> levels;
  Effort effort;
  ObjectCache *cache;
  CodeGenerators generators;
  SharedObjects objects;
};
} // namespace

/// Gives everything a name, or none, that does not depend on the model.
static llvm::Error makeAnonymous(llvm::Module &module, const CodeUnit &unit) {
  for (llvm::GlobalVariable &global : module.globals()) {
    global.setLinkage(llvm::GlobalValue::PrivateLinkage);
    global.setName("");
  }
  auto rename = [&](StringRef name, const llvm::Twine &other) -> llvm::Error {
    llvm::Function *function = module.getFunction(name);
    if (!function)
      return internalError("no function named " + name);
    function->setLinkage(llvm::GlobalValue::ExternalLinkage);
    function->setVisibility(llvm::GlobalValue::HiddenVisibility);
    function->setDSOLocal(true);
    function->setName(other);
    return function->getName() == other.str()
               ? llvm::Error::success()
               : internalError("a function is named " + other + "; expected another name");
  };
  llvm::Error error = rename(unit.name, kOwnName);
  for (size_t i = 0; !error && i < unit.callees.size(); ++i)
    error = rename(unit.callees[i], kCalleeName + llvm::Twine(i));
  return error;
}

/// The names in the model of what has other ones in the object.
static llvm::StringMap<std::string> namesInModel(const CodeUnit &unit,
                                                 llvm::ArrayRef<IsaLevel> levels) {
  llvm::StringMap<std::string> names;
  names[kOwnName] = unit.name;
  for (const IsaLevel &level : levels)
    names[(kOwnName + level.suffix).str()] = unit.name + level.suffix.str();
  for (auto [i, callee] : llvm::enumerate(unit.callees))
    names[(kCalleeName + llvm::Twine(i)).str()] = callee;
  return names;
}

std::string UnitCompiler::keyOf(const CodeUnit &unit, llvm::Module &module) const {
  llvm::SmallVector<char, 0> bitcode;
  llvm::raw_svector_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(module, stream);
  std::string versions = unit.isNamed ? "function" : "";
  if (effort == Effort::Least)
    versions += "unoptimised";
  for (const IsaLevel &level : levels)
    if (unit.isKernel)
      versions += level.suffix;
  Sha256 hash;
  hash.update(versions + '\0');
  hash.update({bitcode.data(), bitcode.size()});
  return hash.finish();
}

static bool hasLoop(const llvm::Function &function) {
  llvm::SmallVector<std::pair<const llvm::BasicBlock *, const llvm::BasicBlock *>> edges;
  llvm::FindFunctionBackedges(function, edges);
  return !edges.empty();
}

llvm::Expected<std::string> UnitCompiler::optimize(const CodeUnit &unit, llvm::Module &module,
                                                   CodeGenerator &generator) {
  // Optimisation that depends on no instruction set is done once, before kernels are copied.
  if (effort == Effort::Full)
    generator.simplify(module);
  llvm::Function *function = module.getFunction(kOwnName);
  if (unit.isKernel)
    cloneForLevels(*function, levels);
  if (unit.isKernel && !unit.isNamed)
    function->eraseFromParent();
  else
    setBaseline(*function);
  if (effort == Effort::Full)
    generator.vectorize(module);
  if (unit.isKernel)
    cloneForFeatures(module, kOwnName, levels);
  return generator.emitObject(module, effort);
}

llvm::Expected<std::string> UnitCompiler::make(const CodeUnit &unit, llvm::Module &module) {
  auto taken = generators.take();
  if (!taken)
    return taken.takeError();
  CodeGenerator &generator = **taken;
  generator.prepare(module);
  hideHalfConversions(module);
  llvm::Function *function = module.getFunction(kOwnName);
  // Calls of the runtime, one behind the other, are most functions of the host and of a deep
  // network most code: to optimise them takes longer than a model's steps would ever gain.
  const bool runsOnce = !unit.isKernel && !hasLoop(*function);
  if (runsOnce)
    setBaseline(*function);
  auto object =
      runsOnce ? generator.emitObject(module, Effort::Least) : optimize(unit, module, generator);
  generators.giveBack(std::move(*taken));
  return object;
}

llvm::Expected<SharedObjects::Object> UnitCompiler::find(const CodeUnit &unit,
                                                         llvm::Module &module) {
  const std::string key = keyOf(unit, module);
  if (auto known = objects.find(key)) {
    if (*known)
      return std::move(*known);
    return internalError("an equal function was not compiled");
  }
  std::optional<std::string> kept = cache ? cache->find(key) : std::nullopt;
  llvm::Expected<std::string> object =
      kept ? llvm::Expected<std::string>(std::move(*kept)) : make(unit, module);
  if (!object) {
    objects.finish(key, nullptr);
    return object.takeError();
  }
  if (cache && !kept)
    cache->store(key, *object);
  auto shared = std::make_shared<const std::string>(std::move(*object));
  objects.finish(key, shared);
  return shared;
}

llvm::Expected<std::string> UnitCompiler::compile(CodeUnit &unit) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module =
      mlir::translateModuleToLLVMIR(*unit.module, context, "unit");
  if (!module)
    return internalError("the function " + unit.name + " does not translate to LLVM IR");
  if (llvm::Error error = makeAnonymous(*module, unit))
    return error;
  auto object = find(unit, *module);
  if (!object)
    return object.takeError();
  return renameSymbols(**object, namesInModel(unit, levels));
}

/// A kernel has several versions, whose loops are vectorised.
static size_t costOf(const CodeUnit &unit, size_t levels) {
  return unit.ops * (unit.isKernel ? 3 * levels : 1);
}

llvm::Expected<std::vector<ObjectFile>> mpc::compileUnits(std::vector<CodeUnit> &units,
                                                          llvm::ArrayRef<IsaLevel> levels,
                                                          Effort effort, ObjectCache *cache,
                                                          llvm::function_ref<void(size_t)> done) {
  std::vector<ObjectFile> objects(units.size());
  std::vector<size_t> order(units.size());
  std::iota(order.begin(), order.end(), 0);
  auto rank = [&](size_t index) {
    return std::make_pair(SIZE_MAX - costOf(units[index], levels.size()), index);
  };
  llvm::sort(order, [&](size_t a, size_t b) { return rank(a) < rank(b); });
  UnitCompiler compiler(levels, effort, cache);
  llvm::Error failures = llvm::Error::success();
  std::mutex mutex;
  size_t finished = 0;
  llvm::DefaultThreadPool pool;
  for (size_t index : order)
    pool.async([&, index] {
      auto object = compiler.compile(units[index]);
      std::lock_guard lock(mutex);
      if (object)
        objects[index] = {units[index].name, std::move(*object)};
      else
        failures = llvm::joinErrors(std::move(failures), object.takeError());
      done(++finished);
    });
  pool.wait();
  if (failures)
    return failures;
  return objects;
}
