// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The manifest that libraries carry and that stands beside them.
#include "lib/Target/Artifacts.h"
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
    if (describesBuild) {
      json.attribute("compiler_version", tables.compilerVersion);
      json.attribute("header_hash", tables.headerHash);
      json.attribute("weights_hash", tables.weightsHash);
      json.attribute("weights", tables.embeddedWeights.empty() ? "external" : "embedded");
      json.attributeArray("targets", [&] {
        for (const std::string &target : tables.targets)
          json.value(target);
      });
    }
    json.attributeArray("layers", [&] {
      for (const LayerEntry &layer : tables.layers)
        json.object([&] {
          json.attribute("path", layer.path);
          json.attribute("class", layer.kind);
          json.attribute("policy", layer.policy);
          json.attribute("compute", layer.compute);
          json.attribute("variable", layer.variable);
          json.attribute("accumulate", layer.accumulate);
          json.attribute("rule", layer.rule);
        });
    });
    for (const FunctionEntry &entry : tables.entries) {
      if (entry.name != "predict")
        continue;
      json.attributeArray("inputs", [&] {
        for (const TensorEntry &tensor : entry.inputs)
          writeTensor(json, tensor);
      });
      json.attributeArray("outputs", [&] {
        for (size_t i = 0; i < entry.outputs.size(); ++i)
          writeTensor(json, entry.outputs[i],
                      i < tables.outputNames.size() ? tables.outputNames[i] : "");
      });
    }
    json.attributeArray("entries", [&] {
      for (const FunctionEntry &entry : tables.entries)
        json.object([&] {
          json.attribute("name", entry.name);
          json.attribute("arena_fixed_bytes", int64_t(entry.arenaFixed));
          json.attribute("arena_bytes_per_sample", int64_t(entry.arenaPerSample));
          json.attributeArray("inputs", [&] {
            for (const TensorEntry &tensor : entry.inputs)
              writeTensor(json, tensor);
          });
          json.attributeArray("outputs", [&] {
            for (const TensorEntry &tensor : entry.outputs)
              writeTensor(json, tensor);
          });
        });
    });
    json.attributeArray("variables", [&] {
      for (const VariableEntry &variable : tables.variables) {
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
    json.attributeArray("metrics", [&] {
      for (const MetricEntry &metric : tables.metrics)
        json.value(metric.name);
    });
  });
  stream << '\n';
  return text;
}
