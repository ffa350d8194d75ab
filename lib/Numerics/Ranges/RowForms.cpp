// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Numerics/Ranges/RowForms.h"
#include "lib/Numerics/Ranges/Pieces.h"
#include "lib/Numerics/Ranges/RangeModels.h"

using namespace mlir;
using namespace mpc;

/// Elements of a row, and products that make the form of a product: beyond, a form starts anew.
static constexpr int64_t kMostWidth = 1024, kMostProducts = int64_t(1) << 24;
/// A part of what roundings add, so that the checker, which adds as much, lies inside.
static constexpr long double kMore = 1 + 0x1p-31L;

/// Elements along the last dimension; 0: no row that is followed.
static size_t widthOf(Value value) {
  auto type = tensorTypeOf(value);
  auto element = dyn_cast<FloatType>(type.getElementType());
  const bool isFollowed = element && element.getWidth() >= 16 && element.getWidth() <= 32 &&
                          type.getRank() > 0 && !type.isDynamicDim(type.getRank() - 1) &&
                          type.getShape().back() <= kMostWidth;
  return isFollowed ? size_t(type.getShape().back()) : 0;
}

static long double halfUnitOf(Type type, long double magnitude) {
  return halfUnit(type, static_cast<double>(magnitude)) * (1 + 0x1p-10L);
}

/// The largest double that is no larger.
static double down(long double number) {
  const auto near = static_cast<double>(number);
  return near > number ? std::nextafter(near, -kUnbounded) : near;
}

RowForms::Real RowForms::Form::spread(size_t element) const {
  if (isDiagonal())
    return std::abs(factors[element]);
  Real sum = 0;
  for (size_t i = 0; i < sourceWidth; ++i)
    sum += std::abs(factors[element * sourceWidth + i]);
  return sum;
}

void RowForms::Form::scale(size_t element, Real factor) {
  const size_t count = isDiagonal() ? 1 : sourceWidth;
  for (size_t i = 0; i < count; ++i)
    factors[element * count + i] *= factor;
  center[element] *= factor;
  rest[element] *= std::abs(factor);
}

void RowForms::Form::addOwnRoundings() {
  for (size_t k = 0; k < center.size(); ++k)
    rest[k] += (std::abs(center[k]) + spread(k)) * 0x1p-60L * kMore;
}

std::vector<RowForms::Range> RowForms::rangesOf(Value value, size_t width) const {
  auto found = rows.find(value);
  if (found != rows.end() && found->second.ranges.size() == width)
    return found->second.ranges;
  if (found != rows.end() && found->second.ranges.size() == 1)
    return std::vector<Range>(width, found->second.ranges.front());
  const Bound &bound = bounds.find(value)->second;
  return std::vector<Range>(width, Range{bound.low, bound.high});
}

std::shared_ptr<const RowForms::Form> RowForms::formOf(Value value) const {
  auto found = rows.find(value);
  return found == rows.end() ? nullptr : found->second.form;
}

std::shared_ptr<RowForms::Form> RowForms::ownForm(Value value) const {
  auto form = std::make_shared<Form>();
  form->source = value;
  form->sourceWidth = widthOf(value);
  for (const Range &range : rangesOf(value, form->sourceWidth)) {
    form->factors.push_back(range.reach());
    form->center.push_back(range.middle());
    form->rest.push_back(0);
  }
  form->addOwnRoundings();
  return form;
}

std::shared_ptr<const RowForms::Form> RowForms::formOfFactor(Value value) const {
  if (std::shared_ptr<const Form> form = formOf(value))
    return form;
  auto cast = value.getDefiningOp<CastOp>();
  if (!cast || !widthOf(cast.getInput()) || !bounds.count(cast.getInput()))
    return ownForm(value);
  auto form = std::make_shared<Form>(*formOfFactor(cast.getInput()));
  if (roundsForm(cast))
    for (auto [rest, range] : llvm::zip_equal(form->rest, rangesOf(value, form->rest.size())))
      rest += (halfUnitOf(elementTypeOf(value), range.magnitude()) + 0x1p-126L) * kMore;
  return form;
}

