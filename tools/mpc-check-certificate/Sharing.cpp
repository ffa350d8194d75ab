// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Expressions are polynomials in which no name has a power: their extremes lie at the ends of the
// names' intervals, which are tried name by name.
#include "tools/mpc-check-certificate/Sharing.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::check;

namespace {

/// The analysis follows no larger ones.
constexpr size_t kMostNames = 5, kMostTerms = 8;

std::set<Name> namesOf(const Polynomial &polynomial) {
  std::set<Name> names;
  for (const auto &[product, factor] : polynomial)
    names.insert(product.begin(), product.end());
  return names;
}

bool isFollowed(const Polynomial &polynomial) {
  return polynomial.size() <= kMostTerms && namesOf(polynomial).size() <= kMostNames;
}

/// Whether the analysis, with 53 digits, has this factor, too.
bool isDouble(Real factor) { return Real(double(factor)) == factor; }

/// Adds a term, of which the factor may not be rounded.
bool addTo(Polynomial &polynomial, const std::set<Name> &product, Real factor) {
  auto [place, isNew] = polynomial.try_emplace(product, factor);
  if (isNew)
    return true;
  const Real old = place->second, sum = old + factor;
  // The difference to one of both shows what 64 digits lose of the sum.
  if (!isDouble(sum) || sum - old != factor || sum - factor != old)
    return false;
  place->second = sum;
  if (sum == 0)
    polynomial.erase(place);
  return true;
}

/// A product of sums; none where a name would be squared.
std::optional<Polynomial> product(const Polynomial &a, const Polynomial &b) {
  Polynomial result;
  for (const auto &[left, leftFactor] : a)
    for (const auto &[right, rightFactor] : b) {
      std::set<Name> both(left);
      both.insert(right.begin(), right.end());
      const Real factor = leftFactor * rightFactor;
      const bool isExact = isDouble(factor) && std::fma(leftFactor, rightFactor, -factor) == 0 &&
                           std::fabs(factor) > std::ldexp(Real(1), -900);
      if (both.size() != left.size() + right.size() || !isExact || !addTo(result, both, factor))
        return std::nullopt;
    }
  return result;
}

/// The end of the polynomial's range: the lowest sum over the ends of all names from `next` on.
/// `size` sums the magnitudes of the terms there.
Real lowest(const Polynomial &polynomial, const std::map<Name, Interval> &intervals,
            std::set<Name> left, std::map<Name, Real> &chosen) {
  if (!left.empty()) {
    const Name name = *left.begin();
    left.erase(left.begin());
    Real low = kInfinite;
    for (Real end : {intervals.at(name).low, intervals.at(name).high}) {
      chosen[name] = end;
      low = std::min(low, lowest(polynomial, intervals, left, chosen));
    }
    return low;
  }
  Real sum = 0, size = 0;
  for (const auto &[names, factor] : polynomial) {
    Real term = factor;
    for (Name name : names)
      term *= chosen[name];
    sum += term;
    size += std::fabs(term);
  }
  if (std::isnan(sum))
    return -kInfinite;
  const Real nothing = std::ldexp(size, -40);
  return std::fabs(sum) < nothing ? -nothing : sum - std::ldexp(size, -60);
}

Real lowest(const Polynomial &polynomial, const std::map<Name, Interval> &intervals) {
  std::map<Name, Real> chosen;
  return lowest(polynomial, intervals, namesOf(polynomial), chosen);
}

bool isWide(Value value) {
  auto type = dyn_cast<FloatType>(elementTypeOf(value));
  return type && type.getWidth() >= 16;
}

/// Whether the op stores another number than its operands give.
bool isRounded(Operation &op) {
  auto cast = dyn_cast<CastOp>(op);
  if (!cast)
    return isa<AddOp, SubtractOp, MultiplyOp>(op);
  const unsigned from = elementTypeOf(cast.getInput()).getIntOrFloatBitWidth(),
                 to = elementTypeOf(cast.getResult()).getIntOrFloatBitWidth();
  return !(from < 32 && to >= 32);
}

/// Relations are about such values as they stand.
bool isRead(Value value) {
  for (Operation *user : value.getUsers())
    if (isa<ReduceOp, MomentsOp>(user) ||
        (isa<MultiplyOp>(user) && user->getOperand(0) == user->getOperand(1)))
      return true;
  return false;
}

} // namespace

Interval Sharing::rangeOf(const Polynomial &polynomial) const {
  Polynomial other;
  for (const auto &[names, factor] : polynomial)
    other[names] = -factor;
  return {lowest(polynomial, intervals), -lowest(other, intervals)};
}

Interval Sharing::rangeOf(const Expression &expression) const {
  const Interval terms = rangeOf(expression.terms);
  return {terms.low - expression.off, terms.high + expression.off};
}

std::optional<Expression> Sharing::combine(Operation &op, Expression a, Expression b) const {
  Expression result;
  if (isa<MultiplyOp>(op)) {
    std::optional<Polynomial> terms = product(a.terms, b.terms);
    if (!terms || !isFollowed(*terms))
      return std::nullopt;
    result.terms = std::move(*terms);
    if (a.off != 0 || b.off != 0)
      result.off =
          rangeOf(a.terms).size() * b.off + rangeOf(b.terms).size() * a.off + a.off * b.off;
    return result;
  }
  result = std::move(a);
  for (const auto &[names, factor] : b.terms)
    if (!addTo(result.terms, names, isa<SubtractOp>(op) ? -factor : factor))
      return std::nullopt;
  result.off += b.off;
  return isFollowed(result.terms) ? std::optional(result) : std::nullopt;
}

