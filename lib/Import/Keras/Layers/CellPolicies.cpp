// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/rnn/rnn.py and stacked_rnn_cells.py: RNN and stack cast like layers, and so do
// the cells. Where RNN and all cells have one policy there is nothing to cast in the loop. A single
// cell, or cells, of another policy compute in a loop between two casts of the RNN. Cells that
// differ are layers of their own in each step, behind a cast of their stack. (Keras refuses the
// latter in a compiled while loop, whose states may not change dtype; this is what it computes
// unrolled, and eagerly.)
#include "lib/Import/Keras/Layers/CellPolicies.h"

#include "lib/Import/Common/ScanBuilder.h"
#include "lib/Import/Keras/GraphImporter.h"
#include "lib/Import/Keras/Layers/RecurrentStates.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using Values = llvm::SmallVector<Value>;

Value passOn(LayerBuilder &b) {
  for (Value input : b.getInputs().drop_front())
    b.addOutput(input);
  return b.getInputs().front();
}

/// A cell or a stack of cells, with its path and how many states it has.
struct CellTree {
  const LayerConfig *config;
  std::string path;
  size_t stateCount = 0;
  std::vector<CellTree> cells = {};
};

/// One call of an RNN whose cells do not compute as it does.
class CellLoop {
public:
  CellLoop(GraphImporter &importer, const LayerConfig &layer, const LayerConfig &cell,
           const Node *node, llvm::StringRef path, bool trainable)
      : importer(importer), layer(layer), node(node), path(path), trainable(trainable),
        tree{&cell, join(path, cell.name)} {}

  /// Loops over a single cell or a stack, all in one policy.
  bool importUniform(llvm::ArrayRef<Value> inputs, Values &outputs);
  /// Loops over a stack whose cells differ.
  bool importMixed(llvm::ArrayRef<Value> inputs, Values &outputs);

private:
  const LayerConfig &getTwin(llvm::StringRef name);
  /// Completes the tree from what the cells are; false after an error.
  bool describe(const RecurrentCell &cell, CellTree &tree);
  /// The call of a cell in a step: `x` becomes its output, `states` its next states.
  bool importCell(const CellTree &tree, bool trains, Value &x, llvm::MutableArrayRef<Value> states);

  // Stacks whose cells differ call these in turn: three casts, and the loop in front of the last.
  Value castArguments(LayerBuilder &b);
  bool addInitialStates(LayerBuilder &b, Value x);
  Value castToStack(LayerBuilder &b);
  ScanOp importLoop(llvm::ArrayRef<Value> started);
  bool importStep(ScanBuilder &scan, Values &next, Values &stacked);
  /// Where the mask says so, keeps the states and the output of the step before.
  void keepMasked(ScanBuilder &scan, Values &next, Value &output);
  Values resultsOf(ScanOp loop);
  Value castResults(LayerBuilder &b, const LayerConfig &twin);

  GraphImporter &importer;
  const LayerConfig &layer;
  const Node *const node;
  const std::string path;
  const bool trainable;
  CellTree tree;

  // Known once the arguments are cast.
  std::optional<RecurrentOptions> options;
  llvm::SmallVector<StateShape> shapes;
  unsigned outputState = 0;
  bool hasMask = false, givenStates = false;
  Value mask;
  bool ownOutput = false; ///< the loop carries its output beside the states
};

const LayerConfig &CellLoop::getTwin(llvm::StringRef name) {
  const LayerConfig &twin = importer.tree.getPart(layer, name, [&] {
    LayerConfig made;
    made.className = layer.className;
    made.module = layer.module;
    made.name = layer.name;
    made.config = layer.config;
    made.config.erase("activity_regularizer"); // counted once, of the layer's results
    return made;
  });
  importer.tree.placeTwin(layer, twin);
  return twin;
}

bool CellLoop::importUniform(llvm::ArrayRef<Value> inputs, Values &outputs) {
  Values cast, computed;
  if (!importer.emitLayer(getTwin("cast"), nullptr, path, trainable, inputs, cast, passOn, false))
    return false;
  if (Value mask = importer.forward.getMask(inputs.front()))
    importer.forward.setMask(cast.front(), mask);
  const LayerConfig &loop = getTwin("loop");
  importer.policies.setName(loop, importer.policies.getName(*tree.config, tree.path));
  if (!importer.emitLayer(loop, node, tree.path, trainable, cast, computed, importRnn, false))
    return false;
  const size_t first = outputs.size();
  if (!importer.emitLayer(layer, nullptr, path, trainable, computed, outputs, passOn, false))
    return false;
  for (auto [result, output] : llvm::zip(computed, llvm::drop_begin(outputs, first)))
    if (Value mask = importer.forward.getMask(result))
      importer.forward.setMask(output, mask);
  return true;
}

