// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker's derivations of rows. A result has its element's interval and its line, whichever
// says more.
#include "tools/mpc-check-certificate/RowSteps.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::check;

namespace {

/// The analysis follows no wider rows, nor products of more lines.
constexpr size_t kWidest = 1024, kDearest = size_t(1) << 24;

const Real kTiny = std::ldexp(Real(1), -126);

/// 0: of the last dimension no account is kept.
size_t extentAlong(Value value) {
  auto type = tensorTypeOf(value);
  auto number = dyn_cast<FloatType>(type.getElementType());
  if (!number || number.getWidth() < 16 || number.getWidth() > 32 || type.getRank() == 0)
    return 0;
  const int64_t extent = type.getShape().back();
  return ShapedType::isDynamic(extent) || extent > int64_t(kWidest) ? 0 : size_t(extent);
}

Real middleOf(const Interval &interval) { return (interval.low + interval.high) / 2; }
Real reachOf(const Interval &interval) {
  const Real middle = middleOf(interval);
  return std::max(interval.high - middle, middle - interval.low);
}

/// The part of both; the first where they have none.
Interval common(const Interval &a, const Interval &b) {
  const Interval both{std::max(a.low, b.low), std::min(a.high, b.high)};
  return both.low <= both.high ? both : a;
}

Interval within(const Interval &known, const Line &line) {
  const Real reach = line.reach() + line.off;
  return common(known, {line.middle - reach, line.middle + reach});
}

/// A cast from a narrow type to a wide one changes nothing; sums and products are stored.
bool isStored(Operation &op) {
  if (isa<AddOp, SubtractOp, MultiplyOp>(op))
    return true;
  return isa<CastOp>(op) && (elementTypeOf(op.getOperand(0)).getIntOrFloatBitWidth() >= 32 ||
                             elementTypeOf(op.getResult(0)).getIntOrFloatBitWidth() < 32);
}

/// Stores a number of this interval: both may be off by it.
void store(Type type, Interval &interval, Line *line, Real tiny) {
  const Real off = roundingOf(type, interval.size()) + tiny;
  interval.low -= off;
  interval.high += off;
  if (line)
    line->off += off;
}

/// A relu takes a line, whose number is in the interval, to between a line of less slope and a
/// parallel of that.
void rectify(const Interval &interval, Line &line) {
  if (interval.low < 0 && interval.high <= 0) {
    line = Line();
  } else if (interval.low < 0) {
    const Real part = interval.high / (interval.high - interval.low);
    const Real slope = std::floor(part * 16 + Real(0.4142L)) / 16;
    const Real height = std::max((1 - slope) * interval.high, -slope * interval.low);
    line.multiply(slope);
    line.middle += height / 2;
    line.off += height / 2;
  }
  line.allow();
}

bool isElementByElement(Operation &op) {
  auto isFloat = [](Value value) { return isa<FloatType>(elementTypeOf(value)); };
  return op.getNumResults() == 1 && isa<ElementwiseOpInterface, CastOp>(op) &&
         llvm::all_of(op.getOperands(), isFloat);
}

} // namespace

Real Line::reach() const {
  Real sum = 0;
  for (const auto &[index, part] : parts)
    sum += std::fabs(part);
  return sum;
}

void Line::multiply(Real factor) {
  for (auto &[index, part] : parts)
    part *= factor;
  middle *= factor;
  off *= std::fabs(factor);
}

Interval Rows::element(Value value, size_t index) const {
  auto found = rows.find(value.getAsOpaquePointer());
  if (found != rows.end() && found->second.elements.size() > index)
    return found->second.elements[index];
  if (found != rows.end() && found->second.elements.size() == 1)
    return found->second.elements.front();
  const Fact &fact = facts.find(value)->second;
  return {fact.low, fact.high};
}

std::shared_ptr<const Lines> Rows::linesOf(Value value) const {
  auto found = rows.find(value.getAsOpaquePointer());
  return found == rows.end() ? nullptr : found->second.lines;
}

std::shared_ptr<Lines> Rows::originLines(Value value) const {
  auto lines = std::make_shared<Lines>();
  lines->origin = value;
  lines->isOrigin = true;
  for (size_t i = 0, extent = extentAlong(value); i < extent; ++i) {
    const Interval interval = element(value, i);
    Line line{{{unsigned(i), reachOf(interval)}}, middleOf(interval), 0};
    line.allow();
    lines->of.push_back(line);
  }
  return lines;
}

/// The lines of a factor; where it has none, those of what it was cast from.
std::shared_ptr<const Lines> Rows::linesBehind(Value value) const {
  if (std::shared_ptr<const Lines> lines = linesOf(value))
    return lines;
  auto cast = value.getDefiningOp<CastOp>();
  if (!cast || extentAlong(cast.getInput()) == 0 || !facts.count(cast.getInput()))
    return originLines(value);
  auto lines = std::make_shared<Lines>(*linesBehind(cast.getInput()));
  if (isStored(*cast))
    for (size_t i = 0; i < lines->of.size(); ++i)
      lines->of[i].off += roundingOf(elementTypeOf(value), element(value, i).size()) + kTiny;
  return lines;
}

