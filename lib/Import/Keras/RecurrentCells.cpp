// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/rnn: SimpleRNNCell, LSTMCell, GRUCell, StackedRNNCells.
#include "lib/Import/Keras/GatedCell.h"

#include "mpc/Import/Keras/Weights.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using Values = llvm::SmallVector<Value>;

class SimpleCell : public GatedCell {
public:
  explicit SimpleCell(std::unique_ptr<LayerBuilder> b) : GatedCell(std::move(b), 1) {}

  Values project(Value input) override { return projectGates(input, bias); }
  Value step(llvm::ArrayRef<Value> projected, llvm::MutableArrayRef<Value> states) override {
    Value sum = make<AddOp>(projected[0], product(dropState(states[0], 0), recurrent));
    return states[0] = activate("activation", sum);
  }
};

/// Gates i, f, c, o (keras/src/layers/rnn/lstm.py).
class LstmCell : public GatedCell {
public:
  explicit LstmCell(std::unique_ptr<LayerBuilder> b) : GatedCell(std::move(b), 4) {}

  llvm::SmallVector<llvm::SmallVector<int64_t>> getStateShapes() const override {
    return {{units}, {units}};
  }
  InitializerAttr getBiasInitializer() const override { return makeForgetInitializer(); }
  Values project(Value input) override { return projectGates(input, split ? bias : Value()); }
  Value step(llvm::ArrayRef<Value> projected, llvm::MutableArrayRef<Value> states) override {
    Value h = states[0];
    Values z;
    if (split) {
      for (int64_t g = 0; g < 4; ++g)
        z.push_back(make<AddOp>(projected[g], product(dropState(h, g), gate(recurrent, g))));
    } else {
      Value sum = make<AddOp>(projected[0], product(h, recurrent));
      if (bias)
        sum = make<AddOp>(sum, bias);
      for (int64_t g = 0; g < 4; ++g)
        z.push_back(gate(sum, g));
    }
    return updateMemory(z, states);
  }
};

/// Gates z, r, h (keras/src/layers/rnn/gru.py).
class GruCell : public GatedCell {
public:
  explicit GruCell(std::unique_ptr<LayerBuilder> b) : GatedCell(std::move(b), 3) {
    resetAfter = builder->getFlag("reset_after", true);
  }

  llvm::SmallVector<int64_t> getBiasShape() const override {
    return resetAfter ? llvm::SmallVector<int64_t>{2, 3 * units}
                      : llvm::SmallVector<int64_t>{3 * units};
  }
  Values project(Value input) override {
    return projectGates(input, bias && resetAfter ? biasRow(0) : bias);
  }
  Value step(llvm::ArrayRef<Value> projected, llvm::MutableArrayRef<Value> states) override {
    Value h = states[0];
    Value recurrentBias = bias && resetAfter ? biasRow(1) : Value();
    Values x(projected), inner;
    if (!split)
      for (int64_t g = 0; g < 3; ++g) {
        if (g == 0)
          x.clear();
        x.push_back(gate(projected[0], g));
      }
    auto plusBias = [&](Value y, int64_t first, int64_t count) {
      return recurrentBias ? make<AddOp>(y, gate(recurrentBias, first, count)) : y;
    };
    Value dropped = dropState(h, split ? 2 : 0); // of the candidate
    if (split) {
      for (int64_t g = 0; g < 2; ++g)
        inner.push_back(plusBias(product(dropState(h, g), gate(recurrent, g)), g, 1));
      if (resetAfter)
        inner.push_back(plusBias(product(dropped, gate(recurrent, 2)), 2, 1));
    } else {
      const int64_t count = resetAfter ? 3 : 2;
      Value all = product(h, resetAfter ? recurrent : gate(recurrent, 0, 2));
      all = plusBias(all, 0, count);
      for (int64_t g = 0; g < count; ++g)
        inner.push_back(gate(all, g));
    }
    Value z = activate("recurrent_activation", make<AddOp>(x[0], inner[0]));
    Value r = activate("recurrent_activation", make<AddOp>(x[1], inner[1]));
    if (!z || !r)
      return {};
    Value candidate = resetAfter
                          ? make<MultiplyOp>(r, inner[2])
                          : product(make<MultiplyOp>(r, split ? dropped : h), gate(recurrent, 2));
    candidate = activate("activation", make<AddOp>(x[2], candidate));
    if (!candidate)
      return {};
    Value rest = make<SubtractOp>(builder->makeConstant(1.0), z);
    return states[0] = make<AddOp>(make<MultiplyOp>(z, h), make<MultiplyOp>(rest, candidate));
  }

private:
  Value biasRow(int64_t row) {
    return builder->makeReshape(make<SliceOp>(bias, 0, row, 1), {3 * units});
  }
  bool resetAfter;
};

