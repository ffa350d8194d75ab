// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of a module go into modules of their own while they are MLIR: to copy parts of an LLVM
// module costs as much as to translate it.
#include "lib/Codegen/CPU/CodeUnits.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/SymbolTable.h"
#include "mpc/Support/InternalError.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mpc;

namespace {
/// Fills the module of one unit.
class UnitBuilder {
public:
  UnitBuilder(const SymbolTable &symbols, CodeUnit &unit) : symbols(symbols), unit(unit) {}

  llvm::Error take(LLVM::LLVMFuncOp function) {
    unit.module = ModuleOp::create(UnknownLoc::get(function.getContext()));
    addReferenced(function);
    function->moveBefore(unit.module->getBody(), unit.module->getBody()->end());
    if (unknown.empty())
      return llvm::Error::success();
    return internalError("no symbol named " + unknown);
  }

private:
  void addReferenced(Operation *user) {
    user->walk([&](Operation *op) {
      ++unit.ops;
      if (auto address = dyn_cast<LLVM::AddressOfOp>(op))
        add(address.getGlobalName());
      else if (auto call = dyn_cast<LLVM::CallOp>(op); call && call.getCallee())
        add(*call.getCallee());
    });
  }

  void add(StringRef name) {
    if (name == unit.name || !added.insert(name).second)
      return;
    Operation *found = symbols.lookup(name);
    OpBuilder builder = OpBuilder::atBlockEnd(unit.module->getBody());
    if (auto global = dyn_cast_or_null<LLVM::GlobalOp>(found)) {
      // A variable would be one of each unit.
      if (!global.getConstant())
        unknown = name.str() + " that is constant";
      addReferenced(builder.clone(*found));
    } else if (auto function = dyn_cast_or_null<LLVM::LLVMFuncOp>(found)) {
      auto declaration = cast<LLVM::LLVMFuncOp>(builder.insert(function->cloneWithoutRegions()));
      declaration.setLinkage(LLVM::Linkage::External);
      if (!function.isExternal())
        unit.callees.push_back(name.str());
    } else {
      unknown = name.str();
    }
  }

  const SymbolTable &symbols;
  CodeUnit &unit;
  llvm::StringSet<> added;
  std::string unknown;
};
} // namespace

llvm::Expected<std::vector<CodeUnit>> mpc::takeApart(ModuleOp module,
                                                     llvm::ArrayRef<std::string> kernels) {
  const SymbolTable symbols(module);
  llvm::StringSet<> isKernel;
  isKernel.insert_range(kernels);
  std::vector<CodeUnit> units;
  // The functions stay in the table until all units have been filled: each sees those of others.
  SmallVector<LLVM::LLVMFuncOp> functions;
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    if (!function.isExternal())
      functions.push_back(function);
  for (LLVM::LLVMFuncOp function : functions) {
    CodeUnit &unit = units.emplace_back();
    unit.name = function.getSymName().str();
    unit.isKernel = isKernel.erase(unit.name);
    if (llvm::Error error = UnitBuilder(symbols, unit).take(function))
      return error;
  }
  for (const auto &kernel : isKernel)
    return internalError("no kernel named " + kernel.getKey());
  llvm::StringSet<> named;
  for (const CodeUnit &unit : units)
    named.insert_range(unit.callees);
  for (CodeUnit &unit : units)
    unit.isNamed = named.contains(unit.name);
  return units;
}
