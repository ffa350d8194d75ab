// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Vectorisation and object code take most of mpcc's time, and functions do not need each other for
// them: parts of the module are compiled side by side, each in a context of its own.
#include "lib/Codegen/CPU/ObjectFile.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace mpc;

/// A smaller part costs more than it saves.
static constexpr size_t kInstructionsPerPart = 1000;
static constexpr size_t kMostParts = 16;

using PartOfFunction = llvm::DenseMap<const llvm::GlobalValue *, size_t>;

/// The same parts on every machine, about equally large. Returns how many.
static size_t assignParts(llvm::Module &module, PartOfFunction &partOf) {
  llvm::SmallVector<std::pair<size_t, const llvm::Function *>> functions;
  size_t instructions = 0;
  for (const llvm::Function &function : module)
    if (!function.isDeclaration()) {
      functions.emplace_back(function.getInstructionCount(), &function);
      instructions += functions.back().first;
    }
  const size_t parts = std::clamp<size_t>(instructions / kInstructionsPerPart, 1, kMostParts);
  llvm::sort(functions, [](auto &a, auto &b) {
    return std::make_tuple(b.first, a.second->getName()) <
           std::make_tuple(a.first, b.second->getName());
  });
  std::vector<size_t> sizes(parts);
  for (auto [size, function] : functions) {
    auto smallest = llvm::min_element(sizes);
    *smallest += size;
    partOf[function] = static_cast<size_t>(smallest - sizes.begin());
  }
  return parts;
}

/// Functions become visible to other parts. Each part has the constants that it reads.
static llvm::SmallVector<char, 0> cutOut(llvm::Module &module, const PartOfFunction &partOf,
                                         size_t part) {
  llvm::ValueToValueMapTy mapping;
  std::unique_ptr<llvm::Module> cut =
      llvm::CloneModule(module, mapping, [&](const llvm::GlobalValue *value) {
        if (auto *variable = llvm::dyn_cast<llvm::GlobalVariable>(value))
          return part == 0 || (variable->isConstant() && variable->hasLocalLinkage());
        return partOf.lookup(value) == part;
      });
  llvm::SmallVector<char, 0> bitcode;
  llvm::raw_svector_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(*cut, stream);
  return bitcode;
}

static llvm::Expected<std::string> compile(llvm::Module &module) {
  auto target = createTargetMachine();
  if (!target)
    return target.takeError();
  vectorize(module, **target);
  return emitObject(module, **target);
}

static llvm::Expected<std::string> compileBitcode(llvm::ArrayRef<char> bitcode) {
  llvm::LLVMContext context;
  auto module = llvm::parseBitcodeFile(
      llvm::MemoryBufferRef({bitcode.data(), bitcode.size()}, "part"), context);
  if (!module)
    return module.takeError();
  return compile(**module);
}

llvm::Expected<std::vector<std::string>> mpc::compileInParts(llvm::Module &module) {
  PartOfFunction partOf;
  const size_t parts = assignParts(module, partOf);
  std::vector<std::string> objects(parts);
  llvm::Error failures = llvm::Error::success();
  auto keep = [&](size_t part, llvm::Expected<std::string> object) {
    if (object)
      objects[part] = std::move(*object);
    else
      failures = llvm::joinErrors(std::move(failures), object.takeError());
  };
  if (parts == 1) {
    keep(0, compile(module));
  } else {
    for (llvm::Function &function : module)
      if (!function.isDeclaration() && function.hasLocalLinkage()) {
        function.setLinkage(llvm::GlobalValue::ExternalLinkage);
        function.setVisibility(llvm::GlobalValue::HiddenVisibility);
      }
    std::mutex mutex;
    llvm::DefaultThreadPool pool;
    for (size_t part = 0; part < parts; ++part)
      pool.async([&, part, bitcode = cutOut(module, partOf, part)] {
        auto object = compileBitcode(bitcode);
        std::lock_guard lock(mutex);
        keep(part, std::move(object));
      });
    pool.wait();
  }
  if (failures)
    return failures;
  return objects;
}
