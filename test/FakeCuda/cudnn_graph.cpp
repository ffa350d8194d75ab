// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which graphs are legal, and which engines take them.
#include "test/FakeCuda/cudnn_graph.h"
#include "test/FakeCuda/cudnn_attention.h"
#include "test/FakeCuda/cudnn_convolution.h"

#include <algorithm>
#include <array>
#include <set>

namespace fake::dnn {
namespace {

enum : int { tensorCore = 0, reducedPrecisionReduction = 2, nondeterministic = 4, winograd = 5 };
enum : int { strictNaN = 9 };
enum : int { modeB = 1, modeFallback = 2 };

// Attributes of a convolution: image, filter, output, window, alpha, beta.
struct Names {
  int image, filter, output, window, alpha, beta;
};
Names namesOf(int kind) {
  return kind == forwardOperation        ? Names{704, 703, 705, 702, 700, 701}
         : kind == dataGradientOperation ? Names{710, 709, 711, 708, 706, 707}
                                         : Names{716, 715, 717, 714, 712, 713};
}

bool isSame(const Tensor &a, const Tensor &b) {
  return a.id == b.id && a.extents == b.extents && a.strides == b.strides && a.type == b.type;
}

// Packed, channels last.
bool isChannelsLast(const Tensor &t) {
  int64_t stride = t.extents[1];
  bool isPacked = t.strides[1] == 1;
  for (size_t d = t.extents.size() - 1; d >= 2; --d) {
    isPacked &= t.strides[d] == stride;
    stride *= t.extents[d];
  }
  return isPacked && t.strides[0] == stride;
}

// Whether products on Tensor Cores take it: channels in multiples of 16 bytes, aligned.
bool isForTensorCores(const Problem &p) {
  const int64_t multiple = p.image.type == 0 ? 4 : 8;
  bool is = p.channels() % multiple == 0 && p.filters() % multiple == 0;
  for (const Tensor *t : {&p.image, &p.filter, &p.output})
    is &= t->isVirtual || t->alignment % 16 == 0;
  return is;
}

// Layouts and dtypes that any engine takes.
bool isForEngines(const Problem &p) {
  const int type = p.result->type;
  bool is = isChannelsLast(p.image) && isChannelsLast(p.filter) && isChannelsLast(p.output);
  for (const Tensor *t : {&p.image, &p.filter, &p.output})
    is &= t->isVirtual ? t->type == 0 : t->type == type;
  return is && type != 1 && (!p.hasBias || p.bias.type == type);
}

bool isSymmetric(const Problem &p) { return p.low == p.high; }

} // namespace

int checkConvolution(const Description &d) {
  const Names names = namesOf(d.kind);
  const Tensor image = readTensor(*d.description(names.image)),
               filter = readTensor(*d.description(names.filter)),
               output = readTensor(*d.description(names.output));
  const Description &w = *d.description(names.window);
  const size_t rank = static_cast<size_t>(w.get<int64_t>(106)) + 2;
  if (image.extents.size() != rank || filter.extents.size() != rank ||
      output.extents.size() != rank)
    return badParameter;
  if (d.get<float>(names.alpha) != 1 || d.get<float>(names.beta) != 0)
    return notSupported; // of this look-alike
  const int64_t channels = filter.extents[1], filters = filter.extents[0];
  if (image.extents[1] % channels || filters % (image.extents[1] / channels) ||
      output.extents[1] != filters || output.extents[0] != image.extents[0] || !isDense(filter))
    return badParameter;
  auto dilations = w.numbers(102), strides = w.numbers(103), high = w.numbers(104),
       low = w.numbers(105);
  for (size_t i = 0; i + 2 < rank; ++i) {
    const int64_t reach = (filter.extents[i + 2] - 1) * dilations[i] + 1;
    const int64_t room = image.extents[i + 2] + low[i] + high[i] - reach;
    if (room < 0 || room / strides[i] + 1 != output.extents[i + 2])
      return badParameter;
  }
  return success;
}

int checkPointwise(const Description &d) {
  const int mode = d.description(750)->get<int>(0);
  const bool isSelection = mode == 601;
  const bool isUnary = mode == 13 || mode == 15 || mode == 100 || mode == 501;
  const bool isBinary = mode == 0 || mode == 1 || mode == 6 || mode == 9 || mode == 303;
  if ((!isUnary && !isBinary && !isSelection) || isUnary == d.has(752) || isSelection != d.has(758))
    return badParameter;
  const Tensor x = readTensor(*d.description(751)), y = readTensor(*d.description(753));
  if (x.extents != y.extents)
    return badParameter;
  if (isUnary)
    return success;
  const Tensor b = readTensor(*d.description(752));
  if (b.extents.size() != x.extents.size())
    return badParameter;
  for (size_t i = 0; i < b.extents.size(); ++i)
    if (b.extents[i] != 1 && b.extents[i] != x.extents[i])
      return badParameter;
  return success;
}

// A convolution first; then each operation reads what the one before wrote.
int checkGraph(const Description &d) {
  if (isAttention(d))
    return checkAttention(d);
  Problem p;
  return readProblem(d, p) ? success : notSupported;
}

bool readProblem(const Description &d, Problem &p) {
  const auto &operations = d.values.at(801).descriptions;
  const Description &first = *operations[0];
  if (first.kind == pointwiseOperation)
    return false;
  const Names names = namesOf(first.kind);
  p.kind = first.kind;
  p.image = readTensor(*first.description(names.image));
  p.filter = readTensor(*first.description(names.filter));
  p.output = readTensor(*first.description(names.output));
  const Description &w = *first.description(names.window);
  p.mathType = w.get<int>(100);
  p.isFlipped = w.get<int>(101) == 0;
  p.dilations = w.numbers(102), p.strides = w.numbers(103);
  p.high = w.numbers(104), p.low = w.numbers(105);
  p.last = p.kind == forwardOperation        ? p.output
           : p.kind == dataGradientOperation ? p.image
                                             : p.filter;
  std::set<int64_t> ids = {p.image.id, p.filter.id, p.output.id};
  if (ids.size() != 3)
    return false;
  for (size_t i = 1; i < operations.size(); ++i) {
    const Description &operation = *operations[i];
    if (operation.kind != pointwiseOperation ||
        !isSame(p.last, readTensor(*operation.description(751))) || !p.last.isVirtual || p.hasRelu)
      return false;
    const Description &kind = *operation.description(750);
    if (kind.get<int>(1) != 0 || (kind.get<int>(0) != 0 && kind.get<int>(0) != 100))
      return false;
    if (operation.has(752)) {
      p.bias = readTensor(*operation.description(752));
      // Along the channels.
      for (size_t k = 0; k < p.bias.extents.size(); ++k)
        if (p.bias.extents[k] != (k == 1 ? p.last.extents[1] : 1))
          return false;
      if (p.hasBias || !ids.insert(p.bias.id).second)
        return false;
      p.hasBias = true;
    } else {
      p.hasRelu = true;
      p.keepsNaN = kind.get<int>(2) == 1;
    }
    p.last = readTensor(*operation.description(753));
    if (!ids.insert(p.last.id).second)
      return false;
  }
  p.result = &p.last;
  return !p.last.isVirtual && p.mathType == 0;
}

std::vector<Engine> enginesFor(const Description &graph, int mode) {
  if (isAttention(graph))
    return attentionEngines(graph, mode);
  Problem p;
  std::vector<Engine> engines;
  if (!readProblem(graph, p) || !isForEngines(p))
    return engines;
  if (mode == modeFallback)
    return {{0, {strictNaN}, 0}};
  const bool isFused = p.hasBias || p.hasRelu, isNarrow = p.result->type != 0;
  const bool onTensorCores = isForTensorCores(p), isForward = p.kind == forwardOperation;
  if (mode == modeB) {
    // "No 3D/grouped/dilated conv" (cudnn_graph.h).
    const bool isPlain = p.groups() == 1 && p.low.size() == 2 &&
                         p.dilations == std::vector<int64_t>(p.dilations.size(), 1);
    if (isPlain && onTensorCores)
      engines.push_back({isFused ? 42 : 61, {tensorCore}, 4096});
    if (!isForward && !isFused && !isNarrow && p.groups() == 1) {
      engines.push_back({28, {}, 0});
      engines.push_back({74, {}, 0});
    }
    return engines;
  }
  auto isThree = [&](const std::vector<int64_t> &e) { return e[2] == 3 && e.back() == 3; };
  if (isForward && isThree(p.filter.extents))
    engines.push_back({90, {winograd}, 0});
  if (!isForward)
    engines.push_back({91, {nondeterministic}, 0});
  if (isNarrow)
    engines.push_back({92, {tensorCore, reducedPrecisionReduction}, 0});
  engines.push_back({93, {}, int64_t{1} << 40});
  engines.push_back({unpreparedEngine, {}, 0});
  // The rest is for mode B.
  if (onTensorCores && isSymmetric(p))
    for (int64_t index : isFused ? std::array{41, 44} : std::array{60, 62})
      engines.push_back({index, {tensorCore}, isNarrow ? 0 : 1000});
  if (!isFused && p.groups() == p.image.extents[1] && p.groups() > 1)
    engines.push_back({57, {}, 640});
  if (!isFused && !isNarrow && p.groups() == 1) {
    engines.push_back({28, {}, 0});
    if (isForward)
      engines.push_back({70, {}, int64_t{3} << 20});
  }
  return engines;
}

std::vector<Place> placesOf(const Description &graph) {
  if (isAttention(graph))
    return attentionPlaces(graph);
  Problem p;
  readProblem(graph, p);
  std::vector<Place> places;
  for (const Tensor *t : {&p.image, &p.filter, &p.output})
    if (!t->isVirtual && t->id != p.result->id)
      places.push_back({t->id, t->bytes(), t->alignment, false});
  if (p.hasBias)
    places.push_back({p.bias.id, p.bias.bytes(), p.bias.alignment, false});
  places.push_back({p.result->id, p.result->bytes(), p.result->alignment, true});
  return places;
}

std::string nameOf(const Description &graph) {
  if (isAttention(graph))
    return "attend " + attentionName(graph);
  Problem p;
  readProblem(graph, p);
  auto list = [](const std::vector<int64_t> &extents) {
    std::string text;
    for (int64_t extent : extents)
      text += (text.empty() ? "" : "x") + std::to_string(extent);
    return text;
  };
  return std::string(p.kind == forwardOperation        ? "convolve forward "
                     : p.kind == dataGradientOperation ? "convolve input gradient "
                                                       : "convolve filter gradient ") +
         list(p.image.extents) + " by " + list(p.filter.extents) + " type " +
         std::to_string(p.result->type) + " epilogue " +
         std::to_string((p.hasBias ? 4 : 0) + (p.hasRelu ? 2 : 0));
}

} // namespace fake::dnn
