// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A small random graph of differentiable mpc ops, all float64, and its arguments. Which ops there
// are is read from their registration (DifferentiableOpInterface); one without a way to build it is
// an error, so that a new op cannot be forgotten.
#ifndef MPC_TEST_RANDOMGRAPHS_RANDOMGRAPH_H
#define MPC_TEST_RANDOMGRAPHS_RANDOMGRAPH_H

#include "dialects/mpc/IR/Mpc.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/DenseMap.h"
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace mpc::test {

/// SplitMix64 (Steele et al., 2014): the same numbers with every standard library.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next();
  /// In [0, count).
  int64_t below(int64_t count) { return int64_t(next() % uint64_t(count)); }
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  double real(double low, double high) {
    return low + (high - low) * double(next() >> 11) * 0x1p-53;
  }
  bool chance(double probability) { return real(0, 1) < probability; }

private:
  uint64_t state;
};

/// An argument of @forward and its value.
struct GraphArgument {
  std::string name;
  bool isVariable = false;
  ReferenceTensor tensor;
};

class RandomGraph;

/// Where ops are emitted and what they may read: @forward, or the body of a scan.
class Scope {
public:
  Scope(RandomGraph &graph, mlir::OpBuilder builder) : graph(graph), builder(builder) {}

  RandomGraph &graph;
  mlir::OpBuilder builder;
  std::vector<mlir::Value> pool;

  Random &random();
  mlir::Location loc() { return builder.getUnknownLoc(); }
  /// The value for the graph's arguments; in a scan that of the first step.
  const ReferenceTensor &at(mlir::Value value) const;
  void setValue(mlir::Value value, ReferenceTensor tensor);
  /// A value of the pool for which `wanted` holds, rather a late one; null when there is none.
  mlir::Value pick(llvm::function_ref<bool(mlir::RankedTensorType)> wanted);
  mlir::Value pickFloat(int64_t leastRank = 0, int64_t mostRank = 5);
  /// An axis that is not the batch; -1 when there is none.
  int64_t pickStaticAxis(mlir::Value value);
  /// A new trainable variable. In a scan it is captured.
  mlir::Value addVariable(llvm::ArrayRef<int64_t> shape, double low = -1, double high = 1);
  mlir::Value constant(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int32_t> values);

  /// Keeps `op` when it verifies, is small, and is smooth and of moderate size around its operands,
  /// so that differences tell its derivative; else erases it. Its results join the pool.
  bool accept(mlir::Operation *op);
  /// Makes an op and accepts it or not.
  template <typename Op, typename... Arguments> bool make(Arguments &&...arguments) {
    return accept(Op::create(builder, loc(), std::forward<Arguments>(arguments)...));
  }
  /// Adds an op of this name; false when what was chosen for it does not fit.
  bool addOp(mlir::RegisteredOperationName name);

  /// For scans: the values outside that the body captures, and their arguments.
  std::function<mlir::Value(mlir::Value)> capture;

private:
  bool addElementwise(mlir::RegisteredOperationName name);
  bool addElementwiseOf(mlir::RegisteredOperationName name, bool ofBools);
};

/// Builds one op in a scope out of what is in its pool; false when nothing fits.
using OpMaker = bool (*)(Scope &);
using OpMakers = std::map<llvm::StringRef, OpMaker>;
void addTensorOps(OpMakers &makers);
void addMovementOps(OpMakers &makers);
void addWindowOps(OpMakers &makers);
void addScanOps(OpMakers &makers);
/// The makers of all ops that are not elementwise.
const OpMakers &opMakers();

/// The registered differentiable ops of mpc, in the order of their names.
std::vector<mlir::RegisteredOperationName> differentiableOps(mlir::MLIRContext &context);
/// Why an op has no place in these graphs; empty for the others.
llvm::StringRef reasonToLeaveOut(llvm::StringRef opName);
/// Those that have neither a maker nor an interface that suffices.
std::vector<std::string> opsWithoutMaker(mlir::MLIRContext &context);

class RandomGraph {
public:
  static constexpr int64_t kBatch = 3;

  /// The graph of this seed. With `opLimit` only its first ops, of which the last makes the output:
  /// the graphs of rising limits are what a failure is reduced to.
  RandomGraph(mlir::MLIRContext &context, uint64_t seed, unsigned opLimit = ~0u);

  /// @forward(inputs, then variables) -> tensor<?xf64>.
  mlir::func::FuncOp forward() const { return function; }
  mlir::ModuleOp getModule() const { return *module; }
  const std::vector<GraphArgument> &getArguments() const { return arguments; }
  /// Ops that the seed chose, and how many of which.
  unsigned size() const { return opCount; }
  const std::map<std::string, unsigned> &counts() const { return opCounts; }

private:
  friend class Scope;
  mlir::Value addArgument(const std::string &name, mlir::Type element,
                          llvm::ArrayRef<int64_t> shape, bool isVariable, double low, double high);
  void finish(Scope &scope, bool lastOnly);

  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  std::vector<GraphArgument> arguments;
  llvm::DenseMap<mlir::Value, ReferenceTensor> values;
  Random random;
  unsigned opCount = 0;
  std::map<std::string, unsigned> opCounts;
  mlir::Operation *last = nullptr;
};

} // namespace mpc::test

#endif // MPC_TEST_RANDOMGRAPHS_RANDOMGRAPH_H
