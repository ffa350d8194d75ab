// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of Inputs/ops.mlir, with T as one floating type.
#ifndef MPC_TEST_UNIT_LIB_NUMERICS_RANGEDOPS_H
#define MPC_TEST_UNIT_LIB_NUMERICS_RANGEDOPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mpc/Numerics/Ranges/Ranges.h"
#include <fstream>
#include <sstream>

namespace mpc {

inline std::string replaceAll(std::string text, const std::string &from, const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

struct RangedOps {
  explicit RangedOps(const std::string &type) {
    registerRangeModels(registry);
    registry.insert<MpcDialect, mlir::func::FuncDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    std::stringstream text;
    text << std::ifstream(MPC_SOURCE_DIR "/test/Unit/lib/Numerics/Inputs/ops.mlir").rdbuf();
    std::string code = replaceAll(text.str(), "xACC>", type == "f64" ? "xf64>" : "xf32>");
    code = replaceAll(replaceAll(code, "<T>", "<" + type + ">"), "xT>", "x" + type + ">");
    module = mlir::parseSourceString<mlir::ModuleOp>(code, &context);
  }

  /// The ranges that the function states for its arguments, which get names.
  static RangeFacts factsOf(mlir::func::FuncOp function) {
    auto lows = function->getAttrOfType<mlir::DenseF64ArrayAttr>("low").asArrayRef();
    auto highs = function->getAttrOfType<mlir::DenseF64ArrayAttr>("high").asArrayRef();
    RangeFacts facts;
    facts.training = true; // the interpreter computes what training computes
    for (auto [i, low, high] : llvm::enumerate(lows, highs)) {
      const std::string name = "argument" + std::to_string(i);
      function.setArgAttr(unsigned(i), MpcDialect::kInputAttr,
                          mlir::StringAttr::get(function.getContext(), name));
      facts.inputs[name] = {low, high};
    }
    return facts;
  }

  mlir::DialectRegistry registry;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace mpc

#endif // MPC_TEST_UNIT_LIB_NUMERICS_RANGEDOPS_H
