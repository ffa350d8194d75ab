// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/rnn: SimpleRNN, LSTM, GRU, ConvLSTM, RNN of any cells. The projection of all
// steps' inputs is one contraction in front of the scan; a step rounds where Keras's cell does.
#include "lib/Import/Common/ScanBuilder.h"
#include "lib/Import/Keras/LayerRegistry.h"
#include "lib/Import/Keras/Layers/CellPolicies.h"
#include "lib/Import/Keras/Layers/RecurrentStates.h"
#include "lib/Import/Keras/Legacy/Layers.h"

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
class Recurrence {
public:
  Recurrence(LayerBuilder &b, RecurrentCell &cell) : b(b), cell(cell), options(b) {}

  /// Null after an error, as every step of it is false or null.
  Value run();

private:
  bool takeSequences();
  bool takeStates();
  Values projectInputs();
  ScanOp loop();
  /// Where the mask says so, keeps the states and the output of the step before.
  void keepMasked(ScanBuilder &scan, Values &next, Value &output);
  Value takeOutputs(ScanOp op);
  Value takeLastOutput(ScanOp op);
  void storeStates(ScanOp op);

  LayerBuilder &b;
  RecurrentCell &cell;
  const RecurrentOptions options;
  Value x;
  int64_t steps = 0;
  llvm::SmallVector<StateShape> shapes;
  Values stored;          ///< variables of a stateful layer's states
  Values initial;         ///< states in front of the first step, in the cell's layout
  Value mask;             ///< (batch, steps, 1), or null
  bool ownOutput = false; ///< the loop carries its output beside the states
};

bool Recurrence::takeSequences() {
  x = getSequences(b);
  if (!x)
    return false;
  if (options.timeMajor) {
    if (mlir::ShapedType::isDynamic(b.shapeOf(x)[0]))
      return b.error("time_major needs a known number of steps; give the Input a batch_shape, or "
                     "build the layer without time_major"),
             false;
    if (b.getMask(kMaskPosition))
      return b.error("a mask is not supported with time_major"), false;
    x = swapBatchAndSteps(b, x);
  }
  steps = b.shapeOf(x)[1];
  if (cell.isChannelsFirst() && b.rankOf(x) > 3)
    x = moveAxis(b, x, 2, b.rankOf(x) - 1);
  return cell.build(b.shapeOf(x).drop_front(2));
}

/// The states to start from, and the mask, which may ask for one more.
bool Recurrence::takeStates() {
  llvm::append_range(initial, b.getArgument(1, "initial_state"));
  const bool given = !initial.empty();
  shapes = cell.getStateShapes();
  if (options.stateful)
    stored = addStateVariables(b, shapes, cell.isChannelsFirst(), b.shapeOf(x)[0]);
  for (Value &state : initial)
    if (b.rankOf(state) == b.rankOf(x) - 1)
      state = toCell(b, cell, state);
  if (b.hasFailed() || (given && !checkStates(b, initial, shapes, b.shapeOf(x)[0])))
    return false;
  if (!given)
    for (const auto &[index, shape] : llvm::enumerate(shapes))
      initial.push_back(options.stateful ? toCell(b, cell, stored[index]) : makeZeros(b, x, shape));
  mask = getStepMask(b, steps);
  ownOutput = mask && carriesOutput(options, given);
  return !b.hasFailed();
}

/// Projects all steps in front of the loop.
Values Recurrence::projectInputs() {
  cell.moveTo(b.builder.saveInsertionPoint());
  mlir::Block &body = *x.getParentBlock();
  Values projected;
  importForEveryStep(body, [&] { projected = cell.project(x); });
  b.builder.setInsertionPointToEnd(&body);
  return projected;
}

ScanOp Recurrence::loop() {
  Values inits(initial);
  if (ownOutput)
    inits.push_back(makeZeros(b, x, shapes[cell.getOutputState()]));
  Values scanned = projectInputs();
  const size_t projections = scanned.size();
  if (mask)
    scanned.push_back(mask);

  ScanBuilder scan(b.builder, b.location, inits, scanned, steps, options.backwards);
  cell.moveTo(b.builder.saveInsertionPoint());
  Values next(scan.getCarried().take_front(shapes.size()));
  Value output = cell.step(scan.getSlices().take_front(projections), next);
  b.builder.setInsertionPointToEnd(scan.getBlock());
  if (!output || b.hasFailed())
    return {};
  if (mask)
    keepMasked(scan, next, output);
  return scan.finish(next,
                     options.sequences ? llvm::ArrayRef<Value>(output) : llvm::ArrayRef<Value>());
}