bool CellLoop::describe(const RecurrentCell &cell, CellTree &tree) {
  tree.stateCount = cell.getStateShapes().size();
  for (const auto &[i, inner] : llvm::enumerate(cell.getCells())) {
    const LayerConfig *config =
        importer.tree.getChild(*tree.config, tree.path, "cells", unsigned(i));
    if (!config)
      return false;
    tree.cells.push_back({config, join(tree.path, config->name)});
    if (!describe(*inner, tree.cells.back()))
      return false;
  }
  return true;
}

bool CellLoop::importCell(const CellTree &tree, bool trains, Value &x,
                          llvm::MutableArrayRef<Value> states) {
  const LayerConfig &config = *tree.config;
  trains = isTrainable(config, trains);
  Values inputs{x}, results;
  llvm::append_range(inputs, states);
  auto compute = [&](LayerBuilder &b) -> Value {
    Value input = b.getInputs().front();
    auto cell = makeCell(config.className, std::make_unique<LayerBuilder>(b, config, "", "",
                                                                          llvm::ArrayRef<Value>()));
    if (!cell || !cell->build(b.shapeOf(input).drop_front()))
      return {};
    Values next(b.getInputs().drop_front());
    Value output = cell->step(cell->project(input), next);
    for (Value state : next)
      b.addOutput(state);
    return output;
  };
  llvm::function_ref<Value(LayerBuilder &)> import = passOn;
  if (tree.cells.empty())
    import = compute;
  if (!importer.emitLayer(config, nullptr, tree.path, trains, inputs, results, import, false))
    return false;
  x = results.front();
  llvm::copy(llvm::drop_begin(results), states.begin());
  for (const CellTree &inner : tree.cells) {
    if (!importCell(inner, trains, x, states.take_front(inner.stateCount)))
      return false;
    states = states.drop_front(inner.stateCount);
  }
  return true;
}

/// The RNN's cast: sequences, states that do not start as zeros, the mask.
Value CellLoop::castArguments(LayerBuilder &b) {
  options.emplace(b);
  Value x = getSequences(b);
  auto cell = x ? makeCell(tree.config->className,
                           std::make_unique<LayerBuilder>(b, *tree.config, "", "cell",
                                                          llvm::ArrayRef<Value>()))
                : nullptr;
  if (!cell || b.hasFailed() || !describe(*cell, tree))
    return {};
  shapes = cell->getStateShapes();
  outputState = cell->getOutputState();
  if (!addInitialStates(b, x))
    return {};
  if (Value valid = getStepMask(b, b.shapeOf(x)[1])) {
    hasMask = true;
    b.addOutput(valid);
    b.setMask(0, b.getMask(kMaskPosition));
  }
  return b.hasFailed() ? Value() : x;
}

bool CellLoop::addInitialStates(LayerBuilder &b, Value x) {
  Values initial(b.getArgument(1, "initial_state"));
  givenStates = !initial.empty();
  if (givenStates && !checkStates(b, initial, shapes, b.shapeOf(x)[0]))
    return false;
  if (options->stateful) {
    Values stored = addStateVariables(b, shapes, /*isChannelsFirst=*/false, b.shapeOf(x)[0]);
    if (b.hasFailed())
      return false;
    if (!givenStates)
      initial = stored;
  }
  for (Value state : initial)
    b.addOutput(state);
  return true;
}

/// The stack's cast, and zeros in its dtype; the mask's repeated output starts with such ones.
Value CellLoop::castToStack(LayerBuilder &b) {
  Value x = b.getInputs().front();
  for (Value state : b.getInputs().drop_front())
    b.addOutput(state);
  for (const StateShape &shape : shapes)
    if (b.getInputs().size() == 1)
      b.addOutput(makeZeros(b, x, shape));
  if (ownOutput)
    b.addOutput(makeZeros(b, x, shapes[outputState]));
  return x;
}

void CellLoop::keepMasked(ScanBuilder &scan, Values &next, Value &output) {
  Value valid = scan.getSlices().back(); // (batch, 1)
  for (auto [state, old] : llvm::zip(next, scan.getCarried()))
    state = scan.make<SelectOp>(valid, state, old);
  if (options->zeroForMask)
    output = scan.make<SelectOp>(valid, output, scan.makeZero());
  else
    output = ownOutput ? scan.make<SelectOp>(valid, output, scan.getCarried().back())
                       : next[outputState];
  if (ownOutput)
    next.push_back(output);
}

bool CellLoop::importStep(ScanBuilder &scan, Values &next, Values &stacked) {
  Value output = scan.getSlices().front();
  next.assign(scan.getCarried().take_front(shapes.size()).begin(),
              scan.getCarried().take_front(shapes.size()).end());
  if (!importCell(tree, trainable, output, next))
    return false;
  if (mask)
    keepMasked(scan, next, output);
  if (options->sequences)
    stacked.push_back(output);
  return true;
}

