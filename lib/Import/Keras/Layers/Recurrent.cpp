// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/rnn: SimpleRNN, LSTM, GRU, ConvLSTM, RNN of any cells. The projection of all
// steps' inputs is one contraction in front of the scan; a step rounds where Keras's cell does.
#include "../LayerRegistry.h"
#include "../ScanBuilder.h"
#include "CellPolicies.h"
#include "RecurrentStates.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using Values = llvm::SmallVector<Value>;

/// Axis `from` at place `to`.
Value moveAxis(LayerBuilder &b, Value value, int64_t from, int64_t to) {
  llvm::SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(0, b.rankOf(value)));
  permutation.erase(permutation.begin() + from);
  permutation.insert(permutation.begin() + to, from);
  return b.make<TransposeOp>(value, permutation);
}

/// A state from Keras's layout to the cell's, and back.
Value toCell(LayerBuilder &b, const RecurrentCell &cell, Value state) {
  return cell.isChannelsFirst() ? moveAxis(b, state, 1, b.rankOf(state) - 1) : state;
}
Value fromCell(LayerBuilder &b, const RecurrentCell &cell, Value state) {
  return cell.isChannelsFirst() ? moveAxis(b, state, b.rankOf(state) - 1, 1) : state;
}

/// keras/src/layers/rnn/rnn.py, call, and keras/src/backend/tensorflow/rnn.py.
Value importRecurrence(LayerBuilder &b, RecurrentCell &cell) {
  const RecurrentOptions options(b);
  Value x = getSequences(b);
  if (!x)
    return {};
  const int64_t steps = b.shapeOf(x)[1];
  if (cell.isChannelsFirst() && b.rankOf(x) > 3)
    x = moveAxis(b, x, 2, b.rankOf(x) - 1);
  if (!cell.build(b.shapeOf(x).drop_front(2)))
    return {};

  Values initial(b.getArgument(1, "initial_state"));
  const bool given = !initial.empty();
  const auto shapes = cell.getStateShapes();
  Values stored;
  if (options.stateful)
    stored = addStateVariables(b, shapes, cell.isChannelsFirst(), b.shapeOf(x)[0]);
  for (Value &state : initial)
    if (b.rankOf(state) == b.rankOf(x) - 1)
      state = toCell(b, cell, state);
  if (b.hasFailed() || (given && !checkStates(b, initial, shapes, b.shapeOf(x)[0])))
    return {};
  if (!given)
    for (const auto &[index, shape] : llvm::enumerate(shapes))
      initial.push_back(options.stateful ? toCell(b, cell, stored[index]) : makeZeros(b, x, shape));
  Value mask = getStepMask(b, steps);
  if (b.hasFailed())
    return {};

  const unsigned outputState = cell.getOutputState();
  const bool ownOutput = mask && carriesOutput(options, given);
  Values inits(initial);
  if (ownOutput)
    inits.push_back(makeZeros(b, x, shapes[outputState]));
  cell.moveTo(b.builder.saveInsertionPoint());
  mlir::Block &body = *x.getParentBlock();
  Values scanned;
  importForEveryStep(body, [&] { scanned = cell.project(x); });
  const size_t projections = scanned.size();
  b.builder.setInsertionPointToEnd(&body);
  if (mask)
    scanned.push_back(mask);

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
    if (cell.isChannelsFirst())
      result = moveAxis(b, result, b.rankOf(result) - 1, 2);
    Value input = b.getArgument(0, "sequences").front();
    if (Value passed = mask ? b.getMask(kMaskPosition) : b.getMaskOf(input))
      b.setMask(0, passed);
  }
  if (!options.sequences)
    result = fromCell(b, cell, result);
  Values finals;
  for (Value state : op.getFinals().take_front(shapes.size()))
    finals.push_back(fromCell(b, cell, state));
  for (auto [variable, state] : llvm::zip(stored, finals))
    b.updateVariable(variable, state);
  if (options.states)
    for (Value state : finals)
      b.addOutput(state);
  return result;
}

template <const llvm::StringLiteral &cellClass, const llvm::StringLiteral &cellName>
Value importNamed(LayerBuilder &b) {
  auto cell = makeCell(cellClass, std::make_unique<LayerBuilder>(b, b.layer, cellName, "cell",
                                                                 llvm::ArrayRef<Value>()));
  return cell && !b.hasFailed() ? importRecurrence(b, *cell) : Value();
}

template <int64_t spatial> Value importConvolutional(LayerBuilder &b) {
  auto cell = makeConvolutionalCell(
      spatial, std::make_unique<LayerBuilder>(b, b.layer, "conv_lstm_cell", "cell",
                                              llvm::ArrayRef<Value>()));
  return b.hasFailed() ? Value() : importRecurrence(b, *cell);
}

constexpr llvm::StringLiteral kSimpleCell("SimpleRNNCell"), kLstmCell("LSTMCell"),
    kGruCell("GRUCell"), kSimpleName("simple_rnn_cell"), kLstmName("lstm_cell"),
    kGruName("gru_cell");

} // namespace

/// The cell is a layer of its own: variables are named after it.
Value importRnn(LayerBuilder &b) {
  const LayerConfig *child = b.getChild("cell");
  if (!child)
    return {};
  auto cell = makeCell(child->className, std::make_unique<LayerBuilder>(b, *child, "", "cell",
                                                                        llvm::ArrayRef<Value>()));
  return cell && !b.hasFailed() ? importRecurrence(b, *cell) : Value();
}

namespace {

/// Inside a wrapper's layer everything computes in the wrapper's policy.
Value importWrappedRnn(LayerBuilder &b) {
  const LayerConfig *child = b.getChild("cell");
  if (!child)
    return {};
  if (mlir::StringAttr policy = b.getPolicyOf(*child); policy && policy != b.getPolicyOf(b.layer))
    return b.error("a cell with a dtype policy of its own is not supported here; give cell and RNN "
                   "the same policy");
  return importRnn(b);
}

constexpr LayerEntry kRecurrentLayers[] = {
    {"ConvLSTM1D", importConvolutional<1>},
    {"ConvLSTM2D", importConvolutional<2>},
    {"ConvLSTM3D", importConvolutional<3>},
    {"GRU", importNamed<kGruCell, kGruName>},
    {"LSTM", importNamed<kLstmCell, kLstmName>},
    {"RNN", importWrappedRnn, Masking::Stops, importRnnLayer},
    {"SimpleRNN", importNamed<kSimpleCell, kSimpleName>},
};

} // namespace

llvm::ArrayRef<LayerEntry> recurrentLayers() { return kRecurrentLayers; }

} // namespace mpc::keras