Value Sharing::asRun(Value value) const {
  auto either = value.getDefiningOp<InTrainingOp>();
  return either ? either->getOperand(training ? 0 : 1) : value;
}

std::optional<Expression> Sharing::express(Operation &op) const {
  if (isa<InTrainingOp>(op)) {
    const Value value = asRun(op.getResult(0));
    return isWide(value) && isKnown(value) ? std::optional(expressions.lookup(value))
                                           : std::nullopt;
  }
  if (!isWide(op.getResult(0)) || !isKnown(op.getOperand(0)) || !isWide(op.getOperand(0)))
    return std::nullopt;
  Expression first = expressions.lookup(op.getOperand(0));
  if (isa<CastOp, BroadcastLikeOp, StopGradientOp>(op))
    return first;
  if (isa<NegateOp>(op)) {
    for (auto &[names, factor] : first.terms)
      factor = -factor;
    return first;
  }
  if (!isa<AddOp, SubtractOp, MultiplyOp>(op) || !isKnown(op.getOperand(1)))
    return std::nullopt;
  auto alone = [&](unsigned operand) {
    return Expression{{{{nameOf(op.getOperand(operand))}, 1}}, 0};
  };
  const Expression second = expressions.lookup(op.getOperand(1));
  // In the order in which the analysis gives up what it knows.
  if (auto both = combine(op, first, second))
    return both;
  if (auto right = combine(op, alone(0), second))
    return right;
  if (auto left = combine(op, first, alone(1)))
    return left;
  return combine(op, alone(0), alone(1));
}

/// Puts an input as its mean (its largest, its smallest element) and what it has more than that,
/// then products that have intervals of their own.
Expression Sharing::rewrite(Expression expression) const {
  for (auto [center, input] : inputs) {
    const std::set<Name> names = namesOf(expression.terms);
    if (!names.count(center) || !names.count(input))
      continue;
    Polynomial terms;
    bool isExact = true;
    for (const auto &[product, factor] : expression.terms) {
      if (!product.count(input)) {
        isExact &= addTo(terms, product, factor);
        continue;
      }
      for (Name part : {center, center + Excess}) {
        std::set<Name> changed(product);
        changed.erase(input);
        isExact &= changed.insert(part).second && addTo(terms, changed, factor);
      }
    }
    if (isExact && isFollowed(terms) && terms.size() < expression.terms.size())
      expression.terms = std::move(terms);
  }
  for (auto [pair, name] : products) {
    Polynomial terms;
    bool isExact = true;
    for (const auto &[product, factor] : expression.terms) {
      std::set<Name> changed(product);
      if (product.count(pair.first) && product.count(pair.second)) {
        changed.erase(pair.first);
        changed.erase(pair.second);
        isExact &= changed.insert(name).second;
      }
      isExact &= addTo(terms, changed, factor);
    }
    if (isExact && isFollowed(terms))
      expression.terms = std::move(terms);
  }
  return expression;
}

void Sharing::narrowByForm(Operation &op, MutableArrayRef<Fact> results) {
  if (!isa<AddOp, SubtractOp, MultiplyOp, NegateOp, CastOp, BroadcastLikeOp, StopGradientOp,
           InTrainingOp>(op))
    return;
  std::optional<Expression> expression = express(op);
  if (!expression)
    return;
  const Expression rewritten = rewrite(*expression);
  for (const Expression &each : {std::as_const(*expression), rewritten}) {
    const Interval range = rangeOf(each);
    const Fact fact = stored(between(range.low, range.high), elementTypeOf(op.getResult(0)));
    const Real low = std::max(results[0].low, fact.low),
               high = std::min(results[0].high, fact.high);
    if (low <= high) {
      results[0].low = low;
      results[0].high = high;
    }
  }
  if (!isRead(op.getResult(0)))
    pending[op.getResult(0)] = rewritten;
}

void Sharing::settle(Value value, const Fact &fact) {
  const Name place = order.size();
  order[value] = place;
  if (!isa<FloatType>(elementTypeOf(value)) || !fact.isBounded())
    return;
  facts[value] = fact;
  facts[value].elements = nullptr;
  intervals[nameOf(value)] = {fact.low, fact.high};
  Expression &own = expressions[value];
  auto found = pending.find(value);
  if (fact.low == fact.high) {
    if (fact.low != 0)
      own.terms[{}] = fact.low;
  } else if (found == pending.end()) {
    own.terms[{nameOf(value)}] = 1;
  } else {
    own = found->second;
    Operation *op = value.getDefiningOp();
    Real factors = 1;
    if (isa<MultiplyOp>(op))
      factors += facts[op->getOperand(0)].size() + facts[op->getOperand(1)].size();
    if (isRounded(*op))
      own.off += roundingOf(elementTypeOf(value), fact.size()) + std::ldexp(factors, -126);
  }
  settleCenter(value);
  if (auto root = value.getDefiningOp<RsqrtOp>())
    settleRoot(root);
}
