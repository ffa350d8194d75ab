// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The affine forms of the values of a block, and what these say beyond intervals.
#ifndef MPC_LIB_NUMERICS_RANGES_AFFINEFORMS_H
#define MPC_LIB_NUMERICS_RANGES_AFFINEFORMS_H

#include "dialects/mpc/IR/Mpc.h"
#include "lib/Numerics/Ranges/AffineForm.h"
#include "mpc/Numerics/Ranges/Bound.h"
#include "llvm/ADT/DenseMap.h"
#include <map>

namespace mpc {

enum class FormKind;

/// Follows ops in their order. A form says what each element of a value is in terms of the elements
/// of others that broadcasting puts at its place, which have the same bits wherever they are read.
/// Elementwise arithmetic has the form that its operands give; all else is a symbol of its own.
class AffineForms {
public:
  /// The runs are those of inference, or of training, in which a batch's statistics are its own.
  explicit AffineForms(bool training) : training(training) {}

  void define(mlir::Value value, const Bound &bound);
  /// Defines the results of an op, and narrows their bounds where forms know more than intervals.
  void define(mlir::Operation &op, llvm::MutableArrayRef<Bound> results);

private:
  /// A symbol stands for its value, for what another has more than it, or for the product of that
  /// with its value.
  enum Kind : unsigned { IsValue, IsDeviation, IsProduct, kKinds };

  FormSymbol symbolOf(mlir::Value value, Kind kind = IsValue) const;
  RealRange rangeOf(FormSymbol symbol) const { return ranges.lookup(symbol); }
  /// Null where it is not bounded.
  const Bound *boundOf(mlir::Value value) const;
  AffineForm formOf(mlir::Value value, bool isWhole) const;
  llvm::SmallVector<mlir::Value, 2> formOperands(mlir::Operation &op) const;
  std::optional<AffineForm> combine(FormKind kind, llvm::ArrayRef<mlir::Value> operands) const;
  AffineForm relate(AffineForm form) const;
  /// The value that it is in the runs that are bounded.
  mlir::Value asRun(mlir::Value value) const;
  mlir::Value spreadOf(RsqrtOp root) const;
  void addCenter(mlir::Value center);
  void addInverseRoot(RsqrtOp root);

  bool training;
  llvm::DenseMap<mlir::Value, unsigned> places;
  llvm::DenseMap<mlir::Value, Bound> bounds; ///< of floating values that are bounded
  llvm::DenseMap<mlir::Value, AffineForm> forms;
  llvm::DenseMap<FormSymbol, RealRange> ranges;
  /// Means, largest and smallest elements: with the value that they are of.
  std::map<FormSymbol, FormSymbol> centers;
  /// Symbols of which the product is bounded better than by both.
  std::map<std::pair<FormSymbol, FormSymbol>, FormSymbol> products;
};

} // namespace mpc

#endif // MPC_LIB_NUMERICS_RANGES_AFFINEFORMS_H
