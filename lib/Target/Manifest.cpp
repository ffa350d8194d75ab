// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The manifest that libraries carry and that stands beside them.
#include "lib/Target/Artifacts.h"
#include "mpc-rt/executable.h"
#include "runtime/untrusted/outlets.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace mpc;

static void writeTensor(llvm::json::OStream &json, const TensorEntry &tensor,
                        llvm::StringRef alias = {}) {
  json.object([&] {
    json.attribute("name", tensor.name);
    if (!alias.empty())
      json.attribute("alias", alias);
    json.attribute("dtype", tensor.dtype);
    json.attributeArray("shape", [&] {
      for (int64_t extent : tensor.dims)
        extent < 0 ? json.value(nullptr) : json.value(extent);
    });
    if (tensor.indexLimit)
      json.attribute("index_limit", tensor.indexLimit);
    for (const FormEntry &form : tensor.forms)
      if (form.kind == MPC_RT_FORM_TEXT)
        json.attribute("text", true);
      else
        json.attributeObject("bounded", [&] {
          json.attribute("axis", int64_t(form.axis));
          json.attribute("extent_output", int64_t(form.extentOutput));
        });
  });
}

static void writeTensors(llvm::json::OStream &json, llvm::StringRef name,
                         llvm::ArrayRef<TensorEntry> tensors) {
  json.attributeArray(name, [&] {
    for (const TensorEntry &tensor : tensors)
      writeTensor(json, tensor);
  });
}

/// Which compiler and weights made the library, and for which machines.
static void writeBuild(llvm::json::OStream &json, const ModuleTables &tables) {
  json.attribute("compiler_version", tables.compilerVersion);
  json.attribute("header_hash", tables.headerHash);
  json.attribute("weights_hash", tables.weightsHash);
  json.attribute("weights", tables.embeddedWeights.empty() ? "external" : "embedded");
  json.attributeArray("targets", [&] {
    for (const std::string &target : tables.targets)
      json.value(target);
  });
}

static void writeLayers(llvm::json::OStream &json, llvm::ArrayRef<LayerEntry> layers) {
  json.attributeArray("layers", [&] {
    for (const LayerEntry &layer : layers)
      json.object([&] {
        json.attribute("path", layer.path);
        json.attribute("class", layer.kind);
        json.attribute("policy", layer.policy);
        json.attribute("compute", layer.compute);
        json.attribute("variable", layer.variable);
        json.attribute("accumulate", layer.accumulate);
        json.attribute("rule", layer.rule);
        if (layer.output)
          json.attributeArray("output_shape", [&] {
            for (int64_t extent : *layer.output)
              extent < 0 ? json.value(nullptr) : json.value(extent);
          });
      });
  });
}

/// The model's inputs and outputs, which are those of its prediction.
static void writeSignature(llvm::json::OStream &json, const ModuleTables &tables) {
  for (const FunctionEntry &entry : tables.entries) {
    if (entry.name != "predict")
      continue;
    writeTensors(json, "inputs", entry.inputs);
    json.attributeArray("outputs", [&] {
      for (size_t i = 0; i < entry.outputs.size(); ++i)
        writeTensor(json, entry.outputs[i],
                    i < tables.outputNames.size() ? tables.outputNames[i] : "");
    });
  }
}

static void writeEntries(llvm::json::OStream &json, llvm::ArrayRef<FunctionEntry> entries) {
  json.attributeArray("entries", [&] {
    for (const FunctionEntry &entry : entries)
      json.object([&] {
        json.attribute("name", entry.name);
        json.attribute("arena_fixed_bytes", int64_t(entry.arenaFixed));
        json.attribute("arena_bytes_per_sample", int64_t(entry.arenaPerSample));
        writeTensors(json, "inputs", entry.inputs);
        writeTensors(json, "outputs", entry.outputs);
      });
  });
}

static void writeVariables(llvm::json::OStream &json, llvm::ArrayRef<VariableEntry> variables) {
  json.attributeArray("variables", [&] {
    for (const VariableEntry &variable : variables) {
      if (variable.role == VariableRole::Shadow) // derived, neither loaded nor saved
        continue;
      json.object([&] {
        json.attribute("path", variable.tensor.name);
        json.attribute("role", stringifyVariableRole(variable.role));
        json.attribute("dtype", variable.tensor.dtype);
        json.attributeArray("shape", [&] {
          for (int64_t extent : variable.tensor.dims)
            json.value(extent);
        });
      });
    }
  });
}

static void writeMetrics(llvm::json::OStream &json, llvm::ArrayRef<MetricEntry> metrics) {
  json.attributeArray("metrics", [&] {
    for (const MetricEntry &metric : metrics)
      json.value(metric.name);
  });
}

std::string mpc::toManifest(const ModuleTables &tables, bool describesBuild) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream, 1);
  json.object([&] {
    json.attribute("name", tables.name);
    json.attribute("source_hash", tables.sourceHash);
    json.attribute("policy", tables.policy);
    if (describesBuild)
      writeBuild(json, tables);
    writeLayers(json, tables.layers);
    writeSignature(json, tables);
    if (!tables.outputStructure.empty()) {
      json.attributeBegin("output_structure");
      json.rawValue(tables.outputStructure);
      json.attributeEnd();
    }
    writeEntries(json, tables.entries);
    writeVariables(json, tables.variables);
    writeMetrics(json, tables.metrics);
  });
  stream << '\n';
  return untrusted::forJson(text);
}
