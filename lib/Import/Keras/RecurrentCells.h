// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cells of recurrent layers: what one step computes, op for op as Keras's cells on the
// TensorFlow backend, so that 16-bit policies round in the same places.
#ifndef MPC_LIB_IMPORT_KERAS_RECURRENTCELLS_H
#define MPC_LIB_IMPORT_KERAS_RECURRENTCELLS_H

#include "lib/Import/Keras/LayerBuilder.h"

namespace mpc::keras {

class RecurrentCell {
public:
  virtual ~RecurrentCell() = default;

  /// Extents of each state behind the batch.
  virtual llvm::SmallVector<llvm::SmallVector<int64_t>> getStateShapes() const = 0;
  llvm::SmallVector<int64_t> getOutputShape() const { return getStateShapes()[getOutputState()]; }

  /// Declares the variables for inputs whose extents behind batch (and steps) are `input`; false
  /// after an error.
  virtual bool build(llvm::ArrayRef<int64_t> input) = 0;
  /// The input's part of a step, which needs no states: of one step, (batch, features), or of all
  /// steps at once, (batch, steps, features). Emitted where the builder stands.
  virtual llvm::SmallVector<mlir::Value> project(mlir::Value input) = 0;
  /// The output of a step and, in `states`, the next states. `projected` is project()'s of the
  /// step.
  virtual mlir::Value step(llvm::ArrayRef<mlir::Value> projected,
                           llvm::MutableArrayRef<mlir::Value> states) = 0;
  /// Whether Keras has the channels of inputs and states behind batch (and steps). The cell has
  /// them last, and so are all extents that it is told and tells.
  virtual bool isChannelsFirst() const { return false; }
  /// The cells of a stack.
  virtual llvm::ArrayRef<std::unique_ptr<RecurrentCell>> getCells() const { return {}; }
  /// The state that is the output of the step.
  virtual unsigned getOutputState() const { return 0; }

  /// Where the cell emits ops.
  virtual void moveTo(const mlir::OpBuilder::InsertPoint &point) {
    builder->builder.restoreInsertionPoint(point);
  }

protected:
  explicit RecurrentCell(std::unique_ptr<LayerBuilder> builder) : builder(std::move(builder)) {}
  std::unique_ptr<LayerBuilder> builder; ///< reads the cell's config; null for stacked cells
};

/// The cell of an RNN layer or of a list of cells, by class name ("LSTMCell", "StackedRNNCells",
/// …); null after an error.
std::unique_ptr<RecurrentCell> makeCell(llvm::StringRef className,
                                        std::unique_ptr<LayerBuilder> builder);

/// The cell of CuDNNLSTM or CuDNNGRU, whose variables lie as cuDNN takes them.
std::unique_ptr<RecurrentCell> makeCudnnCell(llvm::StringRef className,
                                             std::unique_ptr<LayerBuilder> builder);

/// The cell of ConvLSTM1D, 2D or 3D.
std::unique_ptr<RecurrentCell> makeConvolutionalCell(int64_t spatial,
                                                     std::unique_ptr<LayerBuilder> builder);

} // namespace mpc::keras

#endif
