// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What `mpcc --explain` prints.
#ifndef MPC_LIB_DRIVER_EXPLAIN_H
#define MPC_LIB_DRIVER_EXPLAIN_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <string>
#include <vector>

namespace mpc {

/// Collects, while the phases run, what a person may ask about each layer and op.
class Explanation {
public:
  /// After phase policy: the policy of each layer and the rule that decided it.
  void recordLayers(mlir::ModuleOp module);
  /// After phase fusion: dtypes, accumulator and epilogue of each op of each entry.
  void recordOps(mlir::ModuleOp module);
  /// A remark of a pass, as "category name: text".
  void recordRemark(std::string place, std::string name, std::string text);

  void printTable(llvm::raw_ostream &os) const;
  void printJson(llvm::raw_ostream &os) const;

private:
  struct Layer {
    std::string path, kind, compute, variable, accumulate, rule;
  };
  struct Op {
    std::string entry, layer, name, inputs, accumulate, output, kernel;
  };
  struct Decision {
    std::string place, name, text;
  };
  std::vector<Layer> layers;
  std::vector<Op> ops;
  std::vector<Decision> decisions;
};

} // namespace mpc

#endif // MPC_LIB_DRIVER_EXPLAIN_H