void Recurrence::keepMasked(ScanBuilder &scan, Values &next, Value &output) {
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
    output = ownOutput ? keep(output, scan.getCarried().back()) : next[cell.getOutputState()];
  if (ownOutput)
    next.push_back(output);
}

Value Recurrence::takeOutputs(ScanOp op) {
  Value result = op.getStacked().front();
  // Keras returns the steps in the order in which they ran.
  if (options.backwards)
    result = b.make<ReverseOp>(result, int64_t(1));
  if (cell.isChannelsFirst())
    result = moveAxis(b, result, b.rankOf(result) - 1, 2);
  if (options.timeMajor)
    return swapBatchAndSteps(b, result);
  Value input = b.getArgument(0, "sequences").front();
  if (Value passed = mask ? b.getMask(kMaskPosition) : b.getMaskOf(input))
    b.setMask(0, passed);
  return result;
}

Value Recurrence::takeLastOutput(ScanOp op) {
  return fromCell(b, cell,
                  ownOutput ? op.getFinals().back() : op.getFinals()[cell.getOutputState()]);
}

void Recurrence::storeStates(ScanOp op) {
  Values finals;
  for (Value state : op.getFinals().take_front(shapes.size()))
    finals.push_back(fromCell(b, cell, state));
  for (auto [variable, state] : llvm::zip(stored, finals))
    b.updateVariable(variable, state);
  if (options.states)
    for (Value state : finals)
      b.addOutput(state);
}

Value Recurrence::run() {
  if (!takeSequences() || !takeStates())
    return {};
  ScanOp op = loop();
  if (!op)
    return {};
  Value result = options.sequences ? takeOutputs(op) : takeLastOutput(op);
  storeStates(op);
  return result;
}

template <const llvm::StringLiteral &cellClass, const llvm::StringLiteral &cellName>
Value importNamed(LayerBuilder &b) {
  auto cell = makeCell(cellClass, std::make_unique<LayerBuilder>(b, b.layer, cellName, "cell",
                                                                 llvm::ArrayRef<Value>()));
  return cell && !b.hasFailed() ? Recurrence(b, *cell).run() : Value();
}

template <int64_t spatial> Value importConvolutional(LayerBuilder &b) {
  auto cell = makeConvolutionalCell(
      spatial, std::make_unique<LayerBuilder>(b, b.layer, "conv_lstm_cell", "cell",
                                              llvm::ArrayRef<Value>()));
  return b.hasFailed() ? Value() : Recurrence(b, *cell).run();
}

constexpr llvm::StringLiteral kSimpleCell("SimpleRNNCell"), kLstmCell("LSTMCell"),
    kGruCell("GRUCell"), kSimpleName("simple_rnn_cell"), kLstmName("lstm_cell"),
    kGruName("gru_cell");

} // namespace

/// Imports CuDNNLSTM and CuDNNGRU of Keras 2 (Legacy/Layers.cpp).
Value importCudnnRecurrence(LayerBuilder &b) {
  if (b.getMask(kMaskPosition))
    return b.error(b.layer.className + " takes no mask, in Keras neither; build the model with " +
                   llvm::StringRef(b.layer.className).drop_front(5));
  auto cell =
      makeCudnnCell(b.layer.className,
                    std::make_unique<LayerBuilder>(b, b.layer, "", "", llvm::ArrayRef<Value>()));
  return b.hasFailed() ? Value() : Recurrence(b, *cell).run();
}

/// The cell is a layer of its own: variables are named after it.
Value importRnn(LayerBuilder &b) {
  const LayerConfig *child = b.getChild("cell");
  if (!child)
    return {};
  auto cell = makeCell(child->className, std::make_unique<LayerBuilder>(b, *child, "", "cell",
                                                                        llvm::ArrayRef<Value>()));
  return cell && !b.hasFailed() ? Recurrence(b, *cell).run() : Value();
}

namespace {

/// Inside a wrapper's layer everything computes in the wrapper's policy.
Value importWrappedRnn(LayerBuilder &b) {
  const LayerConfig *child = b.getChild("cell");
  if (!child)
    return {};
  if (mlir::StringAttr policy = b.policies.getName(*child, b.path);
      policy && policy != b.policies.getName(b.layer, b.path))
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