ScanOp CellLoop::importLoop(llvm::ArrayRef<Value> started) {
  Values scanned{started.front()};
  if (mask)
    scanned.push_back(mask);
  return importer.importScan(tree.path, started.drop_front(), scanned, options->backwards,
                             /*isRandom=*/false,
                             [&](ScanBuilder &scan, Values &next, Values &stacked) {
                               return importStep(scan, next, stacked);
                             });
}

/// The output, or those of all steps, then the states.
Values CellLoop::resultsOf(ScanOp loop) {
  Values results{options->sequences ? loop.getStacked().front()
                 : ownOutput        ? loop.getFinals()[shapes.size()]
                                    : loop.getFinals()[outputState]};
  llvm::append_range(results, loop.getFinals().take_front(shapes.size()));
  return results;
}

/// The RNN's cast of what the loop gives.
Value CellLoop::castResults(LayerBuilder &b, const LayerConfig &twin) {
  Value result = b.getInputs().front();
  // Keras returns the steps in the order in which they ran.
  if (options->sequences && options->backwards)
    result = b.make<ReverseOp>(result, int64_t(1));
  llvm::ArrayRef<Value> finals = b.getInputs().drop_front();
  if (options->stateful) {
    LayerBuilder owner(b, twin, "", "", {});
    Values stored =
        addStateVariables(owner, shapes, /*isChannelsFirst=*/false, b.shapeOf(result).front());
    for (auto [variable, state] : llvm::zip(stored, finals))
      b.updateVariable(variable, state);
  }
  if (options->states)
    for (Value state : finals)
      b.addOutput(state);
  return result;
}

bool CellLoop::importMixed(llvm::ArrayRef<Value> inputs, Values &outputs) {
  const LayerConfig &twin = getTwin("cast");
  Values cast, started;
  if (!importer.emitLayer(
          twin, node, path, trainable, inputs, cast,
          [&](LayerBuilder &b) { return castArguments(b); }, false))
    return false;
  if (hasMask)
    mask = cast.pop_back_val();
  ownOutput = hasMask && carriesOutput(*options, givenStates);
  if (!importer.emitLayer(
          *tree.config, nullptr, tree.path, trainable, cast, started,
          [&](LayerBuilder &b) { return castToStack(b); }, false))
    return false;
  ScanOp loop = importLoop(started);
  if (!loop)
    return false;
  const size_t first = outputs.size();
  if (!importer.emitLayer(
          layer, nullptr, path, trainable, resultsOf(loop), outputs,
          [&](LayerBuilder &b) { return castResults(b, twin); }, false))
    return false;
  if (Value passed = importer.forward.getMask(cast.front()); passed && options->sequences)
    importer.forward.setMask(outputs[first], passed);
  return true;
}

/// Whether all cells of a stack, to any depth, have the policy of the stack; nothing after an
/// error. A cell without one takes that of what holds it.
std::optional<bool> cellsAgree(GraphImporter &importer, const LayerConfig &stack,
                               llvm::StringRef path, const DTypePolicy &policy) {
  bool agree = true;
  const llvm::json::Array *list = stack.config.getArray("cells");
  for (unsigned i = 0; list && i < list->size(); ++i) {
    const LayerConfig *cell = importer.tree.getChild(stack, path, "cells", i);
    if (!cell)
      return std::nullopt;
    const std::string inside = join(path, cell->name);
    std::optional<bool> below = cellsAgree(importer, *cell, inside, policy);
    if (!below)
      return std::nullopt;
    agree &= *below && (!importer.policies.getName(*cell, inside) ||
                        importer.policies.getDecided(*cell, inside) == policy);
  }
  return agree;
}

} // namespace

bool importRnnLayer(GraphImporter &importer, const LayerConfig &layer, const Node *node,
                    llvm::StringRef path, bool trainable, llvm::ArrayRef<Value> inputs,
                    Values &outputs) {
  const LayerConfig *cell = importer.tree.getChild(layer, path, "cell");
  if (!cell)
    return false;
  const std::string place = join(path, cell->name);
  const DTypePolicy &own = importer.policies.getDecided(layer, path);
  const DTypePolicy &policy =
      importer.policies.getName(*cell, place) ? importer.policies.getDecided(*cell, place) : own;
  std::optional<bool> agree = cellsAgree(importer, *cell, place, policy);
  if (!agree)
    return false;
  CellLoop loop(importer, layer, *cell, node, path, trainable);
  if (!*agree)
    return loop.importMixed(inputs, outputs);
  if (policy != own)
    return loop.importUniform(inputs, outputs);
  return importer.emitLayer(layer, node, path, trainable, inputs, outputs, importRnn,
                            /*passesMasksOn=*/false);
}

} // namespace mpc::keras
