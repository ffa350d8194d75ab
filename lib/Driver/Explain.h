// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table that `mpcc --explain` prints.
#ifndef MPC_LIB_DRIVER_EXPLAIN_H
#define MPC_LIB_DRIVER_EXPLAIN_H

#include "mlir/IR/BuiltinOps.h"
#include "mpc/Driver/Compile.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <string>
#include <vector>

namespace mpc {

/// A layer of the model, and the policy that it runs in.
struct LayerSummary {
  std::string path, kind, policy;
};

/// Collects, while the phases run, what a person may ask about each layer and op.
class Explanation {
public:
  /// After phase policy: the policy of each layer and the rule that decided it.
  /// `reasons` are those of a search, by layer path.
  void recordLayers(mlir::ModuleOp module, const std::map<std::string, std::string> &reasons);
  /// After phase fusion: dtypes, accumulator and epilogue of each op of each entry.
  void recordOps(mlir::ModuleOp module);
  /// After phase kernels: the memory that variables and entries need.
  void recordMemory(mlir::ModuleOp module);
  /// After phase kernels, where products of float32 are three of TF32: convolutions that are not.
  void recordWideConvolutions(mlir::ModuleOp module);
  /// Takes the remarks of all passes that run in the context.
  void listen(mlir::MLIRContext &context);
  /// A remark of a pass: its text and the values that it names.
  void recordRemark(std::string place, std::string name, std::string text,
                    const std::map<std::string, std::string> &values);

  /// Once each, in the order of the model.
  std::vector<LayerSummary> listLayers() const;
  /// Layers; with Ops also the ops of @predict and @train_step, repeated rows once, and memory;
  /// with Passes also what the passes decided.
  void printTables(llvm::raw_ostream &os, Explain depth) const;
  /// Everything: `layers`, `ops` of all entries, `decisions`.
  void printJson(llvm::raw_ostream &os) const;

private:
  struct Layer {
    std::string path, kind, policy, compute, variable, accumulate, output, casts, rule, reason;
  };
  struct Op {
    std::string entry, layer, name, accumulate, kernel;
    std::vector<std::string> inputs, outputs; // "bf16[?x784]"
    bool operator==(const Op &other) const;
  };
  struct Decision {
    std::string place, name, text;
  };

  /// Bytes: a fixed part, and one per sample of the batch.
  struct Memory {
    std::string place; // role of variables or name of an entry
    int64_t fixed, perSample;
  };

  Layer *findLayer(llvm::StringRef path);
  void writeJson(llvm::raw_ostream &os) const;
  void printLayers(llvm::raw_ostream &os) const;
  void printWideConvolutions(llvm::raw_ostream &os) const;
  void printMemory(llvm::raw_ostream &os) const;
  void printEntry(llvm::raw_ostream &os, llvm::StringRef entry) const;
  void printDecisions(llvm::raw_ostream &os) const;

  std::map<std::string, std::string> policies; // by layer, before the layers are recorded
  std::vector<Layer> layers;
  std::vector<Op> ops;
  std::vector<Memory> variables, entries;
  std::vector<Decision> decisions;
  std::vector<std::string> wideConvolutions; // places, each once
};

} // namespace mpc

#endif // MPC_LIB_DRIVER_EXPLAIN_H
