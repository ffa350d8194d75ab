// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls of a recurrent layer, as its config has them, and the values that its states start
// from.
#ifndef MPC_LIB_IMPORT_KERAS_LAYERS_RECURRENTSTATES_H
#define MPC_LIB_IMPORT_KERAS_LAYERS_RECURRENTSTATES_H

#include "lib/Import/Keras/RecurrentCells.h"

namespace mpc::keras {

struct RecurrentOptions {
  explicit RecurrentOptions(LayerBuilder &b);
  bool sequences, states, backwards, zeroForMask, stateful;
  bool timeMajor; ///< of Keras 2: steps come first, then the batch
};

/// (batch, extents…) of zeros, with the batch of `like`, which has at least 2 dimensions.
mlir::Value makeZeros(LayerBuilder &b, mlir::Value like, llvm::ArrayRef<int64_t> extents);

/// The only tensor of sequences, (batch, steps, …), floating; null after an error.
mlir::Value getSequences(LayerBuilder &b);
/// Swaps batch and steps: of sequences whose steps come first, as many as the model's Input says,
/// and back.
mlir::Value swapBatchAndSteps(LayerBuilder &b, mlir::Value x);
/// Where call(sequences, initial_state, mask) takes the mask without its name.
constexpr unsigned kMaskPosition = 2;
/// The mask of the call, (batch, steps, 1); null without one and after an error.
mlir::Value getStepMask(LayerBuilder &b, int64_t steps);

/// The variables of a stateful layer's states, in Keras's layout; none after an error. `shapes` are
/// RecurrentCell::getStateShapes.
using StateShape = llvm::SmallVector<int64_t>;
llvm::SmallVector<mlir::Value> addStateVariables(LayerBuilder &b, llvm::ArrayRef<StateShape> shapes,
                                                 bool isChannelsFirst, int64_t batch);
/// Whether tensors of `initial_state` are floating and have these shapes behind the batch of the
/// sequences; else an error.
bool checkStates(LayerBuilder &b, llvm::ArrayRef<mlir::Value> initial,
                 llvm::ArrayRef<StateShape> shapes, int64_t batch);

/// Whether the output of masked steps, which repeats the last one from zeros on, is none of the
/// states: where these start from something else, and where such steps give zeros in between.
bool carriesOutput(const RecurrentOptions &options, bool givenStates);

} // namespace mpc::keras

#endif
