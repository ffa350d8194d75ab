// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Constants that mirror the C structs field by field; LLVM's unpacked structs have C's layout.
#include "lib/Codegen/CPU/TableBuilder.h"
#include "mpc-rt/executable.h"
#include "llvm/IR/IRBuilder.h"

using namespace mpc;
using llvm::Constant;
using llvm::StringRef;

namespace {

class TableBuilder {
public:
  TableBuilder(llvm::Module &module) : module(module), context(module.getContext()) {}

  Constant *i32(uint64_t value) {
    return llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), value);
  }
  Constant *i64(uint64_t value) {
    return llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), value);
  }
  Constant *f64(double value) {
    return llvm::ConstantFP::get(llvm::Type::getDoubleTy(context), value);
  }
  Constant *null() { return llvm::ConstantPointerNull::get(llvm::PointerType::getUnqual(context)); }
  Constant *structure(llvm::ArrayRef<Constant *> fields) {
    return llvm::ConstantStruct::getAnon(context, fields);
  }

  /// A function of another module of the library.
  Constant *code(StringRef name) {
    auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), /*isVarArg=*/false);
    auto *function = llvm::cast<llvm::Function>(module.getOrInsertFunction(name, type).getCallee());
    function->setVisibility(llvm::GlobalValue::HiddenVisibility);
    return function;
  }
  Constant *string(StringRef text) {
    return global(llvm::ConstantDataArray::getString(context, text), "text");
  }
  /// Bytes as callers may map them; null when there are none.
  Constant *bytes(StringRef content) {
    if (content.empty())
      return null();
    auto *variable =
        global(llvm::ConstantDataArray::getString(context, content, /*AddNull=*/false), "bytes");
    variable->setAlignment(llvm::Align(64));
    return variable;
  }
  Constant *f32(float value) {
    return llvm::ConstantFP::get(llvm::Type::getFloatTy(context), double(value));
  }
  /// A pointer to the elements; null when there are none.
  Constant *array(llvm::ArrayRef<Constant *> elements, StringRef name) {
    if (elements.empty())
      return null();
    auto *type = llvm::ArrayType::get(elements[0]->getType(), elements.size());
    return global(llvm::ConstantArray::get(type, elements), name);
  }
  llvm::GlobalVariable *global(Constant *value, StringRef name) {
    auto *variable =
        new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true,
                                 llvm::GlobalValue::PrivateLinkage, value, "mpc." + name);
    variable->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
    return variable;
  }

  Constant *tensor(const TensorEntry &entry) {
    std::vector<Constant *> dims;
    for (int64_t extent : entry.dims)
      dims.push_back(i64(uint64_t(extent)));
    return structure({string(entry.name), i32(entry.dtypeCode), i32(entry.dims.size()),
                      array(dims, "dims"), i64(uint64_t(entry.indexLimit))});
  }
  Constant *tensors(const std::vector<TensorEntry> &entries) {
    std::vector<Constant *> elements;
    for (const TensorEntry &entry : entries)
      elements.push_back(tensor(entry));
    return array(elements, "tensors");
  }
  Constant *variable(const VariableEntry &entry) {
    return structure({tensor(entry.tensor), i32(uint32_t(entry.role)),
                      i32(uint32_t(entry.initializer)), f64(entry.a), f64(entry.b),
                      i64(entry.stream), i32(uint32_t(entry.shadowOf)), i32(entry.flags)});
  }
  Constant *function(const FunctionEntry &entry) {
    return structure({string(entry.name), code(entry.name), i32(entry.inputs.size()),
                      i32(entry.outputs.size()), tensors(entry.inputs), tensors(entry.outputs),
                      i64(entry.arenaFixed), i64(entry.arenaPerSample)});
  }
  Constant *metric(const MetricEntry &entry) {
    std::vector<Constant *> states;
    for (uint32_t state : entry.states)
      states.push_back(i32(state));
    return structure(
        {string(entry.name), i32(entry.kind), i32(states.size()), array(states, "states")});
  }
  template <typename Entry>
  Constant *all(const std::vector<Entry> &entries, Constant *(TableBuilder::*build)(const Entry &),
                StringRef name) {
    std::vector<Constant *> elements;
    for (const Entry &entry : entries)
      elements.push_back((this->*build)(entry));
    return array(elements, name);
  }

private:
  llvm::Module &module;
  llvm::LLVMContext &context;
};

} // namespace

/// `const mpc_rt_executable_t *NAME(uint32_t max_abi_version)`
static void buildQuery(llvm::Module &module, llvm::GlobalVariable *executable, uint32_t abiVersion,
                       const llvm::Twine &name) {
  llvm::IRBuilder<> builder(module.getContext());
  auto *type = llvm::FunctionType::get(builder.getPtrTy(), {builder.getInt32Ty()}, false);
  auto *query = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
  query->setVisibility(llvm::GlobalValue::DefaultVisibility);
  builder.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", query));
  auto *known = builder.CreateICmpUGE(query->getArg(0), builder.getInt32(abiVersion));
  builder.CreateRet(
      builder.CreateSelect(known, executable, llvm::ConstantPointerNull::get(builder.getPtrTy())));
}

void mpc::buildExecutableTables(llvm::Module &module, const ModuleTables &tables,
                                StringRef manifest, const KernelVersions &versions) {
  TableBuilder b(module);
  std::vector<Constant *> names, levels;
  for (const std::string &kernel : tables.kernels)
    names.push_back(b.string(kernel));
  auto *pointer = llvm::PointerType::getUnqual(module.getContext());
  for (const std::vector<std::string> &version : versions) {
    std::vector<Constant *> functions;
    for (const std::string &kernel : version)
      functions.push_back(b.code(kernel));
    // A model without kernels still says which levels it was compiled for.
    bool compiled = !version.empty() || tables.kernels.empty();
    levels.push_back(!compiled           ? b.null()
                     : functions.empty() ? b.array({b.null()}, "kernels")
                                         : b.array(functions, "kernels"));
  }
  Constant *kernels =
      llvm::ConstantArray::get(llvm::ArrayType::get(pointer, levels.size()), levels);
  Constant *executable = b.structure({b.i32(sizeof(mpc_rt_executable_t)),
                                      b.i32(tables.abiVersion),
                                      b.string(tables.name),
                                      b.string(tables.compilerVersion),
                                      b.string(tables.sourceHash),
                                      b.string(manifest),
                                      b.i32(tables.variables.size()),
                                      b.i32(tables.entries.size()),
                                      b.i32(tables.metrics.size()),
                                      b.i32(tables.kernels.size()),
                                      b.all(tables.variables, &TableBuilder::variable, "variables"),
                                      b.all(tables.entries, &TableBuilder::function, "entries"),
                                      b.all(tables.metrics, &TableBuilder::metric, "metrics"),
                                      kernels,
                                      b.array(names, "kernel_names"),
                                      b.string(tables.weightsHash),
                                      b.string(tables.policy),
                                      b.string(tables.headerHash),
                                      b.bytes(tables.embeddedWeights),
                                      b.i64(tables.embeddedWeights.size()),
                                      b.f32(tables.lossScale),
                                      b.i32(0),
                                      b.f32(tables.lossScaleRule.minimum),
                                      b.f32(tables.lossScaleRule.maximum)});
  llvm::GlobalVariable *global = b.global(executable, "executable");
  // The loader asks one library at a time; programs that link several need a name for each.
  buildQuery(module, global, tables.abiVersion, MPC_RT_EXECUTABLE_QUERY_SYMBOL);
  buildQuery(module, global, tables.abiVersion, tables.name + "_executable_query");
}