void RowForms::narrowByForm(Row &row, const Form &form) {
  for (size_t k = 0; k < row.ranges.size(); ++k) {
    Range &range = row.ranges[k];
    const Real reach = form.spread(k) + form.rest[k];
    const Real low = std::max(range.low, form.center[k] - reach),
               high = std::min(range.high, form.center[k] + reach);
    if (low <= high)
      range = {low, high};
  }
}

/// `tiny`: what kernels that take subnormal numbers for 0 may leave out.
void RowForms::round(Type type, Row &row, Form *form, Real tiny) {
  for (size_t k = 0; k < row.ranges.size(); ++k) {
    Range &range = row.ranges[k];
    const Real off = (halfUnitOf(type, range.magnitude()) + tiny) * kMore;
    range = {range.low - off, range.high + off};
    if (form)
      form->rest[k] += off;
  }
}

/// relu(x) lies between a line through 0 and another one above it, where x may be of both signs.
/// The slope is one of a few, which the checker finds, too.
void RowForms::keepPositive(Row &row, Form *form) {
  for (size_t k = 0; k < row.ranges.size(); ++k) {
    const Range range = row.ranges[k];
    row.ranges[k] = {std::max<Real>(range.low, 0), std::max<Real>(range.high, 0)};
    if (!form || range.low >= 0)
      continue;
    if (range.high <= 0) {
      form->scale(k, 0);
      form->rest[k] = 0;
      continue;
    }
    const Real slope = std::floor(16 * range.high / (range.high - range.low) + 0.4142L) / 16;
    const Real above = std::max(-slope * range.low, (1 - slope) * range.high);
    form->scale(k, slope);
    form->center[k] += above / 2;
    form->rest[k] += above / 2;
  }
  if (form)
    form->addOwnRoundings();
}

/// Each sum with the weight's own elements, of the row's intervals and of its form.
std::optional<RowForms::Row> RowForms::contract(ContractOp op, const Bound &weights) {
  const Value lhs = op.getLhs();
  const size_t terms = widthOf(lhs), width = widthOf(op.getResult());
  const int64_t last = tensorTypeOf(lhs).getRank() - 1;
  auto isOnly = [](ArrayRef<int64_t> axes, int64_t axis) {
    return axes.size() == 1 && axes.front() == axis;
  };
  const bool isProduct = weights.constant && tensorTypeOf(op.getRhs()).getRank() == 2 &&
                         op.getLhsBatch().empty() && isOnly(op.getLhsContracting(), last) &&
                         isOnly(op.getRhsContracting(), 0);
  if (!isProduct || !terms || !width || (op.getBias() && !bounds.count(op.getBias())))
    return std::nullopt;
  const std::vector<Range> factors = rangesOf(lhs, terms);
  std::shared_ptr<const Form> input = formOfFactor(lhs);
  if (!input->isDiagonal() && int64_t(terms * width * input->sourceWidth) > kMostProducts)
    input = ownForm(lhs);
  auto form = std::make_shared<Form>();
  form->source = input->source;
  form->sourceWidth = input->sourceWidth;
  form->factors.resize(width * input->sourceWidth);
  form->center.resize(width);
  form->rest.resize(width);
  const Type type = elementTypeOf(op.getResult());
  const Real slack = sumSlack(type, double(terms)) + Real(terms + 4) * 0x1p-60L;
  Row row;
  for (size_t k = 0; k < width; ++k) {
    Real low = 0, high = 0, magnitude = 0, ofForm = 0;
    Real *sums = &form->factors[k * input->sourceWidth];
    for (size_t j = 0; j < terms; ++j) {
      const Real weight = weights.constant->at(int64_t(j * width + k));
      low += weight * (weight > 0 ? factors[j].low : factors[j].high);
      high += weight * (weight > 0 ? factors[j].high : factors[j].low);
      magnitude += std::abs(weight) * factors[j].magnitude();
      form->center[k] += weight * input->center[j];
      form->rest[k] += std::abs(weight) * input->rest[j];
      ofForm += std::abs(weight) * (std::abs(input->center[j]) + input->spread(j) + input->rest[j]);
      if (input->isDiagonal()) {
        sums[j] += weight * input->factors[j];
        continue;
      }
      const Real *others = &input->factors[j * input->sourceWidth];
      for (size_t i = 0; i < input->sourceWidth; ++i)
        sums[i] += weight * others[i];
    }
    // Some kernels take subnormal factors for 0.
    const Real off = (magnitude * slack + (Real(terms) + magnitude) * 0x1p-126L) * kMore;
    row.ranges.push_back({low - off, high + off});
    form->rest[k] += off + ofForm * Real(terms + 4) * 0x1p-60L * kMore;
  }
  form->addOwnRoundings();
  narrowByForm(row, *form);
  round(type, row, form.get(), 0x1p-126L);
  if (op.getBias()) {
    for (auto [k, bias] : llvm::enumerate(rangesOf(op.getBias(), width))) {
      row.ranges[k] = {row.ranges[k].low + bias.low, row.ranges[k].high + bias.high};
      form->center[k] += bias.middle();
      form->rest[k] += bias.reach();
    }
    form->addOwnRoundings();
    round(type, row, form.get(), 0x1p-126L);
  }
  if (op.getActivation() == Activation::Relu)
    keepPositive(row, form.get());
  row.form = form;
  return row;
}

