// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph is executed as it stands, in float64; what the tensors between have as their type is
// rounded to. Engines take two patterns only, as the fused ones of cuDNN do.
#include "test/FakeCuda/cudnn_attention.h"
#include "runtime/base/element.h"
#include "runtime/data/half.h"
#include "test/FakeCuda/cudnn_convolution.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace fake::dnn {
namespace {

enum : int { tensorCore = 0, nondeterministic = 4 };
enum : int { modeFallback = 2 };
enum : int { float32 = 0, float16 = 2, int32 = 4, bfloat16 = 9, boolean = 11 };
// cudnnPointwiseMode_t.
enum : int {
  add = 0,
  multiply = 1,
  divide = 6,
  subtract = 9,
  exponential = 13,
  logarithm = 15,
  isGreaterOrEqual = 303,
  generateIndex = 501,
  binarySelect = 601
};

using Values = std::vector<double>;

struct Operation {
  const Description *description;
  int kind, mode;
  std::vector<Tensor> inputs;
  Tensor output;
  int64_t axis = 0;
};

Operation readOperation(const Description &d) {
  Operation o{&d, d.kind, 0, {}, {}};
  auto read = [&](int name) {
    if (d.has(name))
      o.inputs.push_back(readTensor(*d.description(name)));
  };
  auto describes = [&](int name) -> const Description & { return *d.description(name); };
  switch (d.kind) {
  case pointwiseOperation:
    o.mode = describes(750).get<int>(0);
    o.axis = describes(750).get<int64_t>(9);
    for (int name : {751, 752, 758})
      read(name);
    o.output = readTensor(describes(753));
    break;
  case matmulOperation:
    read(1520), read(1521);
    o.output = readTensor(describes(1522));
    break;
  case reductionOperation:
    o.mode = describes(1612).get<int>(1600);
    read(1610);
    o.output = readTensor(describes(1611));
    break;
  case reshapeOperation:
    read(2200);
    o.output = readTensor(describes(2201));
    break;
  }
  return o;
}

std::vector<Operation> readOperations(const Description &graph) {
  std::vector<Operation> operations;
  for (const auto &operation : graph.values.at(801).descriptions)
    operations.push_back(readOperation(*operation));
  return operations;
}

// A letter per operation: the patterns as text.
std::string patternOf(const std::vector<Operation> &operations) {
  std::string pattern;
  for (const Operation &o : operations) {
    if (o.kind == matmulOperation)
      pattern += '@';
    else if (o.kind == reshapeOperation)
      pattern += 'T';
    else if (o.kind == reductionOperation)
      pattern += o.mode == 0 ? 'S' : 'M';
    else
      pattern += o.mode == add                ? '+'
                 : o.mode == multiply         ? '*'
                 : o.mode == divide           ? '/'
                 : o.mode == subtract         ? '-'
                 : o.mode == exponential      ? 'e'
                 : o.mode == logarithm        ? 'l'
                 : o.mode == isGreaterOrEqual ? 'g'
                 : o.mode == generateIndex    ? 'i'
                 : o.mode == binarySelect     ? '?'
                                              : 'x';
  }
  return pattern;
}
constexpr char forward[] = "@*M-eSl+/@", causalForward[] = "@*iig?M-eSl+/@";
constexpr char backward[] = "*S*@*-eT@@-**T@T@", causalBackward[] = "*S*@*-iig?eT@@-**T@T@";

bool isBackward(const std::string &pattern) {
  return pattern == backward || pattern == causalBackward;
}

int64_t elements(const Tensor &t) {
  int64_t count = 1;
  for (int64_t extent : t.extents)
    count *= extent;
  return count;
}

// Where element i of the box `extents`, row-major, is in a tensor that broadcasts to it.
int64_t offsetOf(int64_t i, const std::vector<int64_t> &extents, const Tensor &t,
                 const std::vector<int64_t> &strides) {
  int64_t offset = 0;
  for (size_t d = extents.size(); d-- > 0; i /= extents[d])
    offset += t.extents[d] == 1 ? 0 : i % extents[d] * strides[d];
  return offset;
}

std::vector<int64_t> packedStrides(const std::vector<int64_t> &extents) {
  std::vector<int64_t> strides(extents.size(), 1);
  for (size_t d = extents.size() - 1; d > 0; --d)
    strides[d - 1] = strides[d] * extents[d];
  return strides;
}

mpc_rt_dtype_t dtypeOf(int type) {
  return type == float16 ? MPC_RT_FLOAT16 : type == bfloat16 ? MPC_RT_BFLOAT16 : MPC_RT_FLOAT32;
}

double rounded(int type, double value) {
  if (type == int32 || type == boolean)
    return value;
  return mpc::rt::roundElement(
      dtypeOf(type), type == float32 ? value : static_cast<double>(mpc::data::toFloatOdd(value)));
}

// Runs the operations; tensors between are dense in memory of its own.
class Interpreter {
public:
  explicit Interpreter(const std::map<int64_t, void *> &addresses) : addresses(addresses) {}

