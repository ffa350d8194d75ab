// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Graphs as a model that mpcc compiles, against the same entry in the reference interpreter.
#include "mlir/IR/IRMapping.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mpc-rt/model.h"
#include "mpc/Driver/Compile.h"
#include "mpc/Interpreter/Interpreter.h"
#include "mpc/Pipelines/Phases.h"
#include "test/RandomGraphs/GraphChecks.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <cstring>
#include <regex>

using namespace mlir;
using namespace mpc;
using namespace mpc::test;

// ---- One model of several graphs
// ------------------------------------------------------------------

MergedGraphs mpc::test::mergeGraphs(MLIRContext &context, const Graphs &graphs) {
  OpBuilder b(&context);
  Location l = b.getUnknownLoc();
  MergedGraphs merged{ModuleOp::create(l), {}};
  auto function = func::FuncOp::create(l, "forward", b.getFunctionType({}, {}));
  b.setInsertionPointToEnd(merged.module->getBody());
  std::vector<IRMapping> maps(graphs.size());
  function.addEntryBlock();
  for (bool variables : {false, true})
    for (auto [g, graph] : llvm::enumerate(graphs))
      for (auto [i, argument] : llvm::enumerate(graph->getArguments())) {
        if (argument.isVariable != variables)
          continue;
        const std::string name =
            llvm::formatv("g{0}{1}{2}", g, variables ? "/" : "_", argument.name).str();
        auto type = cast<RankedTensorType>(graph->forward().getArgumentTypes()[i]);
        Attribute label = b.getStringAttr(name);
        if (variables) {
          VariableOp::create(b, l, name, type, VariableRole::Trainable);
          label = FlatSymbolRefAttr::get(&context, name);
        }
        const unsigned index = function.getNumArguments();
        (void)function.insertArgument(
            index, type,
            b.getDictionaryAttr(b.getNamedAttr(
                variables ? MpcDialect::kVariableAttr : MpcDialect::kInputAttr, label)),
            l);
        maps[g].map(graph->forward().getArgument(i), function.getArgument(index));
        merged.arguments[name] = argument.tensor;
      }
  merged.module->push_back(function);
  auto loss = func::FuncOp::create(l, "loss", b.getFunctionType({}, {}));
  merged.module->push_back(loss);
  loss.addEntryBlock();

  OpBuilder inForward = OpBuilder::atBlockEnd(&function.getBody().front());
  OpBuilder inLoss = OpBuilder::atBlockEnd(&loss.getBody().front());
  SmallVector<Value> outputs;
  Value total;
  for (auto [g, graph] : llvm::enumerate(graphs)) {
    Block &body = graph->forward().getBody().front();
    for (Operation &op : body.without_terminator())
      inForward.clone(op, maps[g]);
    outputs.push_back(maps[g].lookup(body.getTerminator()->getOperand(0)));
    (void)loss.insertArgument(
        g, outputs.back().getType(),
        b.getDictionaryAttr(
            b.getNamedAttr(MpcDialect::kInputAttr, b.getStringAttr("out" + std::to_string(g)))),
        l);
    Value sum = ReduceOp::create(inLoss, l, ReduceKind::Sum, loss.getArgument(g),
                                 ArrayRef<int64_t>{0}, /*keep_dims=*/false);
    sum = CastOp::create(inLoss, l, RankedTensorType::get({}, b.getF32Type()), sum);
    total = total ? Value(AddOp::create(inLoss, l, total, sum)) : sum;
  }
  func::ReturnOp::create(inForward, l, outputs);
  func::ReturnOp::create(inLoss, l, total);
  auto finish = [&](func::FuncOp one, ValueRange results) {
    one.setFunctionType(b.getFunctionType(one.getArgumentTypes(), results.getTypes()));
  };
  finish(function, outputs);
  finish(loss, total);
  for (size_t g = 0; g < graphs.size(); ++g)
    function.setResultAttr(g, MpcDialect::kOutputAttr, b.getStringAttr("out" + std::to_string(g)));
  loss.setResultAttr(0, MpcDialect::kOutputAttr, b.getStringAttr("loss"));
  return merged;
}

static std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  return text;
}

MergedGraphs mpc::test::inFloat32(const MergedGraphs &merged) {
  // Types of tensors alone: attributes stay as they are, also those that have such a type.
  std::string text =
      std::regex_replace(print(*merged.module), std::regex("(tensor<[0-9?x]*)f64>"), "$1f32>");
  text =
      std::regex_replace(text, std::regex("(weights dense<[^>]*> : tensor<[0-9]*x)f32>"), "$1f64>");
  MLIRContext *context = merged.module.get()->getContext();
  MergedGraphs narrow{parseSourceString<ModuleOp>(text, context), merged.arguments};
  for (auto &[name, tensor] : narrow.arguments)
    if (tensor.isFloating()) {
      tensor.elementType = Float32Type::get(context);
      for (double &x : tensor.floats)
        x = float(x);
    }
  return narrow;
}

