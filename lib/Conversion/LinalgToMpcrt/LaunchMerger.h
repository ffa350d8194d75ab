// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes one launch of two.
#ifndef MPC_LIB_CONVERSION_LINALGTOMPCRT_LAUNCHMERGER_H
#define MPC_LIB_CONVERSION_LINALGTOMPCRT_LAUNCHMERGER_H

#include "lib/Conversion/LinalgToMpcrt/BufferUses.h"
#include "lib/Conversion/LinalgToMpcrt/ElementKernel.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mpc {

class LaunchMerger {
public:
  explicit LaunchMerger(BufferUses &uses) : uses(uses) {}

  /// One launch at the place of the second, or of the first one, between which nothing depends on
  /// the one that moves there; null where they have to stay apart.
  mpcrt::LaunchOp merge(mpcrt::LaunchOp first, mpcrt::LaunchOp second, bool atSecond);

private:
  /// A launch whose kernel is one straight loop, behind numbers that all its iterations read.
  struct Straight {
    mpcrt::LaunchOp launch;
    mlir::func::FuncOp kernel;
    mlir::scf::ForOp loop;
    mlir::Value count() const { return mpcrt::LaunchOp(launch).getCount(); }
    mlir::Value operandOf(mlir::Value argument) const {
      const unsigned index = mlir::cast<mlir::BlockArgument>(argument).getArgNumber();
      return mpcrt::LaunchOp(launch).getArguments()[index];
    }
  };
  std::optional<Straight> straightOf(mpcrt::LaunchOp launch, bool readsBefore) const;
  /// Whether iteration i of the second one needs no other iteration of the first one than i.
  bool areElementwise(const Straight &first, const Straight &second) const;
  /// Whether all that both load may come before all that they store, but for what one of them
  /// stored.
  bool mayStoreLast(const Straight &first, const Straight &second) const;
  /// A temporary that the first one fills for the second one alone; null where there is none.
  mlir::Value findPassed(const Straight &first, const Straight &second) const;
  /// The argument of `whole` that is a matrix which it fills and `sliced` reads slice by slice, or
  /// which `sliced` writes so and `whole` reads; null where there is none. Neither touches anything
  /// else that the other one writes.
  mlir::BlockArgument findSliced(const Straight &whole, const Straight &sliced,
                                 bool isFilled) const;
  bool touchOthers(const Straight &a, const Straight &b, mlir::Value but) const;
  /// Whether the matrix is a temporary of these two.
  bool isOnlySlicedBy(mlir::Value matrix, const Straight &filler, const Straight &reader) const;

  BufferUses &uses;
};

} // namespace mpc

#endif
