// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RNN, GRU and LSTM: the product of all steps' inputs in front of a scan for each direction.
#include "lib/Import/Common/ScanBuilder.h"
#include "lib/Import/Common/Shape.h"
#include "lib/Import/ONNX/NodeBuilder.h"
#include "lib/Import/ONNX/OpTable.h"
#include "lib/Import/ONNX/Ops/Broadcasts.h"
#include "lib/Import/ONNX/Ops/CellActivations.h"

namespace mpc::onnx {
namespace {

using mlir::Value;
using B = NodeBuilder;
using Extents = llvm::SmallVector<int64_t>;
using Values = llvm::SmallVector<Value>;

enum class Kind { Rnn, Gru, Lstm };

/// One node while it is imported.
class Recurrence {
public:
  Recurrence(B &b, Kind kind)
      : b(b), kind(kind), gates(kind == Kind::Lstm  ? 4
                                : kind == Kind::Gru ? 3
                                                    : 1),
        isBatchFirst(b.attributes.getFlag("layout")),
        isResetBehind(b.attributes.getFlag("linear_before_reset")) {}

  void run();

private:
  bool read();
  bool readActivations();
  /// The part of an input [directions, …] that a direction has.
  Value part(Value whole, int64_t direction, llvm::ArrayRef<int64_t> shape) {
    return b.makeReshape(b.make<SliceOp>(whole, int64_t(0), direction, int64_t(1)), shape);
  }
  Value initialState(unsigned input, int64_t direction);
  Values scan(int64_t direction, bool isReverse);
  void step(int64_t direction, Value projected, llvm::MutableArrayRef<Value> states);
  void stepGru(int64_t direction, Value projected, Value &h);
  void stepLstm(int64_t direction, Value projected, Value &h, Value &c);
  /// Gate number `i` in the last dimension.
  Value gate(Value x, int64_t i, int64_t count = 1) {
    return b.make<SliceOp>(x, b.rankOf(x) - 1, i * units, count * units);
  }
  Value product(Value x, Value weights) { // of rows
    return b.make<ContractOp>(x, weights, Extents{b.rankOf(x) - 1}, Extents{1});
  }
  Value activate(int64_t direction, unsigned i, Value x) {
    return activations->apply(b, direction, i, x);
  }
  void setStates(unsigned output, llvm::ArrayRef<Value> states);