// ---- Interpreted and compiled
// -----------------------------------------------------------------------

/// Nobody runs the other entries, and to compile them would take as long again. A model has
/// @predict: it keeps its first output.
static void keepGradients(ModuleOp module) {
  for (auto entry : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
    if (entry.getName() != "gradients" && entry.getName() != "predict")
      entry.erase();
    else if (entry.getName() == "predict") {
      llvm::BitVector others(entry.getNumResults(), true);
      others.reset(0);
      entry.getBody().front().getTerminator()->eraseOperands(others);
      (void)entry.eraseResults(others);
    }
  }
}

MergedGraphs mpc::test::makeGradients(const MergedGraphs &merged) {
  MergedGraphs differentiated{merged.module.get().clone(), merged.arguments};
  ModuleOp module = *differentiated.module;
  auto run = [&](Phase first, Phase last) {
    PassManager passes(module->getContext());
    for (int phase = int(first); phase <= int(last); ++phase)
      addPhase(passes, Phase(phase), PipelineOptions());
    return succeeded(passes.run(module));
  };
  if (!run(Phase::Policy, Phase::Autodiff))
    return {};
  keepGradients(module);
  if (!run(Phase::Scaling, Phase::Scaling))
    return {};
  return differentiated;
}

Results mpc::test::interpretGradients(const MergedGraphs &differentiated) {
  ModuleOp module = *differentiated.module;
  auto function = module.lookupSymbol<func::FuncOp>("gradients");
  SmallVector<ReferenceTensor> arguments, values;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto symbol = function.getArgAttrOfType<FlatSymbolRefAttr>(i, MpcDialect::kVariableAttr);
    auto input = function.getArgAttrOfType<StringAttr>(i, MpcDialect::kInputAttr);
    arguments.push_back(
        differentiated.arguments.at(symbol ? symbol.getValue().str() : input.getValue().str()));
  }
  if (failed(interpret(function, arguments, values)))
    return {};
  Results results;
  for (auto [i, value] : llvm::enumerate(values))
    results[function.getResultAttrOfType<StringAttr>(i, MpcDialect::kOutputAttr).str()] = value;
  return results;
}

namespace {
using Bytes = std::vector<char>;

template <typename From, typename To, typename List>
void copyElements(const List &from, size_t count, void *to) {
  for (size_t i = 0; i < count; ++i) {
    const To value = To(From(from[i]));
    std::memcpy(static_cast<char *>(to) + i * sizeof(To), &value, sizeof(To));
  }
}

Bytes toBytes(const ReferenceTensor &tensor) {
  const size_t count = size_t(tensor.size());
  Bytes bytes(count * tensor.elementType.getIntOrFloatBitWidth() / 8);
  if (tensor.elementType.isF64())
    copyElements<double, double>(tensor.floats, count, bytes.data());
  else if (tensor.elementType.isF32())
    copyElements<double, float>(tensor.floats, count, bytes.data());
  else
    copyElements<int64_t, int32_t>(tensor.integers, count, bytes.data());
  return bytes;
}

/// The runtime's objects, released in the end.
struct Library {
  mpc_rt_model_t *model = nullptr;
  mpc_rt_context_t *context = nullptr;
  ~Library() {
    mpc_rt_context_release(context);
    mpc_rt_model_release(model);
  }
};
} // namespace