/// a + sign b, of forms with one source.
std::shared_ptr<RowForms::Form> RowForms::add(const Form &a, const Form &b, Real sign) const {
  auto sum = std::make_shared<Form>(a);
  if (a.isDiagonal() && !b.isDiagonal()) {
    sum->factors.assign(a.center.size() * a.sourceWidth, 0);
    for (size_t k = 0; k < a.center.size(); ++k)
      sum->factors[k * a.sourceWidth + k] = a.factors[k];
  }
  for (size_t k = 0; k < a.center.size(); ++k) {
    if (b.isDiagonal())
      sum->factors[sum->isDiagonal() ? k : k * a.sourceWidth + k] += sign * b.factors[k];
    else
      for (size_t i = k * a.sourceWidth; i < (k + 1) * a.sourceWidth; ++i)
        sum->factors[i] += sign * b.factors[i];
    sum->center[k] += sign * b.center[k];
    sum->rest[k] += b.rest[k];
  }
  return sum;
}

/// The form of what the op computes, before it is rounded.
std::shared_ptr<RowForms::Form> RowForms::combine(Operation &op, const Row &computed) {
  const size_t width = computed.ranges.size();
  auto usable = [&](unsigned operand) -> std::shared_ptr<const Form> {
    const Value value = op.getOperand(operand);
    const bool hasPlaces =
        tensorTypeOf(value).getShape() == tensorTypeOf(op.getResult(0)).getShape();
    return hasPlaces ? formOf(value) : nullptr;
  };
  std::shared_ptr<const Form> first = usable(0);
  const FormKind kind = formKindOf(&op);
  if (kind == FormKind::Negated || kind == FormKind::Same || isa<ReluOp>(op)) {
    auto form = first ? std::make_shared<Form>(*first) : nullptr;
    if (form && kind == FormKind::Negated)
      for (size_t k = 0; k < width; ++k)
        form->scale(k, -1);
    return form;
  }
  if (!isOfTwo(kind) || op.getOperand(0) == op.getOperand(1))
    return nullptr;
  std::shared_ptr<const Form> second = usable(1);
  const Real sign = kind == FormKind::Difference ? -1 : 1;
  if (kind != FormKind::Product) {
    // The source of a form has one itself.
    if (first && op.getOperand(1) == first->source)
      second = ownForm(first->source);
    else if (second && op.getOperand(0) == second->source)
      first = ownForm(second->source);
    if (first && second && first->source == second->source)
      return add(*first, *second, sign);
  }
  const std::shared_ptr<const Form> &own = first ? first : second;
  if (!own)
    return nullptr;
  auto form = std::make_shared<Form>(*own);
  const std::vector<Range> others = rangesOf(op.getOperand(first ? 1 : 0), width),
                           owns = rangesOf(op.getOperand(first ? 0 : 1), width);
  for (size_t k = 0; k < width; ++k) {
    if (kind == FormKind::Product) {
      form->scale(k, others[k].middle());
      form->rest[k] += others[k].reach() * owns[k].magnitude();
      continue;
    }
    if (!first)
      form->scale(k, sign);
    form->center[k] += others[k].middle() * (first ? sign : 1);
    form->rest[k] += others[k].reach();
  }
  return form;
}