/// The weights of cuDNN (tf_keras/src/layers/rnn/cudnn_lstm.py, cudnn_gru.py): a gate's columns
/// hold the numbers of its transposed matrix, row by row, and input and state have a bias each.
/// From them come the weights that Base computes with, as hdf5_format.py converts them.
template <typename Base> class CudnnCell : public Base {
public:
  explicit CudnnCell(std::unique_ptr<LayerBuilder> b) : Base(std::move(b)) {}

  bool build(llvm::ArrayRef<int64_t> input) override {
    if (!Base::build(input))
      return false;
    this->kernel = arrange(this->kernel);
    this->recurrent = arrange(this->recurrent);
    const int64_t width = this->gates * this->units;
    Value both = this->builder->makeReshape(this->bias, {2, width});
    this->bias = Base::getBiasShape().size() == 2
                     ? both
                     : this->template make<ReduceOp>(ReduceKind::Sum, both,
                                                     llvm::ArrayRef<int64_t>{0}, false);
    return true;
  }
  llvm::SmallVector<int64_t> getBiasShape() const override {
    return {2 * this->gates * this->units};
  }

private:
  Value arrange(Value weights) {
    LayerBuilder &b = *this->builder;
    const int64_t inputs = b.shapeOf(weights).front();
    Values parts;
    for (int64_t g = 0; g < this->gates; ++g)
      parts.push_back(this->template make<TransposeOp>(
          b.makeReshape(this->gate(weights, g), {this->units, inputs}),
          llvm::ArrayRef<int64_t>{1, 0}));
    return this->template make<ConcatenateOp>(mlir::ValueRange(parts), int64_t(1));
  }
};

/// Cells one above the other: the output of each is the input of the next.
class StackedCells : public RecurrentCell {
public:
  explicit StackedCells(std::vector<std::unique_ptr<RecurrentCell>> cells)
      : RecurrentCell(nullptr), cells(std::move(cells)) {}

  llvm::SmallVector<llvm::SmallVector<int64_t>> getStateShapes() const override {
    llvm::SmallVector<llvm::SmallVector<int64_t>> shapes;
    for (const auto &cell : cells)
      llvm::append_range(shapes, cell->getStateShapes());
    return shapes;
  }
  bool build(llvm::ArrayRef<int64_t> input) override {
    llvm::SmallVector<int64_t> shape(input);
    for (const auto &cell : cells) {
      if (!cell->build(shape))
        return false;
      shape = cell->getOutputShape();
    }
    return true;
  }
  Values project(Value input) override { return cells.front()->project(input); }
  Value step(llvm::ArrayRef<Value> projected, llvm::MutableArrayRef<Value> states) override {
    Value output;
    for (const auto &[number, cell] : llvm::enumerate(cells)) {
      const size_t count = cell->getStateShapes().size();
      Values own = number ? cell->project(output) : Values(projected);
      output = cell->step(own, states.take_front(count));
      if (!output)
        return {};
      // The next cell emits behind what this one did.
      states = states.drop_front(count);
    }
    return output;
  }
  llvm::ArrayRef<std::unique_ptr<RecurrentCell>> getCells() const override { return cells; }
  unsigned getOutputState() const override {
    unsigned first = 0;
    for (const auto &cell : llvm::drop_end(cells))
      first += unsigned(cell->getStateShapes().size());
    return first + cells.back()->getOutputState();
  }
  void moveTo(const mlir::OpBuilder::InsertPoint &point) override {
    for (const auto &cell : cells)
      cell->moveTo(point);
  }

private:
  std::vector<std::unique_ptr<RecurrentCell>> cells;
};

} // namespace

std::unique_ptr<RecurrentCell> makeCudnnCell(llvm::StringRef className,
                                             std::unique_ptr<LayerBuilder> b) {
  if (className == "CuDNNGRU")
    return std::make_unique<CudnnCell<GruCell>>(std::move(b));
  return std::make_unique<CudnnCell<LstmCell>>(std::move(b));
}

std::unique_ptr<RecurrentCell> makeCell(llvm::StringRef className,
                                        std::unique_ptr<LayerBuilder> b) {
  if (className == "SimpleRNNCell")
    return std::make_unique<SimpleCell>(std::move(b));
  if (className == "LSTMCell")
    return std::make_unique<LstmCell>(std::move(b));
  if (className == "GRUCell")
    return std::make_unique<GruCell>(std::move(b));
  if (className != "StackedRNNCells") {
    b->error("unsupported cell class '" + className +
             "'; supported are SimpleRNNCell, LSTMCell, GRUCell and StackedRNNCells");
    return nullptr;
  }
  const llvm::json::Array *list = b->layer.config.getArray("cells");
  if (!list || list->empty() || list->size() > 1000) {
    b->error("StackedRNNCells needs a list 'cells' of at least one cell");
    return nullptr;
  }
  std::vector<std::unique_ptr<RecurrentCell>> cells;
  llvm::StringMap<unsigned> used;
  for (unsigned i = 0; i < list->size(); ++i) {
    const LayerConfig *child = b->getChild("cells", i);
    if (!child)
      return nullptr;
    // Groups of a list are named after the classes, counted.
    std::string group = "cells/" + snakeCase(child->className);
    if (const unsigned count = used[group]++)
      group += "_" + std::to_string(count);
    auto cell = makeCell(child->className, std::make_unique<LayerBuilder>(*b, *child, "", group,
                                                                          llvm::ArrayRef<Value>()));
    if (!cell)
      return nullptr;
    cells.push_back(std::move(cell));
  }
  return std::make_unique<StackedCells>(std::move(cells));
}

} // namespace mpc::keras
