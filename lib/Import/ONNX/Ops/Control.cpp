// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Graphs inside of nodes. Shapes are static, and so is the number of steps: loops are written out,
// conditions that are known choose a branch. Where the model computes when a loop ends, steps
// behind the end change nothing.
#include "lib/Import/ONNX/NodeAttributes.h"
#include "lib/Import/ONNX/OpTable.h"
#include "lib/Import/ONNX/Ops/Pieces.h"

namespace mpc::onnx {
namespace {

using Values = llvm::SmallVector<NodeValue>;

/// Steps of a loop that is written out.
constexpr int64_t kMostSteps = 4096;
/// Steps of one that may end before: each costs what it does.
constexpr int64_t kMostGuarded = 256;

bool refuse(GraphImporter &importer, const Node &node, llvm::StringRef path,
            const llvm::Twine &what) {
  importer.error(path, node.op + ": " + what);
  return false;
}

/// The node's inputs from `first` on; false after an error.
bool readAll(GraphImporter &importer, const Node &node, const Scope &scope, llvm::StringRef path,
             unsigned first, Values &values) {
  for (unsigned i = first; i < node.inputs.size(); ++i) {
    const NodeValue *value = importer.read(node, i, scope, path);
    if (!value)
      return refuse(importer, node, path, "input " + llvm::Twine(i) + " is missing");
    values.push_back(*value);
  }
  return true;
}

bool ifElse(GraphImporter &importer, const Node &node, Scope &scope, llvm::StringRef path,
            const NodeAttributes &attributes) {
  const Graph *branches[] = {attributes.getGraph("then_branch"),
                             attributes.getGraph("else_branch")};
  const NodeValue *condition = importer.read(node, 0, scope, path);
  if (!condition || !branches[0] || !branches[1])
    return refuse(importer, node, path, "needs a condition and two branches");
  const auto isKnown = findNumber(importer, *condition);
  Values results[2];
  const auto importBranch = [&](unsigned i) {
    Scope inner(&scope);
    if (!importer.importSubgraph(*branches[i], inner, path, results[i]))
      return false;
    return results[i].size() == node.outputs.size() ||
           refuse(importer, node, path, "has a branch with another number of results");
  };
  std::optional<unsigned> only; // the branch that is taken, whatever the condition
  bool isGuarded = false;       // by it
  if (isKnown) {
    only = *isKnown ? 0 : 1;
    if (!importBranch(*only))
      return false;
  } else {
    // A branch for inputs of other shapes is none for these.
    std::optional<std::string> problems[2];
    for (unsigned i = 0; i < 2; ++i)
      problems[i] = importer.attempt([&] { return importBranch(i); });
    if (problems[0] && problems[1]) {
      results[0].clear();
      return importBranch(0); // for its errors
    }
    for (unsigned i = 0; i < 2; ++i)
      if (problems[i]) {
        only = 1 - i;
        isGuarded = true;
        importer.warn(path, "where '" + node.inputs[0] + "' is " + (i == 0 ? "true" : "false") +
                                ", the results are NaN: that branch does not fit the shapes of the "
                                "inputs (" +
                                llvm::StringRef(*problems[i]).split('\n').first + ")");
      }
  }
  Pieces pieces(importer, path, node.op);
  for (unsigned i = 0; i < node.outputs.size(); ++i) {
    if (only) {
      NodeValue result = results[*only][i];
      if (isGuarded) {
        if (result.elements || !isFloating(result.type))
          return refuse(importer, node, path,
                        "has a branch that does not fit the shapes of the inputs, and results that "
                        "are not floating");
        auto guarded = pieces.require(*condition, *only == 0, result);
        if (!guarded)
          return false;
        result = std::move(*guarded);
      }
      importer.setOutput(node, i, scope, std::move(result));
      continue;
    }
    if (results[0][i].elements || results[1][i].elements)
      return refuse(importer, node, path,
                    "chooses between sequences by a condition that is not constant");
    auto chosen = pieces.select(*condition, results[0][i], results[1][i]);
    if (!chosen)
      return false;
    importer.setOutput(node, i, scope, std::move(*chosen));
  }
  return true;
}

/// Sets the outputs behind the carried values: what the steps gave, stacked.
bool setStacks(GraphImporter &importer, const Node &node, Scope &scope, Pieces &pieces,
               unsigned first, llvm::ArrayRef<Values> steps, llvm::ArrayRef<int64_t> axes,
               llvm::StringRef path) {
  for (unsigned i = first; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty())
      continue;
    Values parts;
    for (const Values &step : steps)
      parts.push_back(step[i - first]);
    if (parts.empty())
      return refuse(importer, node, path, "takes no step, and mpc compiles no empty tensors");
    auto stack = pieces.join(parts, i - first < axes.size() ? axes[i - first] : 0, /*isNew=*/true);
    if (!stack)
      return false;
    importer.setOutput(node, i, scope, std::move(*stack));
  }
  return true;
}

/// A carried value in a step that may be behind the end, where it stays as it was.
std::optional<NodeValue> keepBehindEnd(GraphImporter &importer, const Node &node,
                                       llvm::StringRef path, const NodeValue &goes,
                                       const NodeValue &next, const NodeValue &before) {
  if (next.elements || before.elements || importer.getShape(next) != importer.getShape(before)) {
    refuse(importer, node, path,
           "ends by values that the model computes, and carries sequences or other shapes");
    return std::nullopt;
  }
  return Pieces(importer, path, node.op).select(goes, next, before);
}

bool loop(GraphImporter &importer, const Node &node, Scope &scope, llvm::StringRef path,
          const NodeAttributes &attributes) {
  const Graph *body = attributes.getGraph("body");
  Values carried;
  if (!body || !readAll(importer, node, scope, path, 2, carried))
    return !body ? refuse(importer, node, path, "needs a body") : false;
  std::optional<int64_t> count = INT64_MAX;
  if (const NodeValue *limit = importer.read(node, 0, scope, path))
    count = findNumber(importer, *limit);
  std::optional<int64_t> runs = 1;
  std::optional<NodeValue> goes; // what says whether this step is one, where the model computes it
  if (const NodeValue *condition = importer.read(node, 1, scope, path))
    if (runs = findNumber(importer, *condition); !runs)
      goes = *condition;
  const size_t given = 2 + carried.size(), outputs = node.outputs.size();
  if (body->inputs.size() != given || body->outputs.size() < 1 + carried.size() ||
      body->outputs.size() - 1 < outputs)
    return refuse(importer, node, path, "has a body with other inputs or outputs than the node");
  const bool hasStacks =
      llvm::any_of(llvm::ArrayRef(node.outputs).drop_front(std::min(outputs, carried.size())),
                   [](const std::string &output) { return !output.empty(); });
  Pieces pieces(importer, path, node.op);
  llvm::SmallVector<Values> steps;
  for (int64_t step = 0;; ++step) {
    if (!count || (goes && (*count > kMostGuarded || hasStacks)))
      return refuse(importer, node, path,
                    "ends by values that the model computes; a compiled model has static shapes, "
                    "and expected are a constant number of steps and condition, or at most " +
                        llvm::Twine(kMostGuarded) + " steps whose results are not stacked");
    if (step >= *count || (runs && !*runs))
      break;
    if (step >= kMostSteps)
      return refuse(importer, node, path, "takes more than " + llvm::Twine(kMostSteps) + " steps");
    Scope inner(&scope);
    inner.set(body->inputs[0].name, pieces.makeInteger(step));
    inner.set(body->inputs[1].name, goes ? *goes : pieces.makeTruth(true));
    for (const auto &[i, value] : llvm::enumerate(carried))
      inner.set(body->inputs[2 + i].name, value);
    Values results;
    if (!importer.importSubgraph(*body, inner, path, results))
      return false;
    for (const auto &[i, value] : llvm::enumerate(carried)) {
      const std::optional<NodeValue> next =
          goes ? keepBehindEnd(importer, node, path, *goes, results[1 + i], value)
               : std::optional(results[1 + i]);
      if (!next)
        return false;
      value = *next;
    }
    runs = findNumber(importer, results[0]);
    if (!runs)
      goes = goes ? pieces.select(*goes, results[0], pieces.makeTruth(false))
                  : std::optional(results[0]);
    if (!runs && !goes)
      return false;
    steps.emplace_back(results.begin() + 1 + ptrdiff_t(carried.size()), results.end());
  }
  for (const auto &[i, value] : llvm::enumerate(carried))
    importer.setOutput(node, unsigned(i), scope, value);
  return setStacks(importer, node, scope, pieces, unsigned(carried.size()), steps, {}, path);
}

/// The axis of a list of axes, counted from the front; nothing after an error.
std::optional<int64_t> axisOf(GraphImporter &importer, const Node &node, llvm::StringRef path,
                              llvm::ArrayRef<int64_t> axes, size_t i, int64_t rank) {
  const int64_t axis = i < axes.size() ? axes[i] : 0;
  if (axis >= -rank && axis < rank)
    return axis < 0 ? axis + rank : axis;
  refuse(importer, node, path, "axis " + llvm::Twine(axis) + " is outside of a tensor");
  return std::nullopt;
}

/// Before opset 9 a batch was the first dimension of everything, and lengths the first input.
bool scan(GraphImporter &importer, const Node &node, Scope &scope, llvm::StringRef path,
          const NodeAttributes &attributes) {
  const Graph *body = attributes.getGraph("body");
  const bool isOld = importer.getOpset(node) < 9;
  if (isOld && !node.inputs.empty() && !node.inputs[0].empty())
    return refuse(importer, node, path, "with lengths of sequences is not supported");
  Values inputs;
  if (!body || !readAll(importer, node, scope, path, isOld ? 1 : 0, inputs))
    return !body ? refuse(importer, node, path, "needs a body") : false;
  const int64_t scanned = attributes.getInteger("num_scan_inputs", 0);
  if (scanned < 1 || size_t(scanned) > inputs.size() || body->inputs.size() != inputs.size())
    return refuse(importer, node, path, "has a body with other inputs than the node");
  const size_t states = inputs.size() - size_t(scanned);
  if (body->outputs.size() < states || body->outputs.size() < node.outputs.size())
    return refuse(importer, node, path, "has a body with other outputs than the node");
  if (isOld)
    return refuse(importer, node, path, "of opset 8 is not supported; convert the model to 9");
  const auto axes = attributes.getIntegers("scan_input_axes"),
             directions = attributes.getIntegers("scan_input_directions"),
             outputAxes = attributes.getIntegers("scan_output_axes"),
             outputDirections = attributes.getIntegers("scan_output_directions");
  Pieces pieces(importer, path, node.op);
  int64_t count = -1;
  llvm::SmallVector<int64_t> resolved;
  for (size_t i = 0; i < size_t(scanned); ++i) {
    const auto shape = importer.getShape(inputs[states + i]);
    auto axis = axisOf(importer, node, path, axes, i, int64_t(shape.size()));
    if (!axis)
      return false;
    const int64_t extent = shape[size_t(*axis)];
    if (extent < 1 || extent > kMostSteps || (count >= 0 && extent != count))
      return refuse(importer, node, path,
                    "scans an open dimension, different ones, or more than " +
                        llvm::Twine(kMostSteps) + " steps");
    count = extent;
    resolved.push_back(*axis);
  }
  Values carried(inputs.begin(), inputs.begin() + ptrdiff_t(states));
  llvm::SmallVector<Values> steps;
  for (int64_t step = 0; step < count; ++step) {
    Scope inner(&scope);
    for (const auto &[i, value] : llvm::enumerate(carried))
      inner.set(body->inputs[i].name, value);
    for (size_t i = 0; i < size_t(scanned); ++i) {
      const bool isReverse = i < directions.size() && directions[i] == 1;
      auto part = pieces.slice(inputs[states + i], resolved[i], isReverse ? count - 1 - step : step,
                               1, /*drops=*/true);
      if (!part)
        return false;
      inner.set(body->inputs[states + i].name, std::move(*part));
    }
    Values results;
    if (!importer.importSubgraph(*body, inner, path, results))
      return false;
    for (const auto &[i, value] : llvm::enumerate(carried))
      value = results[i];
    steps.emplace_back(results.begin() + ptrdiff_t(states), results.end());
  }
  for (const auto &[i, value] : llvm::enumerate(carried))
    importer.setOutput(node, unsigned(i), scope, value);
  llvm::SmallVector<int64_t> stackAxes;
  for (size_t i = 0; i < steps.front().size(); ++i) {
    const auto rank = int64_t(importer.getShape(steps.front()[i]).size()) + 1;
    auto axis = axisOf(importer, node, path, outputAxes, i, rank);
    if (!axis)
      return false;
    stackAxes.push_back(*axis);
    if (i < outputDirections.size() && outputDirections[i] == 1)
      for (int64_t step = 0; step < count / 2; ++step)
        std::swap(steps[size_t(step)][i], steps[size_t(count - 1 - step)][i]);
  }
  return setStacks(importer, node, scope, pieces, unsigned(states), steps, stackAxes, path);
}

constexpr OpEntry kTable[] = {
    {"If", 1, nullptr, ifElse},
    {"Loop", 1, nullptr, loop},
    {"Scan", 8, nullptr, scan},
};

} // namespace

llvm::ArrayRef<OpEntry> getControlOps() { return kTable; }

} // namespace mpc::onnx