/// Elements one by one, as the op computes them, then by their forms.
std::optional<RowForms::Row> RowForms::compute(Operation &op, BoundOf boundOf, const Bound &whole) {
  const size_t width = widthOf(op.getResult(0));
  const Type type = elementTypeOf(op.getResult(0));
  auto ranged = dyn_cast<RangeOpInterface>(op);
  if (!width || !ranged || !computesByElement(&op))
    return std::nullopt;
  bool hasRow = false;
  SmallVector<std::vector<Range>> operands;
  for (Value operand : op.getOperands()) {
    const size_t own = widthOf(operand);
    const bool isScalar = tensorTypeOf(operand).getRank() == 0;
    if (!bounds.count(operand) || !(isScalar || own == width || own == 1))
      return std::nullopt;
    hasRow |= rows.count(operand) != 0;
    operands.push_back(rangesOf(operand, width));
  }
  if (!hasRow)
    return std::nullopt;
  Row row;
  Real factors = 0;
  for (size_t k = 0; k < width; ++k) {
    SmallVector<Bound> each;
    for (auto [operand, ranges] : llvm::zip_equal(op.getOperands(), operands)) {
      each.push_back(
          Bound::of(down(ranges[k].low), -down(-ranges[k].high), boundOf(operand).error));
      factors = std::max(factors, formKindOf(&op) == FormKind::Product ? ranges[k].magnitude() : 0);
    }
    SmallVector<Bound> derived{Bound::anyOf(type)};
    RangeArguments arguments(&op, analysis, each, derived);
    ranged.deriveRanges(arguments);
    const Bound &element = derived.front().isFinite() ? derived.front() : whole;
    row.ranges.push_back({element.low, element.high});
  }
  std::shared_ptr<Form> form = combine(op, row);
  if (!form)
    return row;
  if (isa<ReluOp>(op)) {
    Row input{rangesOf(op.getOperand(0), width), nullptr};
    keepPositive(input, form.get());
  } else {
    form->addOwnRoundings();
  }
  if (roundsForm(&op)) {
    Row rounding = row;
    round(type, rounding, form.get(), (1 + 2 * factors) * 0x1p-126L);
  }
  narrowByForm(row, *form);
  row.form = std::move(form);
  return row;
}

void RowForms::narrow(Operation &op, BoundOf boundOf, Bound &result) {
  pending.reset();
  if (!result.isFinite())
    return;
  if (auto product = dyn_cast<ContractOp>(op)) {
    if (bounds.count(product.getLhs()))
      pending = contract(product, boundOf(product.getRhs()));
  } else {
    pending = compute(op, boundOf, result);
  }
  if (!pending)
    return;
  Range all = pending->ranges.front();
  for (const Range &range : pending->ranges)
    all = {std::min(all.low, range.low), std::max(all.high, range.high)};
  Bound formed = Bound::of(down(all.low), -down(-all.high));
  formed.widen();
  formed = rounded(formed, elementTypeOf(op.getResult(0)));
  const double low = std::max(result.low, formed.low), high = std::min(result.high, formed.high);
  if (low <= high)
    result.low = low, result.high = high;
}

void RowForms::define(Value value, const Bound &bound) {
  std::optional<Row> row = std::exchange(pending, std::nullopt);
  const size_t width = widthOf(value);
  if (!bound.isFinite() || !isa<FloatType>(elementTypeOf(value)))
    return;
  bounds[value] = bound;
  bounds[value].constant = nullptr;
  if (!row && width && bound.constant && tensorTypeOf(value).getRank() == 1) {
    row.emplace();
    for (size_t k = 0; k < width; ++k)
      row->ranges.push_back({bound.constant->at(int64_t(k)), bound.constant->at(int64_t(k))});
  }
  if (!row)
    return;
  for (Range &range : row->ranges) {
    const Real low = std::max<Real>(range.low, bound.low),
               high = std::min<Real>(range.high, bound.high);
    range = low <= high ? Range{low, high} : Range{bound.low, bound.high};
  }
  rows[value] = std::move(*row);
}