  B &b;
  const Kind kind;
  const int64_t gates;
  const bool isBatchFirst, isResetBehind;
  int64_t directions = 1, steps = 0, units = 0, batch = 0;
  Value x, mask;
  std::optional<CellActivations> activations;
  // They belong to the direction that is emitted.
  Value recurrent, recurrentBias, peepholes;
};

bool Recurrence::readActivations() {
  static constexpr llvm::StringRef kOfRnn[] = {"Tanh"}, kOfGru[] = {"Sigmoid", "Tanh"},
                                   kOfLstm[] = {"Sigmoid", "Tanh", "Tanh"};
  activations = kind == Kind::Lstm  ? CellActivations::read(b, kOfLstm, directions)
                : kind == Kind::Gru ? CellActivations::read(b, kOfGru, directions)
                                    : CellActivations::read(b, kOfRnn, directions);
  return activations.has_value();
}

bool Recurrence::read() {
  x = b.get(0);
  Value kernel = x ? b.get(1) : Value(), rows = kernel ? b.get(2) : Value();
  if (!rows)
    return false;
  directions = b.attributes.getText("direction", "forward") == "bidirectional" ? 2 : 1;
  if (b.rankOf(x) != 3 || b.rankOf(kernel) != 3 || b.rankOf(rows) != 3) {
    b.error("takes an input [steps, batch, features] and weights [directions, gates, …]");
    return false;
  }
  units = b.shapeOf(rows)[2];
  if (b.attributes.getInteger("hidden_size", units) != units) {
    b.error("hidden_size is not that of the weights, " + llvm::Twine(units));
    return false;
  }
  if (!isBatchFirst)
    x = b.make<TransposeOp>(x, Extents{1, 0, 2});
  batch = b.shapeOf(x)[0];
  steps = b.shapeOf(x)[1];
  const int64_t features = b.shapeOf(x)[2];
  if (mlir::ShapedType::isDynamic(steps)) {
    b.errorOfOpenBatch("the number of steps is open, which --input-shape says");
    return false;
  }
  if (b.shapeOf(kernel) != llvm::ArrayRef<int64_t>{directions, gates * units, features} ||
      b.shapeOf(rows) != llvm::ArrayRef<int64_t>{directions, gates * units, units}) {
    b.error("the shapes " + printShape(b.shapeOf(kernel)) + " and " + printShape(b.shapeOf(rows)) +
            " of the weights do not fit " + llvm::Twine(directions) + " directions, " +
            llvm::Twine(gates) + " gates, " + llvm::Twine(units) + " units and " +
            llvm::Twine(features) + " features");
    return false;
  }
  if (b.has(3) && b.getShape(3) != Extents{directions, 2 * gates * units}) {
    b.error("the bias has the shape " + printShape(b.getShape(3)) + "; expected " +
            printShape({directions, 2 * gates * units}));
    return false;
  }
  if (b.has(4)) {
    Value lengths = b.get(4);
    if (!lengths)
      return false;
    const auto numbers = llvm::to_vector(llvm::seq<int64_t>(0, steps));
    mask = b.makeCompare(ComparePredicate::LT, b.makeIndices({1, steps, 1}, numbers),
                         b.makeReshape(lengths, {b.shapeOf(lengths).front(), 1, 1}));
  }
  return readActivations();
}

Value Recurrence::initialState(unsigned input, int64_t direction) {
  if (!b.has(input))
    return broadcastTo(b, b.makeConstant(0.0), {batch, units});
  Value states = b.get(input);
  if (states && isBatchFirst)
    states = b.make<TransposeOp>(states, Extents{1, 0, 2});
  return states ? part(states, direction, {batch, units}) : Value();
}

/// The new states; of LSTMs the memory is the second.
void Recurrence::step(int64_t direction, Value projected, llvm::MutableArrayRef<Value> states) {
  if (kind == Kind::Gru)
    return stepGru(direction, projected, states[0]);
  if (kind == Kind::Lstm)
    return stepLstm(direction, projected, states[0], states[1]);
  Value sum = b.make<AddOp>(projected, product(states[0], recurrent));
  if (recurrentBias)
    sum = b.make<AddOp>(sum, recurrentBias);
  states[0] = activate(direction, 0, sum);
}

/// Gates z, r, h.
void Recurrence::stepGru(int64_t direction, Value projected, Value &h) {
  const auto rows = [&](int64_t first, int64_t count) {
    return b.make<SliceOp>(recurrent, int64_t(0), first * units, count * units);
  };
  const auto biased = [&](Value y, int64_t first, int64_t count) {
    return recurrentBias ? b.make<AddOp>(y, gate(recurrentBias, first, count)) : y;
  };
  Value ofState =
      isResetBehind ? biased(product(h, recurrent), 0, 3) : biased(product(h, rows(0, 2)), 0, 2);
  Value both = b.make<AddOp>(gate(projected, 0, 2), gate(ofState, 0, 2));
  Value z = activate(direction, 0, gate(both, 0)), r = activate(direction, 0, gate(both, 1));
  Value inner = isResetBehind ? b.make<MultiplyOp>(r, gate(ofState, 2))
                              : biased(product(b.make<MultiplyOp>(r, h), rows(2, 1)), 2, 1);
  Value candidate = activate(direction, 1, b.make<AddOp>(gate(projected, 2), inner));
  Value kept = b.make<MultiplyOp>(z, h);
  Value rest = b.make<SubtractOp>(b.makeConstant(1.0), z);
  h = b.make<AddOp>(b.make<MultiplyOp>(rest, candidate), kept);
}

/// Gates i, o, f, c; peepholes i, o, f.
void Recurrence::stepLstm(int64_t direction, Value projected, Value &h, Value &c) {
  Value sums = b.make<AddOp>(projected, product(h, recurrent));
  if (recurrentBias)
    sums = b.make<AddOp>(sums, recurrentBias);
  const auto peep = [&](Value sum, int64_t i, Value memory) {
    return peepholes ? b.make<AddOp>(sum, b.make<MultiplyOp>(gate(peepholes, i), memory)) : sum;
  };
  Value i = activate(direction, 0, peep(gate(sums, 0), 0, c));
  Value f = b.attributes.getFlag("input_forget")
                ? b.make<SubtractOp>(b.makeConstant(1.0), i)
                : activate(direction, 0, peep(gate(sums, 2), 2, c));
  Value candidate = activate(direction, 1, gate(sums, 3));
  c = b.make<AddOp>(b.make<MultiplyOp>(f, c), b.make<MultiplyOp>(i, candidate));
  Value o = activate(direction, 0, peep(gate(sums, 1), 1, c));
  h = b.make<MultiplyOp>(o, activate(direction, 2, c));
}

/// The outputs of all steps [batch, steps, units], then the last states; empty after an error.
Values Recurrence::scan(int64_t direction, bool isReverse) {
  const int64_t width = gates * units;
  Value projected = product(x, part(b.get(1), direction, {width, b.shapeOf(x)[2]}));
  recurrent = part(b.get(2), direction, {width, units});
  if (b.has(3)) {
    Value bias = part(b.get(3), direction, {2 * width});
    projected = b.make<AddOp>(projected, b.make<SliceOp>(bias, int64_t(0), int64_t(0), width));
    recurrentBias = b.make<SliceOp>(bias, int64_t(0), width, width);
  }
  if (kind == Kind::Lstm && b.has(7)) {
    Value all = b.get(7);
    if (!all)
      return {};
    if (b.shapeOf(all) != llvm::ArrayRef<int64_t>{directions, 3 * units})
      return b.error("the peepholes have the shape " + printShape(b.shapeOf(all))), Values();
    peepholes = part(all, direction, {3 * units});
  }
  Values inits = {initialState(5, direction)};
  if (kind == Kind::Lstm)
    inits.push_back(initialState(6, direction));
  if (llvm::is_contained(inits, Value()))
    return {};
  Values scanned = {projected};
  if (mask)
    scanned.push_back(broadcastTo(b, mask, {batch, steps, 1}));
  ScanBuilder loop(b.builder, b.location, inits, scanned, steps, isReverse);
  Values states(loop.getCarried());
  step(direction, loop.getSlices()[0], states);
  Value output = states[0];
  if (mask) {
    Value runs = loop.getSlices()[1];
    for (const auto &[state, before] : llvm::zip(states, loop.getCarried()))
      state = b.makeSelect(runs, state, before);
    output = b.makeSelect(runs, states[0], b.makeConstant(0.0));
  }
  ScanOp op = loop.finish(states, {output});
  Values results = {op.getStacked().front()};
  results.append(op.getFinals().begin(), op.getFinals().end());
  return results;
}

/// States of all directions as [directions, batch, units], or with the batch first.
void Recurrence::setStates(unsigned output, llvm::ArrayRef<Value> states) {
  if (!b.isWanted(output))
    return;
  Values parts;
  for (Value state : states)
    parts.push_back(b.makeReshape(state, {batch, 1, units}));
  Value all = parts.size() == 1 ? parts.front()
                                : b.make<ConcatenateOp>(mlir::ValueRange(parts), int64_t(1));
  b.setResult(output, isBatchFirst ? all : b.make<TransposeOp>(all, Extents{1, 0, 2}));
}

void Recurrence::run() {
  if (!read())
    return;
  const bool isReverse = b.attributes.getText("direction", "forward") == "reverse";
  Values outputs, hidden, memory;
  for (int64_t direction = 0; direction < directions; ++direction) {
    recurrentBias = peepholes = {};
    Values results = scan(direction, isReverse || direction == 1);
    if (results.empty())
      return;
    outputs.push_back(b.makeReshape(results[0], {batch, steps, 1, units}));
    hidden.push_back(results[1]);
    if (kind == Kind::Lstm)
      memory.push_back(results[2]);
  }
  if (b.isWanted(0)) {
    Value all = outputs.size() == 1 ? outputs.front()
                                    : b.make<ConcatenateOp>(mlir::ValueRange(outputs), int64_t(2));
    b.setResult(0, isBatchFirst ? all : b.make<TransposeOp>(all, Extents{1, 2, 0, 3}));
  }
  setStates(1, hidden);
  if (kind == Kind::Lstm)
    setStates(2, memory);
}

constexpr OpEntry kTable[] = {
    {"GRU", 7, [](B &b) { Recurrence(b, Kind::Gru).run(); }, nullptr, OpenBatch::anywhere},
    {"LSTM", 7, [](B &b) { Recurrence(b, Kind::Lstm).run(); }, nullptr, OpenBatch::anywhere},
    {"RNN", 7, [](B &b) { Recurrence(b, Kind::Rnn).run(); }, nullptr, OpenBatch::anywhere},
};

} // namespace

llvm::ArrayRef<OpEntry> getRecurrentOps() { return kTable; }

} // namespace mpc::onnx
