// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/rnn: SimpleRNN, LSTM, GRU, RNN of any cells. The projection of all steps' inputs
// is one contraction in front of the scan; a step rounds where Keras's cell does.
#include "../LayerRegistry.h"
#include "../RecurrentCells.h"
#include "../ScanBuilder.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using Values = llvm::SmallVector<Value>;

/// (batch, extents…) of zeros, with the batch of `like`, which has at least 2 dimensions.
Value makeZeros(LayerBuilder &b, Value like, llvm::ArrayRef<int64_t> extents) {
  // Of `like` only the batch counts: one value per sample, spread over the extents. What computes
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

struct Options {
  bool sequences, states, backwards, zeroForMask;
};

/// keras/src/layers/rnn/rnn.py, call, and keras/src/backend/tensorflow/rnn.py.
Value importRecurrence(LayerBuilder &b, RecurrentCell &cell) {
  llvm::ArrayRef<Value> sequences = b.getArgument(0, "sequences");
  const Options options{b.getFlag("return_sequences", false), b.getFlag("return_state", false),
                        b.getFlag("go_backwards", false), b.getFlag("zero_output_for_mask", false)};
  if (b.getFlag("stateful", false))
    return b.error(
        "stateful recurrent layers are not supported; pass the states of one call to the "
        "next through initial_state and return_state");
  if (sequences.size() != 1 || b.rankOf(sequences.front()) < 3)
    return b.error(b.layer.className +
                   " takes one tensor of at least 3 dimensions (batch, steps, features)");
  Value x = sequences.front();
  if (!mlir::isa<mlir::FloatType>(elementTypeOf(x)))
    x = b.makeCastToFloat(x);
  const int64_t steps = b.shapeOf(x)[1];
  if (steps < 1)
    return b.error(b.layer.className + " needs at least one step");
  if (!cell.build(b.shapeOf(x).drop_front(2)))
    return {};

  Values initial(b.getArgument(1, "initial_state"));
  const bool given = !initial.empty();
  const auto shapes = cell.getStateShapes();
  if (given && initial.size() != shapes.size())
    return b.error("initial_state holds " + llvm::Twine(initial.size()) +
                   " tensors; the cell has " + llvm::Twine(shapes.size()) + " states");
  for (const auto &[index, shape] : llvm::enumerate(shapes)) {
    if (!given)
      initial.push_back(makeZeros(b, x, shape));
    else if (b.shapeOf(initial[index]).drop_front() != llvm::ArrayRef(shape) ||
             !mlir::isa<mlir::FloatType>(elementTypeOf(initial[index])))
      return b.error("initial_state " + llvm::Twine(index) + " does not have the state's shape");
  }
  Value mask = b.getMask();
  if (mask && (b.rankOf(mask) < 2 || b.shapeOf(mask)[1] != steps ||
               llvm::any_of(b.shapeOf(mask).drop_front(2), [](int64_t e) { return e != 1; })))
    return b.error("the mask of a recurrent layer must have the shape (batch, steps)");

  // The output of masked steps repeats the last one, from zeros on. That is a state, unless the
  // states start from something else.
  const unsigned outputState = cell.getOutputState();
  const bool ownOutput =
      mask && ((given && !options.zeroForMask) || (options.zeroForMask && !options.sequences));
  Values inits(initial);
  if (ownOutput)
    inits.push_back(makeZeros(b, x, shapes[outputState]));
  cell.moveTo(b.builder.saveInsertionPoint());
  Values scanned = cell.project(x);
  const size_t projections = scanned.size();
  b.builder.setInsertionPointToEnd(x.getParentBlock());
  if (mask)
    scanned.push_back(b.makeReshape(mask, {b.shapeOf(mask)[0], steps, 1}));

  ScanBuilder scan(b.builder, b.location, inits, scanned, steps, options.backwards);
  cell.moveTo(b.builder.saveInsertionPoint());
  Values next(scan.getCarried().take_front(shapes.size()));
  Value output = cell.step(scan.getSlices().take_front(projections), next);
  b.builder.setInsertionPointToEnd(scan.getBlock());
  if (!output || b.hasFailed())
    return {};
  if (mask) {
    Value valid = scan.getSlices().back(); // (batch, 1)
    auto keep = [&](Value fresh, Value old) {
      llvm::SmallVector<int64_t> shape{b.shapeOf(valid).front()};
      shape.resize(b.rankOf(fresh), 1);
      return b.makeSelect(b.makeReshape(valid, shape), fresh, old);
    };
    for (auto [state, old] : llvm::zip(next, scan.getCarried()))
      state = keep(state, old);
    if (options.zeroForMask)
      output = keep(output, b.makeConstant(0.0));
    else
      output = ownOutput ? keep(output, scan.getCarried().back()) : next[outputState];
    if (ownOutput)
      next.push_back(output);
  }
  ScanOp op = scan.finish(next, options.sequences ? llvm::ArrayRef<Value>(output)
                                                  : llvm::ArrayRef<Value>());
  Value result = ownOutput ? op.getFinals().back() : op.getFinals()[outputState];
  if (options.sequences) {
    result = op.getStacked().front();
    // Keras returns the steps in the order in which they ran.
    if (options.backwards)
      result = b.make<ReverseOp>(result, int64_t(1));
    if (Value passed = mask ? mask : b.getMaskOf(sequences.front()))
      b.setMask(0, passed);
  }
  if (options.states)
    for (Value state : op.getFinals().take_front(shapes.size()))
      b.addOutput(state);
  return result;
}

template <const llvm::StringLiteral &cellClass, const llvm::StringLiteral &cellName>
Value importNamed(LayerBuilder &b) {
  auto cell = makeCell(cellClass, std::make_unique<LayerBuilder>(b, b.layer, cellName, "cell",
                                                                 llvm::ArrayRef<Value>()));
  return cell && !b.hasFailed() ? importRecurrence(b, *cell) : Value();
}

constexpr llvm::StringLiteral kSimpleCell("SimpleRNNCell"), kLstmCell("LSTMCell"),
    kGruCell("GRUCell"), kSimpleName("simple_rnn_cell"), kLstmName("lstm_cell"),
    kGruName("gru_cell");

/// The cell is a layer of its own: variables are named after it.
Value importRnn(LayerBuilder &b) {
  const LayerConfig *child = b.getChild("cell");
  if (!child)
    return {};
  auto cell = makeCell(child->className, std::make_unique<LayerBuilder>(b, *child, "", "cell",
                                                                        llvm::ArrayRef<Value>()));
  return cell && !b.hasFailed() ? importRecurrence(b, *cell) : Value();
}

constexpr LayerEntry kLayers[] = {
    {"GRU", importNamed<kGruCell, kGruName>},
    {"LSTM", importNamed<kLstmCell, kLstmName>},
    {"RNN", importRnn},
    {"SimpleRNN", importNamed<kSimpleCell, kSimpleName>},
};

} // namespace

llvm::ArrayRef<LayerEntry> recurrentLayers() { return kLayers; }

} // namespace mpc::keras
