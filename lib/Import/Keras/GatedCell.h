// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The common part of the cells of SimpleRNN, LSTM, GRU and ConvLSTM: `gates` groups of units, one
// beside the other in the last axis of kernel, recurrent kernel and bias, and their dropout.
#ifndef MPC_LIB_IMPORT_KERAS_GATEDCELL_H
#define MPC_LIB_IMPORT_KERAS_GATEDCELL_H

#include "lib/Import/Keras/RecurrentCells.h"

namespace mpc::keras {

class GatedCell : public RecurrentCell {
public:
  /// `unitsKey` names the number of units in the config.
  GatedCell(std::unique_ptr<LayerBuilder> b, int64_t gates, llvm::StringRef unitsKey = "units");

  llvm::SmallVector<llvm::SmallVector<int64_t>> getStateShapes() const override {
    return {{units}};
  }
  bool build(llvm::ArrayRef<int64_t> input) override;

protected:
  virtual llvm::SmallVector<int64_t> getBiasShape() const { return {gates * units}; }
  virtual InitializerAttr getBiasInitializer() const { return {}; }
  /// The initializer of a bias with the four gates of an LSTM: ones where the forget gate's part
  /// starts.
  InitializerAttr makeForgetInitializer() const;

  /// Declares kernel, recurrent kernel and bias; false after an error.
  bool addWeights(llvm::ArrayRef<int64_t> kernelShape, llvm::ArrayRef<int64_t> recurrentShape);
  template <typename Op, typename... Arguments> mlir::Value make(Arguments &&...arguments) {
    return builder->make<Op>(std::forward<Arguments>(arguments)...);
  }
  /// x w along the last axis of x.
  mlir::Value product(mlir::Value x, mlir::Value w) {
    return make<ContractOp>(x, w, llvm::ArrayRef<int64_t>{builder->rankOf(x) - 1},
                            llvm::ArrayRef<int64_t>{0});
  }
  /// Columns of gate `first` up to `first + count` in the last axis.
  mlir::Value gate(mlir::Value value, int64_t first, int64_t count = 1) {
    return make<SliceOp>(value, builder->rankOf(value) - 1, first * units, count * units);
  }
  /// The products of the input: one, or with split gates one for each.
  llvm::SmallVector<mlir::Value> projectGates(mlir::Value input, mlir::Value addend);
  /// The input as gate `gateNumber` sees it; `overSteps`: all steps at once, with one mask.
  mlir::Value dropInput(mlir::Value input, int64_t gateNumber, bool overSteps) {
    return drop(input, inputDropout, inputStreams, gateNumber, overSteps);
  }
  mlir::Value dropState(mlir::Value state, int64_t gateNumber) {
    return drop(state, recurrentDropout, recurrentStreams, gateNumber, /*overSteps=*/false);
  }
  /// The activation under `key`; a missing entry is Keras's default, null is the identity.
  mlir::Value activate(llvm::StringRef key, mlir::Value x);

  /// The new states h and c of an LSTM from the sums of its gates i, f, c, o; returns h
  /// (keras/src/layers/rnn/lstm.py, conv_lstm.py).
  mlir::Value updateMemory(llvm::ArrayRef<mlir::Value> sums,
                           llvm::MutableArrayRef<mlir::Value> states);

  const int64_t gates, units;
  const double inputDropout, recurrentDropout;
  bool useBias;
  bool split; ///< each gate has a product of its own, as Keras has where it drops by gate
  mlir::Value kernel, recurrent, bias;

private:
  double getRate(llvm::StringRef key);
  /// One mask for every step: dropped with the same random numbers wherever it is asked.
  mlir::Value drop(mlir::Value x, double rate, llvm::SmallVectorImpl<int64_t> &streams,
                   int64_t gateNumber, bool overSteps);

  llvm::SmallVector<int64_t> inputStreams, recurrentStreams; ///< one for each gate
};

} // namespace mpc::keras

#endif
