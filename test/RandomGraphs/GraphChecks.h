// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two agreements are checked: derivatives with central differences in double, and compiled code
// with the reference interpreter.
#ifndef MPC_TEST_RANDOMGRAPHS_GRAPHCHECKS_H
#define MPC_TEST_RANDOMGRAPHS_GRAPHCHECKS_H

#include "test/RandomGraphs/RandomGraph.h"
#include <memory>

namespace mpc::test {

/// How many numbers were compared.
struct Tally {
  int64_t differences = 0;
  int64_t kinks = 0; ///< places where one-sided differences disagree, which have no derivative
  int64_t compiled = 0;
};

/// The derivative of every element of every argument against central differences; says what
/// disagrees, or nothing.
std::string checkDifferences(const RandomGraph &graph, Tally &tally);

/// Several graphs as one model.
struct MergedGraphs {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::map<std::string, ReferenceTensor> arguments; ///< by the names of inputs and variables
};
using Graphs = std::vector<std::unique_ptr<RandomGraph>>;
MergedGraphs mergeGraphs(mlir::MLIRContext &context, const Graphs &graphs);
/// The same in float32.
MergedGraphs inFloat32(const MergedGraphs &merged);

/// @gradients of it as the compiler builds it, to the phase scaling; no module after an error.
MergedGraphs makeGradients(const MergedGraphs &merged);

/// Results of an entry by their names.
using Results = std::map<std::string, ReferenceTensor>;
/// @gradients by the interpreter; empty after an error.
Results interpretGradients(const MergedGraphs &differentiated);
/// @gradients of the library that mpcc makes of it, in `folder`. `error` says what went wrong.
Results runCompiled(const MergedGraphs &differentiated, const std::string &folder,
                    const std::string &march, bool optimize, std::string &error);

/// Why a float64 graph may differ by roundings of float32; empty when it may not.
llvm::StringRef reasonForFloat32(const RandomGraph &graph);

/// The number of the first graph whose results differ, and how; -1 when all agree. `spread`: the
/// results in another precision, whose distance says how far rounding may carry, or null.
std::pair<int, std::string> compareResults(const Graphs &graphs, const Results &expected,
                                           const Results &actual, const Results *spread,
                                           Tally &tally);

} // namespace mpc::test

#endif // MPC_TEST_RANDOMGRAPHS_GRAPHCHECKS_H
