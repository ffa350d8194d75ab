// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Proved ranges: bounds of every value of a function of mpc ops, and certificates of them.
#ifndef MPC_NUMERICS_RANGES_RANGES_H
#define MPC_NUMERICS_RANGES_RANGES_H

#include "dialects/mpc/IR/Mpc.h"
#include "mpc/Numerics/Ranges/Bound.h"
#include "mpc/Support/WeightStore.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <functional>
#include <map>
#include <string>

namespace mlir {
class DialectRegistry;
class Pass;
} // namespace mlir

namespace mpc {

/// By the name of an input, of a target or of sample weights, or of an input x0, x1, … by its
/// place: its elements lie in [first, second].
using InputRanges = std::map<std::string, std::pair<double, double>>;

/// Facts that hold before anything runs.
struct RangeFacts {
  InputRanges inputs;                   ///< what callers give, by name
  const WeightStore *weights = nullptr; ///< null: variables are any finite numbers
  /// Bounds hold for training (noise, dropout, statistics of the batch), with these weights, not
  /// for inference.
  bool training = false;
};

/// The bounds of a function.
class RangeAnalysis {
public:
  /// Bounds every value of `function`, which has one block of mpc ops. Linear in its ops, weights
  /// and steps of scans.
  RangeAnalysis(mlir::func::FuncOp function, const RangeFacts &facts);

  mlir::func::FuncOp getFunction() const { return function; }
  const RangeFacts &getFacts() const { return facts; }
  /// The facts without which bounds could be others: ranges of inputs that nothing else bounds,
  /// weights that some argument has, training where it decides about a bound.
  const RangeFacts &getUsedFacts() const { return used; }
  /// An op has other bounds in training.
  void noteTraining() { used.training = true; }
  const Bound &at(mlir::Value value) const;
  /// Bounds `block` for arguments of these bounds. Of a block that is bounded more than once (a
  /// step of a scan) each value keeps the hull. Returns the bounds of what its terminator yields.
  llvm::SmallVector<Bound> run(mlir::Block &block, llvm::ArrayRef<Bound> arguments);

private:
  Bound boundArgument(mlir::BlockArgument argument);

  mlir::func::FuncOp function;
  RangeFacts facts, used;
  llvm::DenseMap<mlir::Value, Bound> bounds;
};

/// The name under which callers give an argument: an input, a target or sample weights. Null: none.
mlir::StringAttr findGivenName(mlir::func::FuncOp function, unsigned argument);

/// Selects the ranges of the function's inputs, targets and sample weights, by their names.
InputRanges selectInputs(mlir::func::FuncOp function, const InputRanges &ranges);

/// Whether no element is infinite, NaN, or becomes either when it is stored in float16.
bool fitsFloat16(const Bound &bound);

/// A proof about the values of one layer.
struct LayerProof {
  std::string layer;
  double largest = 0;      ///< magnitude; infinite: not bounded
  double error = 0;        ///< largest error; infinite: not known
  bool fitsFloat16 = true; ///< all of its floating values
};

/// Layer by layer, in the order of the IR: what `--policy=auto:proved` may narrow.
std::vector<LayerProof> proveLayers(const RangeAnalysis &analysis);

/// The values that a certificate lists: of each block its arguments, then of each op its results
/// and what its regions have.
void forEachValue(mlir::func::FuncOp function, llvm::function_ref<void(mlir::Value)> visit);

/// A certificate that mpc-check-certificate can check.
llvm::json::Object makeCertificate(const RangeAnalysis &analysis);

/// A page of HTML about the bounds; the values have the numbers of the certificate.
std::string writeRangesPage(const RangeAnalysis &analysis);

/// Attaches the transfer functions to the ops.
void registerRangeModels(mlir::DialectRegistry &registry);

/// mpc-analyze-ranges. The readers read the files that the options `weights` and `data` name; the
/// library that reads such files is the runtime's.
using WeightsReader = std::function<llvm::Expected<WeightStore>(const std::string &path)>;
using RangesReader = std::function<llvm::Expected<InputRanges>(const std::string &path)>;
std::unique_ptr<mlir::Pass> createAnalyzeRanges(WeightsReader readWeights, RangesReader readData);

} // namespace mpc

#endif // MPC_NUMERICS_RANGES_RANGES_H