  void run(const Operation &o) {
    std::vector<Values> in;
    for (const Tensor &t : o.inputs)
      in.push_back(load(t));
    Values out(static_cast<size_t>(elements(o.output)), 0.0);
    if (o.kind == matmulOperation)
      matmul(o, in[0], in[1], out);
    else if (o.kind == reshapeOperation)
      reshape(o, in[0], out);
    else if (o.kind == reductionOperation)
      reduce(o, in[0], out);
    else
      pointwise(o, in, out);
    store(o.output, std::move(out));
  }

private:
  static double apply(const Operation &o, const std::vector<Values> &in, size_t i, double b,
                      double p) {
    const double x = in[0][i];
    switch (o.mode) {
    case add:
      return x + b;
    case multiply:
      return x * b;
    case divide:
      return x / b;
    case subtract:
      return x - b;
    case exponential:
      return std::exp(x);
    case logarithm:
      return std::log(x);
    case isGreaterOrEqual:
      return x >= b;
    default:
      return p != 0 ? x : b;
    }
  }
  void pointwise(const Operation &o, const std::vector<Values> &in, Values &out) {
    const std::vector<int64_t> &extents = o.output.extents;
    for (size_t i = 0; i < out.size(); ++i) {
      auto at = [&](size_t operand) {
        return operand < in.size() ? in[operand][static_cast<size_t>(offsetOf(
                                         static_cast<int64_t>(i), extents, o.inputs[operand],
                                         packedStrides(o.inputs[operand].extents)))]
                                   : 0.0;
      };
      if (o.mode == generateIndex) {
        auto rest = static_cast<int64_t>(i);
        for (size_t d = extents.size() - 1; d > static_cast<size_t>(o.axis); --d)
          rest /= extents[d];
        out[i] = static_cast<double>(rest % extents[static_cast<size_t>(o.axis)]);
        continue;
      }
      out[i] = apply(o, in, i, at(1), at(2));
    }
  }
  static void matmul(const Operation &o, const Values &a, const Values &b, Values &c) {
    const std::vector<int64_t> &e = o.output.extents;
    const int64_t pairs = e[0] * e[1], m = e[2], n = e[3], k = o.inputs[0].extents[3];
    for (int64_t p = 0; p < pairs; ++p)
      for (int64_t i = 0; i < m; ++i)
        for (int64_t l = 0; l < k; ++l)
          for (int64_t j = 0; j < n; ++j)
            c[static_cast<size_t>((p * m + i) * n + j)] +=
                a[static_cast<size_t>((p * m + i) * k + l)] *
                b[static_cast<size_t>((p * k + l) * n + j)];
  }
  static void reshape(const Operation &o, const Values &x, Values &y) {
    // The last two dimensions change places.
    const std::vector<int64_t> &e = o.output.extents;
    for (size_t i = 0; i < y.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      const int64_t column = at % e[3], row = at / e[3] % e[2], pair = at / e[3] / e[2];
      y[i] = x[static_cast<size_t>((pair * e[3] + column) * e[2] + row)];
    }
  }
  static void reduce(const Operation &o, const Values &x, Values &y) {
    const int64_t width = o.inputs[0].extents[3];
    for (size_t i = 0; i < y.size(); ++i) {
      y[i] = o.mode == 0 ? 0 : -std::numeric_limits<double>::infinity();
      for (int64_t j = 0; j < width; ++j) {
        const double value = x[i * static_cast<size_t>(width) + static_cast<size_t>(j)];
        y[i] = o.mode == 0 ? y[i] + value : value > y[i] || std::isnan(value) ? value : y[i];
      }
    }
  }
  Values load(const Tensor &t) {
    auto found = between.find(t.id);
    if (found != between.end())
      return found->second;
    Values values(static_cast<size_t>(elements(t)));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = mpc::rt::loadElement(dtypeOf(t.type), addresses.at(t.id),
                                       offsetOf(static_cast<int64_t>(i), t.extents, t, t.strides));
    return values;
  }
  void store(const Tensor &t, Values values) {
    for (double &value : values)
      value = rounded(t.type, value);
    if (!t.isVirtual)
      for (size_t i = 0; i < values.size(); ++i)
        mpc::rt::storeElement(dtypeOf(t.type), addresses.at(t.id),
                              offsetOf(static_cast<int64_t>(i), t.extents, t, t.strides),
                              values[i]);
    between[t.id] = std::move(values);
  }