bool Rows::multiply(ContractOp op, const ReferenceTensor &weights, Row &row) const {
  const Value x = op.getLhs();
  const size_t terms = extentAlong(x), width = extentAlong(op.getResult());
  const bool isMatrix = tensorTypeOf(op.getRhs()).getRank() == 2 && op.getLhsBatch().empty() &&
                        op.getRhsContracting() == ArrayRef<int64_t>{0} &&
                        op.getLhsContracting() == ArrayRef<int64_t>{tensorTypeOf(x).getRank() - 1};
  if (!isMatrix || terms == 0 || width == 0 || !facts.count(x) ||
      (op.getBias() && !facts.count(op.getBias())))
    return false;
  std::shared_ptr<const Lines> from = linesBehind(x);
  auto originExtent = [&] { return extentAlong(from->origin); };
  if (!from->isOrigin && terms * width * originExtent() > kDearest)
    from = originLines(x);
  const Type type = elementTypeOf(op.getResult());
  const Real own = Real(terms + 4) * std::ldexp(Real(1), -60);
  auto lines = std::make_shared<Lines>();
  lines->origin = from->origin;
  for (size_t column = 0; column < width; ++column) {
    std::vector<Real> parts(originExtent(), 0);
    Interval sum;
    Line line;
    Real size = 0, sizeOfLines = 0;
    for (size_t term = 0; term < terms; ++term) {
      const Real w = weights.at(int64_t(term * width + column));
      const Interval factor = element(x, term);
      const Line &other = from->of[term];
      sum.low += std::min(w * factor.low, w * factor.high);
      sum.high += std::max(w * factor.low, w * factor.high);
      size += std::fabs(w) * factor.size();
      sizeOfLines += std::fabs(w) * (std::fabs(other.middle) + other.reach() + other.off);
      line.middle += w * other.middle;
      line.off += std::fabs(w) * other.off;
      for (const auto &[index, part] : other.parts)
        parts[index] += w * part;
    }
    const Real off = size * (slackOfSums(type, Real(terms)) + own) + (Real(terms) + size) * kTiny;
    sum.low -= off;
    sum.high += off;
    line.off += off + sizeOfLines * own;
    for (size_t i = 0; i < parts.size(); ++i)
      line.parts.emplace_back(unsigned(i), parts[i]);
    line.allow();
    sum = within(sum, line);
    store(type, sum, &line, kTiny);
    if (op.getBias()) {
      const Interval bias = element(op.getBias(), column);
      sum.low += bias.low;
      sum.high += bias.high;
      line.middle += middleOf(bias);
      line.off += reachOf(bias);
      line.allow();
      store(type, sum, &line, kTiny);
    }
    if (op.getActivation() == Activation::Relu) {
      rectify(sum, line);
      sum = {std::max(sum.low, Real(0)), std::max(sum.high, Real(0))};
    }
    row.elements.push_back(sum);
    lines->of.push_back(std::move(line));
  }
  row.lines = std::move(lines);
  return true;
}

/// The lines of a sum, a difference, a product, or a function that keeps them, before it is stored.
std::shared_ptr<Lines> Rows::express(Operation &op, size_t width) const {
  auto atPlace = [&](unsigned operand) -> std::shared_ptr<const Lines> {
    const Value value = op.getOperand(operand);
    if (tensorTypeOf(value).getShape() != tensorTypeOf(op.getResult(0)).getShape())
      return nullptr;
    return linesOf(value);
  };
  std::shared_ptr<const Lines> left = atPlace(0);
  if (isa<NegateOp, CastOp, ReluOp>(op)) {
    if (!left)
      return nullptr;
    auto lines = std::make_shared<Lines>(*left);
    lines->isOrigin = false;
    for (size_t i = 0; i < width; ++i)
      if (isa<ReluOp>(op))
        rectify(element(op.getOperand(0), i), lines->of[i]);
      else if (isa<NegateOp>(op))
        lines->of[i].multiply(-1);
    return lines;
  }
  if (!isa<AddOp, SubtractOp, MultiplyOp>(op) || op.getOperand(0) == op.getOperand(1))
    return nullptr;
  std::shared_ptr<const Lines> right = atPlace(1);
  const bool isProduct = isa<MultiplyOp>(op);
  const Real sign = isa<SubtractOp>(op) ? -1 : 1;
  if (!isProduct && left && left->origin == op.getOperand(1))
    right = originLines(left->origin);
  else if (!isProduct && right && right->origin == op.getOperand(0))
    left = originLines(right->origin);
  if (!left && !right)
    return nullptr;
  auto lines = std::make_shared<Lines>(left ? *left : *right);
  lines->isOrigin = false;
  const bool areBoth = !isProduct && left && right && left->origin == right->origin;
  for (size_t i = 0; i < width; ++i) {
    Line &line = lines->of[i];
    if (areBoth) {
      std::vector<Real> parts(extentAlong(lines->origin), 0);
      for (const auto &[index, part] : left->of[i].parts)
        parts[index] += part;
      for (const auto &[index, part] : right->of[i].parts)
        parts[index] += sign * part;
      line.parts.clear();
      for (size_t p = 0; p < parts.size(); ++p)
        line.parts.emplace_back(unsigned(p), parts[p]);
      line.middle += sign * right->of[i].middle;
      line.off += right->of[i].off;
      continue;
    }
    const Interval known = element(op.getOperand(left ? 0 : 1), i),
                   other = element(op.getOperand(left ? 1 : 0), i);
    if (isProduct) {
      line.multiply(middleOf(other));
      line.off += reachOf(other) * known.size();
    } else if (left) {
      line.middle += sign * middleOf(other);
      line.off += reachOf(other);
    } else {
      line.multiply(sign);
      line.middle += middleOf(other);
      line.off += reachOf(other);
    }
  }
  return lines;
}

