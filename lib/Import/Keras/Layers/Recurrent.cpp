// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/rnn: SimpleRNN, LSTM, GRU, ConvLSTM, RNN of any cells. The projection of all
// steps' inputs is one contraction in front of the scan; a step rounds where Keras's cell does.
#include "../GraphImporter.h"
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
  bool sequences, states, backwards, zeroForMask, stateful;
};

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

/// The variables of a stateful layer's states, in Keras's layout; none after an error.
Values addStateVariables(LayerBuilder &b, const RecurrentCell &cell, int64_t batch) {
  if (mlir::ShapedType::isDynamic(batch)) {
    b.error("a stateful layer needs a batch of known size; give the Input a batch_shape");
    return {};
  }
  Values variables;
  for (const auto &[index, shape] : llvm::enumerate(cell.getStateShapes())) {
    llvm::SmallVector<int64_t> extents(shape);
    if (cell.isChannelsFirst())
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

/// keras/src/layers/rnn/rnn.py, call, and keras/src/backend/tensorflow/rnn.py.
Value importRecurrence(LayerBuilder &b, RecurrentCell &cell) {
  llvm::ArrayRef<Value> sequences = b.getArgument(0, "sequences");
  const Options options{b.getFlag("return_sequences", false), b.getFlag("return_state", false),
                        b.getFlag("go_backwards", false), b.getFlag("zero_output_for_mask", false),
                        b.getFlag("stateful", false)};
  if (sequences.size() != 1 || b.rankOf(sequences.front()) < 3)
    return b.error(b.layer.className +
                   " takes one tensor of at least 3 dimensions (batch, steps, features)");
  Value x = sequences.front();
  if (!mlir::isa<mlir::FloatType>(elementTypeOf(x)))
    x = b.makeCastToFloat(x);
  const int64_t steps = b.shapeOf(x)[1];
  if (steps < 1)
    return b.error(b.layer.className + " needs at least one step");
  if (cell.isChannelsFirst() && b.rankOf(x) > 3)
    x = moveAxis(b, x, 2, b.rankOf(x) - 1);
  if (!cell.build(b.shapeOf(x).drop_front(2)))
    return {};

  Values initial(b.getArgument(1, "initial_state"));
  const bool given = !initial.empty();
  const auto shapes = cell.getStateShapes();
  if (given && initial.size() != shapes.size())
    return b.error("initial_state holds " + llvm::Twine(initial.size()) +
                   " tensors; the cell has " + llvm::Twine(shapes.size()) + " states");
  Values stored;
  if (options.stateful)
    stored = addStateVariables(b, cell, b.shapeOf(x)[0]);
  if (b.hasFailed())
    return {};
  for (Value &state : initial)
    if (b.rankOf(state) == b.rankOf(x) - 1)
      state = toCell(b, cell, state);
  for (const auto &[index, shape] : llvm::enumerate(shapes)) {
    if (!given)
      initial.push_back(options.stateful ? toCell(b, cell, stored[index]) : makeZeros(b, x, shape));
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
  const bool ownOutput = mask && (((given || options.stateful) && !options.zeroForMask) ||
                                  (options.zeroForMask && !options.sequences));
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
    if (cell.isChannelsFirst())
      result = moveAxis(b, result, b.rankOf(result) - 1, 2);
    if (Value passed = mask ? mask : b.getMaskOf(sequences.front()))
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

/// The cell is a layer of its own: variables are named after it.
Value importRnn(LayerBuilder &b) {
  const LayerConfig *child = b.getChild("cell");
  if (!child)
    return {};
  if (mlir::StringAttr policy = b.getPolicyOf(*child); policy && policy != b.getPolicyOf(b.layer))
    return b.error("a cell with a dtype policy of its own is not supported here; give cell and RNN "
                   "the same policy");
  auto cell = makeCell(child->className, std::make_unique<LayerBuilder>(b, *child, "", "cell",
                                                                        llvm::ArrayRef<Value>()));
  return cell && !b.hasFailed() ? importRecurrence(b, *cell) : Value();
}

/// The policy of a cell; of stacked cells the one that all of them have. Nothing after an error.
std::optional<mlir::StringAttr> getCellPolicy(GraphImporter &importer, const LayerConfig &cell,
                                              llvm::StringRef path) {
  mlir::StringAttr policy = importer.getPolicyOf(cell, path);
  const llvm::json::Array *list = cell.config.getArray("cells");
  for (unsigned i = 0; list && i < list->size(); ++i) {
    const LayerConfig *inner = importer.getChild(cell, path, "cells", i);
    if (!inner)
      return std::nullopt;
    if (importer.getPolicyOf(*inner, path) != policy) {
      importer.report(path,
                      "stacked cells with dtype policies of their own are not supported; give "
                      "all cells of the RNN one policy");
      return std::nullopt;
    }
  }
  return policy;
}

/// RNN: its cell is a layer with a policy of its own. Where that is another one, the loop computes
/// in the cell's, between two casts of the layer (keras/src/layers/rnn/rnn.py, call).
bool importRnnLayer(GraphImporter &importer, const LayerConfig &layer, const Node *node,
                    llvm::StringRef path, bool trainable, llvm::ArrayRef<Value> inputs,
                    Values &outputs) {
  const LayerConfig *cell = importer.getChild(layer, path, "cell");
  if (!cell)
    return false;
  std::optional<mlir::StringAttr> policy = getCellPolicy(importer, *cell, path);
  if (!policy)
    return false;
  if (!*policy || *policy == importer.getPolicyOf(layer, path))
    return importer.emitLayer(layer, node, path, trainable, inputs, outputs, importRnn,
                              /*passesMasksOn=*/false);
  auto getTwin = [&](llvm::StringRef name) -> const LayerConfig & {
    const LayerConfig &twin = importer.getPart(layer, name, [&] {
      LayerConfig made;
      made.className = layer.className;
      made.module = layer.module;
      made.name = layer.name;
      made.config = layer.config;
      made.config.erase("activity_regularizer"); // counted once, of the layer's results
      return made;
    });
    importer.placeTwin(layer, twin);
    return twin;
  };
  auto passOn = [](LayerBuilder &b) {
    for (Value input : b.getInputs().drop_front())
      b.addOutput(input);
    return b.getInputs().front();
  };
  Values cast, computed;
  if (!importer.emitLayer(getTwin("cast"), nullptr, path, trainable, inputs, cast, passOn, false))
    return false;
  if (Value mask = importer.getMask(inputs.front()))
    importer.setMask(cast.front(), mask);
  const std::string place = (path + "/" + cell->name).str();
  auto compute = [&](LayerBuilder &b) { return importRnn(b); };
  const LayerConfig &loop = getTwin("loop");
  importer.setPolicyOf(loop, *policy);
  if (!importer.emitLayer(loop, node, place, trainable, cast, computed, compute, false))
    return false;
  const size_t first = outputs.size();
  if (!importer.emitLayer(layer, nullptr, path, trainable, computed, outputs, passOn, false))
    return false;
  for (auto [result, output] : llvm::zip(computed, llvm::drop_begin(outputs, first)))
    if (Value mask = importer.getMask(result))
      importer.setMask(output, mask);
  return true;
}

constexpr LayerEntry kRecurrentLayers[] = {
    {"ConvLSTM1D", importConvolutional<1>},
    {"ConvLSTM2D", importConvolutional<2>},
    {"ConvLSTM3D", importConvolutional<3>},
    {"GRU", importNamed<kGruCell, kGruName>},
    {"LSTM", importNamed<kLstmCell, kLstmName>},
    {"RNN", importRnn, Masking::Stops, importRnnLayer}, // importRnn where a wrapper's layer has it
    {"SimpleRNN", importNamed<kSimpleCell, kSimpleName>},
};

} // namespace

llvm::ArrayRef<LayerEntry> recurrentLayers() { return kRecurrentLayers; }

} // namespace mpc::keras
