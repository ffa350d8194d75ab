// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The body of one kernel as text.
#ifndef MPC_LIB_CODEGEN_CUDA_KERNELPRINTER_H
#define MPC_LIB_CODEGEN_CUDA_KERNELPRINTER_H

#include "lib/Codegen/CUDA/ElementAccess.h"
#include "lib/Codegen/CUDA/PackedLoop.h"
#include "lib/Codegen/CUDA/WarpRows.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

namespace mpc {

class KernelPrinter {
public:
  explicit KernelPrinter(mlir::func::FuncOp kernel)
      : kernel(kernel), os(text), access(findElementAccess(kernel)),
        takesWarps(!access && isForWarps(kernel)) {}

  /// The whole kernel of one iteration (ThreadKernel.h), or, as a stage of others, the function
  /// `<kernel>_body`. Failure, with errors, for ops that have no CUDA form.
  mlir::LogicalResult print(bool asStage = false);

  const std::string &str() const { return text; }
  /// Threads that an iteration takes.
  unsigned lanes() const { return takesWarps ? kWarpLanes : 1; }
  /// Constant arrays that the kernel reads.
  const llvm::SetVector<mlir::StringAttr> &getGlobals() const { return globals; }

private:
  /// The parameters, named; of an element of a buffer a reference to it.
  std::string parameters(bool ofElement);
  void printStart(bool asStage);
  /// The thread's first iteration: stages that run beside others begin at a block of their own.
  static std::string firstOf(llvm::StringRef function, bool asStage);
  /// One element as a function of its own, and a kernel that calls it for packs of neighbours.
  mlir::LogicalResult printElements(bool asStage);
  /// Text of a kernel whose threads take several rows: what these share, what they load before any
  /// of them computes, what each computes, and what is stored of all of them.
  struct RowsOfThread {
    std::string shared, declared, ahead, step, turned;
  };
  void printRowsOfThread(const RowsOfThread &text);
  /// The same for tiles of what is turned.
  void printTiles(const RowsOfThread &text, bool asStage);
  mlir::LogicalResult printBlock(mlir::Block &block);
  mlir::LogicalResult printOp(mlir::Operation &op);
  mlir::LogicalResult printFor(mlir::scf::ForOp loop);
  /// A loop of which each lane of a warp takes its part.
  mlir::LogicalResult printSharedFor(mlir::scf::ForOp loop);
  /// A loop that takes several elements at a time; one by one where a buffer does not lie so.
  mlir::LogicalResult printPackedFor(mlir::scf::ForOp loop, const PackedLoop &packed);
  /// The same for tiles of what is turned.
  mlir::LogicalResult printTiledFor(mlir::scf::ForOp loop, const PackedLoop &packed);
  mlir::LogicalResult printIf(mlir::scf::IfOp branch);
  mlir::LogicalResult printMemory(mlir::Operation &op);
  mlir::LogicalResult printWideProduct(mlir::Operation &op);
  void printCarried(mlir::ValueRange targets, mlir::ValueRange values);
  /// "a0[i * 4 + j]"; of an element that is passed by reference its name. Failure when a stride is
  /// not known.
  mlir::FailureOr<std::string> element(mlir::Value buffer, mlir::ValueRange indices);
  /// "i * 4 + j"; failure when a stride is not known.
  mlir::FailureOr<std::string> place(mlir::MemRefType type, llvm::ArrayRef<std::string> indices);
  std::string define(mlir::Value value);
  std::string nameOf(mlir::Value value);
  llvm::raw_ostream &line() { return os.indent(2 * depth); }

  mlir::func::FuncOp kernel;
  std::string text;
  llvm::raw_string_ostream os;
  llvm::DenseMap<mlir::Value, std::string> names;
  llvm::SetVector<mlir::StringAttr> globals;
  std::optional<ElementAccess> access; ///< of a kernel that is printed by elements
  /// The element of a pack, by the buffer, in a loop that takes several.
  llvm::SmallDenseMap<mlir::Value, std::string> packedElements;
  bool takesWarps;
  unsigned depth = 0, numbers = 0;
};

} // namespace mpc

#endif // MPC_LIB_CODEGEN_CUDA_KERNELPRINTER_H