bool Rows::compute(Operation &op, FactOf factOf, const Fact &whole, Row &row) const {
  if (!isElementByElement(op))
    return false;
  const size_t width = extentAlong(op.getResult(0));
  bool isAny = false;
  for (Value operand : op.getOperands()) {
    const size_t extent = extentAlong(operand);
    const bool fits = tensorTypeOf(operand).getRank() == 0 || extent == 1 || extent == width;
    if (width == 0 || !fits || !facts.count(operand))
      return false;
    isAny |= rows.count(operand.getAsOpaquePointer()) != 0;
  }
  if (!isAny)
    return false;
  const Type type = elementTypeOf(op.getResult(0));
  Real largest = 0;
  for (size_t i = 0; i < width; ++i) {
    SmallVector<Fact> operands;
    for (Value operand : op.getOperands()) {
      const Interval interval = element(operand, i);
      operands.push_back(between(interval.low, interval.high, factOf(operand).error));
      largest = std::max(largest, interval.size());
    }
    Fact fact;
    derive(&op, /*training=*/false, operands, fact);
    if (!fact.isBounded())
      fact = whole;
    row.elements.push_back({fact.low, fact.high});
  }
  std::shared_ptr<Lines> lines = express(op, width);
  if (!lines)
    return true;
  // Kernels may take subnormal factors for 0.
  const Real tiny = (isa<MultiplyOp>(op) ? 1 + 2 * largest : Real(1)) * kTiny;
  for (size_t i = 0; i < width; ++i) {
    if (!isa<ReluOp>(op))
      lines->of[i].allow();
    if (isStored(op))
      lines->of[i].off += roundingOf(type, row.elements[i].size()) + tiny;
    row.elements[i] = within(row.elements[i], lines->of[i]);
  }
  row.lines = std::move(lines);
  return true;
}

void Rows::narrow(Operation &op, FactOf factOf, Fact &result) {
  next.reset();
  if (!result.isBounded())
    return;
  Row row;
  if (auto product = dyn_cast<ContractOp>(op)) {
    const Fact weights = factOf(product.getRhs());
    if (!weights.elements || !multiply(product, *weights.elements, row))
      return;
  } else if (!compute(op, factOf, result, row)) {
    return;
  }
  Interval all = row.elements.front();
  for (const Interval &each : row.elements)
    all = {std::min(all.low, each.low), std::max(all.high, each.high)};
  const Fact fact = stored(between(all.low, all.high), elementTypeOf(op.getResult(0)));
  const Interval narrowed = common({result.low, result.high}, {fact.low, fact.high});
  result.low = narrowed.low;
  result.high = narrowed.high;
  next = std::move(row);
}

void Rows::settle(Value value, const Fact &fact) {
  std::optional<Row> row = std::move(next);
  next.reset();
  if (!fact.isBounded() || !isa<FloatType>(elementTypeOf(value)))
    return;
  facts[value] = fact;
  facts[value].elements = nullptr;
  const size_t extent = extentAlong(value);
  if (!row && extent != 0 && fact.elements && tensorTypeOf(value).getRank() == 1) {
    row.emplace();
    for (size_t i = 0; i < extent; ++i) {
      const Real number = fact.elements->at(int64_t(i));
      row->elements.push_back({number, number});
    }
  }
  if (!row)
    return;
  for (Interval &each : row->elements) {
    const Interval known{fact.low, fact.high};
    each = common(known, each);
  }
  rows[value.getAsOpaquePointer()] = std::move(*row);
}