Results mpc::test::runCompiled(const MergedGraphs &differentiated, const std::string &folder,
                               const std::string &march, bool optimize, std::string &error) {
  const std::string source = folder + "/graphs.mlir";
  (void)llvm::sys::fs::create_directories(folder);
  {
    std::error_code failure;
    llvm::raw_fd_ostream stream(source, failure);
    stream << print(*differentiated.module) << "\n";
  }
  CompileOptions options;
  options.model = source;
  options.output = folder + "/graphs.mpc";
  options.name = "graphs";
  options.march = march;
  options.optimize = optimize;
  options.compileFrom = Phase::Scaling;
  options.compilerVersion = "test";
  options.quiet = true;
  if (compileModel(options) != kExitDone) {
    error = "could not be compiled";
    return {};
  }
  Library library;
  mpc_rt_context_options_t contextOptions;
  mpc_rt_context_options_init(&contextOptions);
  contextOptions.threads = 1;
  uint32_t number = 0;
  if (mpc_rt_model_load(options.output.c_str(), &library.model) ||
      mpc_rt_context_create(library.model, &contextOptions, &library.context) ||
      mpc_rt_find_entry(library.model, "gradients", &number)) {
    error = mpc_rt_last_error();
    return {};
  }
  const mpc_rt_executable_t *tables = mpc_rt_model_executable(library.model);
  for (uint32_t i = 0; i < tables->variable_count; ++i) {
    const mpc_rt_tensor_info_t &info = tables->variables[i].tensor;
    auto argument = differentiated.arguments.find(info.name);
    if (argument == differentiated.arguments.end())
      continue;
    Bytes bytes = toBytes(argument->second);
    if (mpc_rt_context_set_variable(library.context, i, info.dtype, bytes.data(), bytes.size())) {
      error = mpc_rt_last_error();
      return {};
    }
  }
  const mpc_rt_entry_info_t &entry = tables->entries[number];
  std::vector<Bytes> inputs, outputs;
  std::vector<const void *> inputPointers;
  std::vector<void *> outputPointers;
  Results results;
  for (uint32_t i = 0; i < entry.input_count; ++i)
    inputs.push_back(toBytes(differentiated.arguments.at(entry.inputs[i].name)));
  Builder b(differentiated.module.get()->getContext());
  for (uint32_t i = 0; i < entry.output_count; ++i) {
    const mpc_rt_tensor_info_t &info = entry.outputs[i];
    SmallVector<int64_t> shape(info.dims, info.dims + info.rank);
    for (int64_t &extent : shape)
      extent = extent == MPC_RT_DYNAMIC ? RandomGraph::kBatch : extent;
    ReferenceTensor &result = results[info.name];
    startReference(result, info.dtype == MPC_RT_FLOAT64 ? Type(b.getF64Type()) : b.getF32Type(),
                   shape);
    outputs.push_back(Bytes(size_t(result.size()) * mpc_rt_dtype_size(info.dtype)));
  }
  for (Bytes &bytes : inputs)
    inputPointers.push_back(bytes.data());
  for (Bytes &bytes : outputs)
    outputPointers.push_back(bytes.data());
  if (mpc_rt_context_run(library.context, number, inputPointers.data(), outputPointers.data(),
                         RandomGraph::kBatch)) {
    error = mpc_rt_last_error();
    return {};
  }
  for (uint32_t i = 0; i < entry.output_count; ++i) {
    ReferenceTensor &result = results[entry.outputs[i].name];
    for (int64_t k = 0; k < result.size(); ++k)
      if (result.elementType.isF64()) {
        std::memcpy(&result.floats[k], outputs[i].data() + k * 8, 8);
      } else {
        float value;
        std::memcpy(&value, outputs[i].data() + k * 4, 4);
        result.floats[k] = double(value);
      }
  }
  return results;
}

// ---- Comparison
// -------------------------------------------------------------------------------------

/// "grad:g3/w1", "gradx:g3_x0" and "out3" belong to graph 3.
static int graphOf(StringRef name) {
  int graph = -1;
  if (!name.consume_front("out"))
    name = name.split(":g").second;
  (void)name.consumeInteger(10, graph);
  return graph;
}

StringRef mpc::test::reasonForFloat32(const RandomGraph &graph) {
  for (StringRef noise : {NormalNoiseOp::getOperationName(), UniformNoiseOp::getOperationName()})
    if (graph.counts().count(noise.str()))
      return "noise is defined in float32";
  return {};
}

std::pair<int, std::string> mpc::test::compareResults(const Graphs &graphs, const Results &expected,
                                                      const Results &actual, const Results *spread,
                                                      Tally &tally) {
  for (const auto &[name, tensor] : expected) {
    const int graph = graphOf(name);
    if (graph < 0)
      continue; // the loss of all of them
    auto found = actual.find(name);
    if (found == actual.end() || found->second.shape != tensor.shape)
      return {graph, name + ": compiled code returns no such tensor"};
    double largest = 0, distance = 0;
    for (int64_t k = 0; k < tensor.size(); ++k) {
      largest = std::max(largest, std::fabs(tensor.floats[k]));
      if (spread)
        distance = std::max(distance, std::fabs(tensor.floats[k] - spread->at(name).floats[k]));
    }
    // Gradients of variables leave in float32.
    double tolerance = 1e-10 * largest + 1e-10;
    if (spread)
      tolerance = 8 * distance + 4e-6 * largest + 1e-6;
    else if (!reasonForFloat32(*graphs[graph]).empty())
      tolerance = 1e-4 * largest + 1e-4;
    else if (tensor.elementType.isF32())
      tolerance = 2e-7 * largest + 1e-9;
    for (int64_t k = 0; k < tensor.size(); ++k) {
      const double got = found->second.floats[k];
      ++tally.compiled;
      if (!(std::fabs(got - tensor.floats[k]) <= tolerance))
        return {graph, llvm::formatv(
                           "{0}[{1}] is {2:e15} compiled, {3:e15} interpreted (tolerance {4:e2})",
                           name, k, got, tensor.floats[k], tolerance)
                           .str()};
    }
  }
  return {-1, ""};
}
