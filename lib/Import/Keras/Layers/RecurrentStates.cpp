// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/Layers/RecurrentStates.h"

namespace mpc::keras {

using mlir::Value;

RecurrentOptions::RecurrentOptions(LayerBuilder &b)
    : sequences(b.getFlag("return_sequences", false)), states(b.getFlag("return_state", false)),
      backwards(b.getFlag("go_backwards", false)),
      zeroForMask(b.getFlag("zero_output_for_mask", false)), stateful(b.getFlag("stateful", false)),
      timeMajor(b.layer.version.isKeras2() && b.getFlag("time_major", false)) {}

Value makeZeros(LayerBuilder &b, Value like, llvm::ArrayRef<int64_t> extents) {
  // Only the batch of `like` counts: one value per sample, spread over the extents. What computes
  // the tensor that gives the shape is dead after lowering.
  for (int64_t axis = 1; axis < b.rankOf(like); ++axis)
    if (b.shapeOf(like)[axis] != 1)
      like = b.make<SliceOp>(like, axis, int64_t(0), int64_t(1));
  llvm::SmallVector<int64_t> column{b.shapeOf(like).front()};
  column.resize(extents.size() + 1, 1);
  like = b.makeReshape(like, column);
  Value flag = b.makeCompare(ComparePredicate::EQ, like, like);
  auto falses = mlir::RankedTensorType::get(extents, b.builder.getI1Type());
  Value spread = b.make<ConstantOp>(
      llvm::cast<mlir::ElementsAttr>(mlir::DenseElementsAttr::get(falses, false)));
  return b.make<BroadcastLikeOp>(b.makeConstant(0.0), b.make<LogicalAndOp>(flag, spread));
}

Value getSequences(LayerBuilder &b) {
  llvm::ArrayRef<Value> sequences = b.getArgument(0, "sequences");
  if (sequences.size() != 1 || b.rankOf(sequences.front()) < 3)
    return b.error(b.layer.className +
                   " takes one tensor of at least 3 dimensions (batch, steps, features)");
  Value x = sequences.front();
  if (b.shapeOf(x)[1] < 1)
    return b.error(b.layer.className + " needs at least one step");
  return mlir::isa<mlir::FloatType>(elementTypeOf(x)) ? x : b.makeCastToFloat(x);
}

Value swapBatchAndSteps(LayerBuilder &b, Value x) {
  llvm::SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(0, b.rankOf(x)));
  std::swap(permutation[0], permutation[1]);
  return b.make<TransposeOp>(x, permutation);
}

Value getStepMask(LayerBuilder &b, int64_t steps) {
  Value mask = b.getMask(kMaskPosition);
  if (!mask)
    return {};
  if (b.rankOf(mask) < 2 || b.shapeOf(mask)[1] != steps ||
      llvm::any_of(b.shapeOf(mask).drop_front(2), [](int64_t e) { return e != 1; }))
    return b.error("the mask of a recurrent layer must have the shape (batch, steps)");
  return b.makeReshape(mask, {b.shapeOf(mask)[0], steps, 1});
}

llvm::SmallVector<Value> addStateVariables(LayerBuilder &b, llvm::ArrayRef<StateShape> shapes,
                                           bool isChannelsFirst, int64_t batch) {
  if (mlir::ShapedType::isDynamic(batch)) {
    b.error("a stateful layer needs a batch of known size; give the Input a batch_shape");
    return {};
  }
  llvm::SmallVector<Value> variables;
  for (const auto &[index, shape] : llvm::enumerate(shapes)) {
    llvm::SmallVector<int64_t> extents(shape);
    if (isChannelsFirst)
      std::rotate(extents.begin(), extents.end() - 1, extents.end());
    extents.insert(extents.begin(), batch);
    // The importer makes zeros of it; no file backs this size.
    int64_t elements = 1;
    for (int64_t extent : extents)
      if (__builtin_mul_overflow(elements, extent, &elements) || elements > (int64_t(1) << 28)) {
        b.error("a state of more than 2^28 elements");
        return {};
      }
    VariableRequest request;
    const std::string name = index ? "rnn_state_" + std::to_string(index) : "rnn_state";
    request.name = name;
    request.shape = extents;
    request.trainable = false;
    request.stateful = true;
    Value variable = b.addVariable(request);
    if (!variable)
      return {};
    variables.push_back(variable);
  }
  return variables;
}

bool checkStates(LayerBuilder &b, llvm::ArrayRef<Value> initial, llvm::ArrayRef<StateShape> shapes,
                 int64_t batch) {
  if (initial.size() != shapes.size()) {
    b.error("initial_state holds " + llvm::Twine(initial.size()) + " tensors; the cell has " +
            llvm::Twine(shapes.size()) + " states");
    return false;
  }
  for (auto [index, state, shape] : llvm::enumerate(initial, shapes)) {
    if (b.rankOf(state) == 0 || b.shapeOf(state).drop_front() != llvm::ArrayRef(shape) ||
        !mlir::isa<mlir::FloatType>(elementTypeOf(state))) {
      b.error("initial_state " + llvm::Twine(index) + " does not have the state's shape");
      return false;
    }
    // Keras computes with a state of one sample where the call has one sample.
    if (b.shapeOf(state).front() != batch) {
      b.error("initial_state " + llvm::Twine(index) +
              " is not of the batch of the sequences; give the model an Input for it");
      return false;
    }
  }
  return true;
}

bool carriesOutput(const RecurrentOptions &options, bool givenStates) {
  return ((givenStates || options.stateful) && !options.zeroForMask) ||
         (options.zeroForMask && !options.sequences);
}

} // namespace mpc::keras