  const std::map<int64_t, void *> &addresses;
  std::map<int64_t, Values> between;
};

// Query, key, value, width of values; of the products.
struct Shape {
  std::vector<int64_t> query, scores;
  int64_t valueWidth = 0;
  int type = 0;
};
Shape shapeOf(const std::vector<Operation> &operations) {
  Shape shape;
  bool isFirst = true;
  for (const Operation &o : operations) {
    if (o.kind != matmulOperation)
      continue;
    if (isFirst) {
      shape.query = o.inputs[0].extents;
      shape.scores = o.output.extents;
      shape.type = o.inputs[0].type;
    } else if (shape.valueWidth == 0) {
      shape.valueWidth = o.output.extents[3]; // weights by values, or by the cotangent
    }
    isFirst = false;
  }
  return shape;
}

} // namespace

int checkMatmul(const Description &d) {
  const Tensor a = readTensor(*d.description(1520)), b = readTensor(*d.description(1521)),
               c = readTensor(*d.description(1522));
  const size_t rank = a.extents.size();
  if (rank < 3 || b.extents.size() != rank || c.extents.size() != rank)
    return badParameter;
  for (size_t i = 0; i + 2 < rank; ++i)
    if (a.extents[i] != c.extents[i] || b.extents[i] != c.extents[i])
      return badParameter;
  return a.extents[rank - 1] == b.extents[rank - 2] && a.extents[rank - 2] == c.extents[rank - 2] &&
                 b.extents[rank - 1] == c.extents[rank - 1]
             ? success
             : badParameter;
}

int checkReduction(const Description &d) {
  const Tensor x = readTensor(*d.description(1610)), y = readTensor(*d.description(1611));
  if (x.extents.size() != y.extents.size())
    return badParameter;
  for (size_t i = 0; i < x.extents.size(); ++i)
    if (y.extents[i] != 1 && y.extents[i] != x.extents[i])
      return badParameter;
  return success;
}

int checkReshape(const Description &d) {
  return elements(readTensor(*d.description(2200))) == elements(readTensor(*d.description(2201)))
             ? success
             : badParameter;
}

bool isAttention(const Description &graph) {
  const int kind = graph.values.at(801).descriptions[0]->kind;
  return kind == matmulOperation || kind == pointwiseOperation;
}

// Each operation reads what has memory or was computed before.
int checkAttention(const Description &graph) {
  std::set<int64_t> written;
  for (const Operation &o : readOperations(graph)) {
    for (const Tensor &t : o.inputs)
      if (t.isVirtual && !written.count(t.id))
        return notSupported;
    if (!written.insert(o.output.id).second)
      return notSupported;
  }
  return success;
}

std::vector<Engine> attentionEngines(const Description &graph, int mode) {
  const std::vector<Operation> operations = readOperations(graph);
  const std::string pattern = patternOf(operations);
  const bool isDerivative = isBackward(pattern);
  if (mode == modeFallback || (pattern != forward && pattern != causalForward && !isDerivative))
    return {};
  const Shape shape = shapeOf(operations);
  const int64_t width = shape.query[3], most = isDerivative ? 128 : 256;
  if ((shape.type != float16 && shape.type != bfloat16) || width % 8 || shape.valueWidth % 8 ||
      width > most || shape.valueWidth > most)
    return {};
  for (const Place &place : attentionPlaces(graph))
    if (place.alignment % 16)
      return {};
  if (!isDerivative)
    return {{unpreparedEngine, {tensorCore}, 0}, {2, {tensorCore}, 256}};
  // A matrix like the scores, in whole tiles.
  auto tiles = [](int64_t extent) { return (extent + 63) / 64 * 64; };
  const int64_t bytes =
      shape.scores[0] * shape.scores[1] * tiles(shape.scores[2]) * tiles(shape.scores[3]) * 2;
  return {{91, {tensorCore, nondeterministic}, 0}, {6, {tensorCore}, bytes + 256}};
}

std::vector<Place> attentionPlaces(const Description &graph) {
  std::vector<Place> places;
  std::set<int64_t> seen;
  for (const Operation &o : readOperations(graph)) {
    for (const Tensor &t : o.inputs)
      if (!t.isVirtual && seen.insert(t.id).second)
        places.push_back({t.id, t.bytes(), t.alignment, false, t.isByValue});
    if (!o.output.isVirtual && seen.insert(o.output.id).second)
      places.push_back({o.output.id, o.output.bytes(), o.output.alignment, true, false});
  }
  return places;
}

std::string attentionName(const Description &graph) {
  const std::vector<Operation> operations = readOperations(graph);
  const Shape shape = shapeOf(operations);
  std::string text = isBackward(patternOf(operations)) ? "gradient " : "";
  for (int64_t extent : shape.scores)
    text += std::to_string(extent) + "x";
  return text + std::to_string(shape.query[3]) + "x" + std::to_string(shape.valueWidth) + " type " +
         std::to_string(shape.type);
}

void computeAttention(const Description &graph, const std::map<int64_t, void *> &addresses) {
  Interpreter interpreter(addresses);
  for (const Operation &o : readOperations(graph))
    interpreter.run(o);
}

} // namespace fake::dnn
