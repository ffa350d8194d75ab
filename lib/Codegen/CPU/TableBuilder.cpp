// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Constants of the C structs, each field by its place in C; LLVM's unpacked structs have C's
// layout.
#include "lib/Codegen/CPU/TableBuilder.h"
#include "lib/Support/CField.h"
#include "llvm/IR/IRBuilder.h"

using namespace mpc;
using llvm::Constant;
using llvm::StringRef;

/// Generated code reads all fields of a call (HostFrame.cpp).
static constexpr size_t kCallSize = MPC_C_FIELD(mpc_rt_call_t, context).end();

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
  using Fields = std::vector<std::pair<CField, Constant *>>;
  /// A struct of C of `size` bytes; what is not given is 0.
  Constant *structure(size_t size, Fields fields) {
    llvm::sort(fields, [](auto &a, auto &b) { return a.first.offset < b.first.offset; });
    std::vector<Constant *> elements;
    size_t next = 0;
    auto fillUpTo = [&](size_t offset) {
      for (; next < offset; next += sizeof(uint32_t))
        elements.push_back(i32(0));
    };
    for (auto &[field, value] : fields) {
      fillUpTo(field.offset);
      assert(next == field.offset && "fields do not overlap");
      assert(module.getDataLayout().getTypeAllocSize(value->getType()) == field.size &&
             "a field is as wide as in C");
      elements.push_back(value);
      next = field.end();
    }
    fillUpTo(size);
    return llvm::ConstantStruct::getAnon(context, elements);
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
    return structure(
        sizeof(mpc_rt_tensor_info_t),
        {{MPC_C_FIELD(mpc_rt_tensor_info_t, name), string(entry.name)},
         {MPC_C_FIELD(mpc_rt_tensor_info_t, dtype), i32(entry.dtypeCode)},
         {MPC_C_FIELD(mpc_rt_tensor_info_t, rank), i32(entry.dims.size())},
         {MPC_C_FIELD(mpc_rt_tensor_info_t, dims), array(dims, "dims")},
         {MPC_C_FIELD(mpc_rt_tensor_info_t, index_limit), i64(uint64_t(entry.indexLimit))}});
  }
  Constant *tensors(const std::vector<TensorEntry> &entries) {
    std::vector<Constant *> elements;
    for (const TensorEntry &entry : entries)
      elements.push_back(tensor(entry));
    return array(elements, "tensors");
  }
  Constant *variable(const VariableEntry &entry) {
    return structure(
        sizeof(mpc_rt_variable_info_t),
        {{MPC_C_FIELD(mpc_rt_variable_info_t, tensor), tensor(entry.tensor)},
         {MPC_C_FIELD(mpc_rt_variable_info_t, role), i32(uint32_t(entry.role))},
         {MPC_C_FIELD(mpc_rt_variable_info_t, initializer), i32(uint32_t(entry.initializer))},
         {MPC_C_FIELD(mpc_rt_variable_info_t, init_a), f64(entry.a)},
         {MPC_C_FIELD(mpc_rt_variable_info_t, init_b), f64(entry.b)},
         {MPC_C_FIELD(mpc_rt_variable_info_t, init_stream), i64(entry.stream)},
         {MPC_C_FIELD(mpc_rt_variable_info_t, shadow_of), i32(uint32_t(entry.shadowOf))},
         {MPC_C_FIELD(mpc_rt_variable_info_t, flags), i32(entry.flags)}});
  }
  Constant *function(const FunctionEntry &entry) {
    return structure(
        sizeof(mpc_rt_entry_info_t),
        {{MPC_C_FIELD(mpc_rt_entry_info_t, name), string(entry.name)},
         {MPC_C_FIELD(mpc_rt_entry_info_t, fn), code(entry.name)},
         {MPC_C_FIELD(mpc_rt_entry_info_t, input_count), i32(entry.inputs.size())},
         {MPC_C_FIELD(mpc_rt_entry_info_t, output_count), i32(entry.outputs.size())},
         {MPC_C_FIELD(mpc_rt_entry_info_t, inputs), tensors(entry.inputs)},
         {MPC_C_FIELD(mpc_rt_entry_info_t, outputs), tensors(entry.outputs)},
         {MPC_C_FIELD(mpc_rt_entry_info_t, arena_fixed), i64(entry.arenaFixed)},
         {MPC_C_FIELD(mpc_rt_entry_info_t, arena_per_sample), i64(entry.arenaPerSample)}});
  }
  /// The forms of all tensors of all entries.
  std::vector<Constant *> forms(const std::vector<FunctionEntry> &entries) {
    std::vector<Constant *> rows;
    for (auto [number, entry] : llvm::enumerate(entries))
      for (const bool isOutput : {false, true})
        for (auto [i, tensor] : llvm::enumerate(isOutput ? entry.outputs : entry.inputs))
          for (const FormEntry &form : tensor.forms)
            rows.push_back(structure(sizeof(mpc_rt_tensor_form_t),
                                     {{MPC_C_FIELD(mpc_rt_tensor_form_t, entry), i32(number)},
                                      {MPC_C_FIELD(mpc_rt_tensor_form_t, is_output), i32(isOutput)},
                                      {MPC_C_FIELD(mpc_rt_tensor_form_t, tensor), i32(i)},
                                      {MPC_C_FIELD(mpc_rt_tensor_form_t, kind), i32(form.kind)},
                                      {MPC_C_FIELD(mpc_rt_tensor_form_t, axis), i32(form.axis)},
                                      {MPC_C_FIELD(mpc_rt_tensor_form_t, extent_output),
                                       i32(uint32_t(form.extentOutput))}}));
    return rows;
  }
  Constant *metric(const MetricEntry &entry) {
    std::vector<Constant *> states;
    for (uint32_t state : entry.states)
      states.push_back(i32(state));
    return structure(sizeof(mpc_rt_metric_info_t),
                     {{MPC_C_FIELD(mpc_rt_metric_info_t, name), string(entry.name)},
                      {MPC_C_FIELD(mpc_rt_metric_info_t, kind), i32(entry.kind)},
                      {MPC_C_FIELD(mpc_rt_metric_info_t, state_count), i32(states.size())},
                      {MPC_C_FIELD(mpc_rt_metric_info_t, states), array(states, "states")}});
  }
  Constant *kernels(const KernelVersion &version) {
    std::vector<Constant *> functions;
    for (const std::string &kernel : version.functions)
      functions.push_back(code(kernel));
    return structure(sizeof(mpc_rt_kernel_table_t),
                     {{MPC_C_FIELD(mpc_rt_kernel_table_t, isa), i32(version.isa)},
                      {MPC_C_FIELD(mpc_rt_kernel_table_t, kernels), array(functions, "kernels")}});
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
static void buildQuery(llvm::Module &module, llvm::GlobalVariable *executable,
                       const llvm::Twine &name) {
  llvm::IRBuilder<> builder(module.getContext());
  auto *type = llvm::FunctionType::get(builder.getPtrTy(), {builder.getInt32Ty()}, false);
  auto *query = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
  query->setVisibility(llvm::GlobalValue::DefaultVisibility);
  builder.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", query));
  auto *known = builder.CreateICmpUGE(query->getArg(0), builder.getInt32(MPC_RT_ABI_VERSION));
  builder.CreateRet(
      builder.CreateSelect(known, executable, llvm::ConstantPointerNull::get(builder.getPtrTy())));
}

void mpc::buildExecutableTables(llvm::Module &module, const ModuleTables &tables,
                                StringRef manifest, const KernelVersions &versions) {
  TableBuilder b(module);
  std::vector<Constant *> names, versionTables;
  const std::vector<Constant *> forms = b.forms(tables.entries);
  for (const std::string &kernel : tables.kernels)
    names.push_back(b.string(kernel));
  for (const KernelVersion &version : versions)
    versionTables.push_back(b.kernels(version));
  Constant *executable = b.structure(
      sizeof(mpc_rt_executable_t),
      {{MPC_C_FIELD(mpc_rt_executable_t, struct_size), b.i32(sizeof(mpc_rt_executable_t))},
       {MPC_C_FIELD(mpc_rt_executable_t, abi_version), b.i32(MPC_RT_ABI_VERSION)},
       {MPC_C_FIELD(mpc_rt_executable_t, model_name), b.string(tables.name)},
       {MPC_C_FIELD(mpc_rt_executable_t, compiler_version), b.string(tables.compilerVersion)},
       {MPC_C_FIELD(mpc_rt_executable_t, source_hash), b.string(tables.sourceHash)},
       {MPC_C_FIELD(mpc_rt_executable_t, manifest), b.string(manifest)},
       {MPC_C_FIELD(mpc_rt_executable_t, variable_count), b.i32(tables.variables.size())},
       {MPC_C_FIELD(mpc_rt_executable_t, entry_count), b.i32(tables.entries.size())},
       {MPC_C_FIELD(mpc_rt_executable_t, metric_count), b.i32(tables.metrics.size())},
       {MPC_C_FIELD(mpc_rt_executable_t, kernel_count), b.i32(tables.kernels.size())},
       {MPC_C_FIELD(mpc_rt_executable_t, variables),
        b.all(tables.variables, &TableBuilder::variable, "variables")},
       {MPC_C_FIELD(mpc_rt_executable_t, entries),
        b.all(tables.entries, &TableBuilder::function, "entries")},
       {MPC_C_FIELD(mpc_rt_executable_t, metrics),
        b.all(tables.metrics, &TableBuilder::metric, "metrics")},
       {MPC_C_FIELD(mpc_rt_executable_t, kernel_tables), b.array(versionTables, "kernel_tables")},
       {MPC_C_FIELD(mpc_rt_executable_t, kernel_table_count), b.i32(versionTables.size())},
       {MPC_C_FIELD(mpc_rt_executable_t, services_size), b.i32(tables.servicesSize)},
       {MPC_C_FIELD(mpc_rt_executable_t, call_size), b.i32(kCallSize)},
       {MPC_C_FIELD(mpc_rt_executable_t, flags),
        b.i32(tables.isDistributed ? MPC_RT_EXECUTABLE_DISTRIBUTED : 0)},
       {MPC_C_FIELD(mpc_rt_executable_t, kernel_names), b.array(names, "kernel_names")},
       {MPC_C_FIELD(mpc_rt_executable_t, weights_hash), b.string(tables.weightsHash)},
       {MPC_C_FIELD(mpc_rt_executable_t, policy), b.string(tables.policy)},
       {MPC_C_FIELD(mpc_rt_executable_t, header_hash), b.string(tables.headerHash)},
       {MPC_C_FIELD(mpc_rt_executable_t, weights), b.bytes(tables.embeddedWeights)},
       {MPC_C_FIELD(mpc_rt_executable_t, weights_bytes), b.i64(tables.embeddedWeights.size())},
       {MPC_C_FIELD(mpc_rt_executable_t, loss_scale), b.f32(tables.lossScale)},
       {MPC_C_FIELD(mpc_rt_executable_t, batch_parts), b.i32(tables.batchParts)},
       {MPC_C_FIELD(mpc_rt_executable_t, loss_scale_minimum), b.f32(tables.lossScaleRule.minimum)},
       {MPC_C_FIELD(mpc_rt_executable_t, loss_scale_maximum), b.f32(tables.lossScaleRule.maximum)},
       {MPC_C_FIELD(mpc_rt_executable_t, forms), b.array(forms, "forms")},
       {MPC_C_FIELD(mpc_rt_executable_t, form_count), b.i32(forms.size())}});
  llvm::GlobalVariable *global = b.global(executable, "executable");
  // The loader asks one library at a time; programs that link several need a name for each.
  buildQuery(module, global, MPC_RT_EXECUTABLE_QUERY_SYMBOL);
  buildQuery(module, global, tables.name + "_executable_query");
}
