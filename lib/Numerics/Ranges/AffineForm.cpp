// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Numerics/Ranges/AffineForm.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <limits>

using namespace mpc;

/// Corners double with each symbol.
static constexpr size_t kMostSymbols = 5;
static constexpr size_t kMostTerms = 8;

double RealRange::magnitude() const { return std::max(std::abs(low), std::abs(high)); }

/// a + b, if that is a double.
static std::optional<double> exactSum(double a, double b) {
  const double sum = a + b, part = sum - a;
  const double lost = (a - (sum - part)) + (b - part);
  return lost == 0 ? std::optional(sum) : std::nullopt;
}

/// a * b, if that is a double. Of tiny ones what is lost may be too small to see.
static std::optional<double> exactProduct(double a, double b) {
  const double product = a * b;
  const bool isExact = std::fma(a, b, -product) == 0 && std::abs(product) > 0x1p-900;
  return isExact ? std::optional(product) : std::nullopt;
}

AffineForm AffineForm::ofSymbol(FormSymbol symbol) {
  AffineForm form;
  form.terms.push_back({1, {symbol}});
  return form;
}

AffineForm AffineForm::ofNumber(double number) {
  AffineForm form;
  if (number != 0)
    form.terms.push_back({number, {}});
  return form;
}

llvm::SmallVector<FormSymbol> AffineForm::symbols() const {
  llvm::SmallVector<FormSymbol> all;
  for (const FormTerm &term : terms)
    all.append(term.symbols);
  llvm::sort(all);
  all.erase(llvm::unique(all), all.end());
  return all;
}

bool AffineForm::contains(FormSymbol symbol) const {
  return llvm::any_of(
      terms, [&](const FormTerm &term) { return llvm::is_contained(term.symbols, symbol); });
}

bool AffineForm::isSmall() const {
  return terms.size() <= kMostTerms && symbols().size() <= kMostSymbols;
}

void AffineForm::addRest(double more) { rest = more == 0 ? rest : (rest + more) * (1 + 0x1p-50); }

/// False: the factor would be rounded.
bool AffineForm::addTerm(FormTerm term) {
  auto same =
      llvm::find_if(terms, [&](const FormTerm &other) { return other.symbols == term.symbols; });
  if (same == terms.end()) {
    terms.push_back(std::move(term));
    return true;
  }
  const std::optional<double> sum = exactSum(same->factor, term.factor);
  if (!sum)
    return false;
  same->factor = *sum;
  if (*sum == 0)
    terms.erase(same);
  return true;
}

AffineForm AffineForm::negated() const {
  AffineForm form(*this);
  for (FormTerm &term : form.terms)
    term.factor = -term.factor;
  return form;
}

std::optional<AffineForm> AffineForm::plus(const AffineForm &other) const {
  AffineForm form(*this);
  for (const FormTerm &term : other.terms)
    if (!form.addTerm(term))
      return std::nullopt;
  form.addRest(other.rest);
  return form.isSmall() ? std::optional(form) : std::nullopt;
}

std::optional<AffineForm> AffineForm::times(const AffineForm &other, SymbolRanges ranges) const {
  AffineForm form;
  for (const FormTerm &a : terms)
    for (const FormTerm &b : other.terms) {
      const std::optional<double> factor = exactProduct(a.factor, b.factor);
      FormTerm term{factor.value_or(0), a.symbols};
      term.symbols.append(b.symbols);
      llvm::sort(term.symbols);
      const bool isSquare =
          std::adjacent_find(term.symbols.begin(), term.symbols.end()) != term.symbols.end();
      if (!factor || isSquare || !form.addTerm(std::move(term)))
        return std::nullopt;
    }
  if (!form.isSmall())
    return std::nullopt;
  if (rest != 0 || other.rest != 0) {
    const double own = rangeOfTerms(ranges).magnitude(),
                 others = other.rangeOfTerms(ranges).magnitude();
    form.addRest((own * other.rest + others * rest + rest * other.rest) * (1 + 0x1p-50));
  }
  return form;
}

std::optional<AffineForm> AffineForm::withSum(FormSymbol symbol, FormSymbol first,
                                              FormSymbol second) const {
  AffineForm form;
  form.rest = rest;
  for (const FormTerm &term : terms) {
    auto *place = llvm::find(term.symbols, symbol);
    if (place == term.symbols.end()) {
      if (!form.addTerm(term))
        return std::nullopt;
      continue;
    }
    for (FormSymbol part : {first, second}) {
      FormTerm replaced(term);
      replaced.symbols[size_t(place - term.symbols.begin())] = part;
      llvm::sort(replaced.symbols);
      const bool isSquare = std::adjacent_find(replaced.symbols.begin(), replaced.symbols.end()) !=
                            replaced.symbols.end();
      if (isSquare || !form.addTerm(std::move(replaced)))
        return std::nullopt;
    }
  }
  return form.isSmall() ? std::optional(form) : std::nullopt;
}

std::optional<AffineForm> AffineForm::withProduct(FormSymbol first, FormSymbol second,
                                                  FormSymbol both) const {
  AffineForm form;
  form.rest = rest;
  for (FormTerm term : terms) {
    if (llvm::is_contained(term.symbols, first) && llvm::is_contained(term.symbols, second)) {
      llvm::erase_if(term.symbols,
                     [&](FormSymbol symbol) { return symbol == first || symbol == second; });
      if (llvm::is_contained(term.symbols, both))
        return std::nullopt;
      term.symbols.push_back(both);
      llvm::sort(term.symbols);
    }
    if (!form.addTerm(std::move(term)))
      return std::nullopt;
  }
  return form.isSmall() ? std::optional(form) : std::nullopt;
}

/// Longer than double, so that what rounds these sums is small beside what is added for it.
RealRange AffineForm::rangeOfTerms(SymbolRanges ranges) const {
  const llvm::SmallVector<FormSymbol> all = symbols();
  llvm::SmallVector<RealRange> ends;
  for (FormSymbol symbol : all)
    ends.push_back(ranges(symbol));
  long double low = std::numeric_limits<long double>::infinity(), high = -low;
  for (unsigned corner = 0; corner < 1U << all.size(); ++corner) {
    long double sum = 0, magnitude = 0;
    for (const FormTerm &term : terms) {
      long double product = term.factor;
      for (FormSymbol symbol : term.symbols) {
        const auto place = size_t(llvm::find(all, symbol) - all.begin());
        product *= corner >> place & 1 ? ends[place].high : ends[place].low;
      }
      sum += product;
      magnitude += std::abs(product);
    }
    // Where nearly all of it cancels, there is no more to say than that.
    const long double nothing = magnitude * 0x1p-40L, off = magnitude * 0x1p-58L;
    const bool isNothing = std::abs(sum) < nothing;
    low = std::min(low, isNothing ? -nothing : sum - off);
    high = std::max(high, isNothing ? nothing : sum + off);
    if (std::isnan(sum))
      return {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  }
  auto down = [](long double number) {
    const auto near = static_cast<double>(number);
    return near > number ? std::nextafter(near, -std::numeric_limits<double>::infinity()) : near;
  };
  return {down(low), -down(-high)};
}

RealRange AffineForm::range(SymbolRanges ranges) const {
  RealRange range = rangeOfTerms(ranges);
  if (rest != 0) {
    range.low = std::nextafter(range.low - rest, -std::numeric_limits<double>::infinity());
    range.high = std::nextafter(range.high + rest, std::numeric_limits<double>::infinity());
  }
  return range;
}
