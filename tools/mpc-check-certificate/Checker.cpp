// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Walks a function in its order. Each op's results are derived from what is claimed of its
// operands, so that every claim stands on claims that were compared before it; in a loop, from the
// step before.
#include "tools/mpc-check-certificate/Checker.h"
#include "mpc/Analysis/LayerPath.h"
#include "mpc/Support/Sha256.h"
#include "mpc/Support/WeightNumbers.h"
#include "tools/mpc-check-certificate/RowSteps.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::check;

namespace {

class Checker {
public:
  Checker(const llvm::json::Object &certificate, const WeightStore &weights)
      : certificate(certificate), weights(weights) {}

  Verdict run(ModuleOp module);

private:
  using Values = llvm::DenseMap<Value, Fact>;

  bool readHead(ModuleOp module);
  bool readOutputs();
  void list(Block &block);
  bool readClaim(Value value, const llvm::json::Value &json);
  void compare(Value value, const Fact &derived);
  void compareAll(Block &block);
  Fact argumentOf(BlockArgument argument);
  SmallVector<Fact> deriveOp(Operation &op, ArrayRef<Fact> operands);
  SmallVector<Fact> step(Block &block, ArrayRef<Fact> arguments);
  void loop(ScanOp op, ArrayRef<Fact> operands, MutableArrayRef<Fact> results);
  void collect(Value value, const Fact &fact);
  void checkUse();
  void fault(size_t index, const Twine &text);

  const llvm::json::Object &certificate;
  const WeightStore &weights;
  func::FuncOp function;
  SmallVector<Value> values;
  llvm::DenseMap<Value, size_t> places;
  std::vector<Fact> claims;
  Values nested; ///< of values in loops: one or another step's
  llvm::StringSet<> usedInputs;
  bool usesWeights = false, usesTraining = false;
  Verdict verdict;
};

std::string nameOf(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

std::string nameOf(Real number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", double(number));
  return text;
}

/// The name that callers give an argument which they fill in anew each time.
StringAttr givenAs(func::FuncOp function, unsigned argument) {
  for (StringRef kind : {StringRef(MpcDialect::kInputAttr), StringRef(MpcDialect::kTargetAttr)})
    if (auto name = function.getArgAttrOfType<StringAttr>(argument, kind))
      return name;
  return {};
}

/// Whether the object has these keys and no other.
bool hasKeys(const llvm::json::Object &object, std::initializer_list<StringRef> keys) {
  return object.size() == keys.size() &&
         llvm::all_of(keys, [&](StringRef key) { return object.get(key) != nullptr; });
}

bool isSame(const Fact &a, const Fact &b) {
  return a.low == b.low && a.high == b.high && a.nan == b.nan && a.error == b.error;
}

/// Whether a bound of an error has 32 digits, as all have that the analysis writes.
bool isRounded(Real error) {
  int exponent = 0;
  const Real digits = std::ldexp(std::frexp(error, &exponent), 32);
  return std::isinf(error) || digits == std::floor(digits);
}

/// null is infinite.
std::optional<Real> numberOf(const llvm::json::Value *json, Real infinite) {
  if (json && json->kind() == llvm::json::Value::Null)
    return infinite;
  if (json && json->getAsNumber())
    return Real(*json->getAsNumber());
  return std::nullopt;
}

} // namespace

void Checker::fault(size_t index, const Twine &text) {
  verdict.faults.push_back(("values[" + Twine(index) + "]: " + text).str());
}

bool Checker::readHead(ModuleOp module) {
  auto fail = [&](const Twine &text) {
    verdict.faults.push_back(text.str());
    return false;
  };
  if (!hasKeys(certificate, {"certificate", "function", "inputs", "outputs", "training", "weights",
                             "values", "sha256"}) ||
      certificate.getString("certificate") != StringRef("mpc-ranges-3"))
    return fail("is no certificate of ranges of this version");
  llvm::json::Object content(certificate);
  content.erase("sha256");
  const std::string text = llvm::formatv("{0}", llvm::json::Value(std::move(content)));
  if (certificate.getString("sha256") != StringRef(Sha256::of(text)))
    return fail("is not as it was written: its sha256 is another one");
  if (!certificate.getBoolean("weights") || !certificate.getBoolean("training") ||
      !certificate.getObject("inputs") || !certificate.getArray("values") ||
      !certificate.getString("function"))
    return fail("has parts of other kinds than a certificate's");
  function = module.lookupSymbol<func::FuncOp>(*certificate.getString("function"));
  if (!function || !llvm::hasSingleElement(function.getBody()))
    return fail("is about @" + *certificate.getString("function") +
                ", which the module does not have with a body of one block");
  llvm::StringSet<> names;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (StringAttr name = givenAs(function, i))
      names.insert(name.getValue());
  for (const auto &[name, range] : *certificate.getObject("inputs")) {
    const llvm::json::Array *ends = range.getAsArray();
    if (!names.contains(StringRef(name)) || !ends || ends->size() != 2 ||
        !(*ends)[0].getAsNumber() || !(*ends)[1].getAsNumber() ||
        *(*ends)[0].getAsNumber() > *(*ends)[1].getAsNumber())
      return fail("gives a range to '" + StringRef(name) +
                  "', which is no input, target or sample weights, or is no range of two numbers");
  }
  return true;
}

void Checker::list(Block &block) {
  auto add = [&](Value value) {
    places[value] = values.size();
    values.push_back(value);
  };
  for (BlockArgument argument : block.getArguments())
    add(argument);
  for (Operation &op : block) {
    for (Value result : op.getResults())
      add(result);
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        list(inner);
  }
}

/// Outputs are named by the places of their values.
bool Checker::readOutputs() {
  llvm::json::Object outputs;
  for (OpOperand &operand : function.getBody().front().getTerminator()->getOpOperands())
    if (auto name = function.getResultAttrOfType<StringAttr>(operand.getOperandNumber(),
                                                             MpcDialect::kOutputAttr))
      outputs[llvm::json::fixUTF8(name.getValue())] = int64_t(places[operand.get()]);
  const llvm::json::Object *claimed = certificate.getObject("outputs");
  if (claimed && *claimed == outputs)
    return true;
  verdict.faults.push_back("names other values as outputs than @" + function.getSymName().str() +
                           " returns");
  return false;
}

bool Checker::readClaim(Value value, const llvm::json::Value &json) {
  const size_t index = places[value];
  const llvm::json::Object *row = json.getAsObject();
  const Type type = elementTypeOf(value);
  const bool isFloat = isa<FloatType>(type);
  if (!row || row->size() != (isFloat ? 8u : 7u)) {
    fault(index, "is no claim");
    return false;
  }
  Operation *op = value.getDefiningOp();
  const std::string name = op ? op->getName().stripDialect().str() : "argument";
  const std::string layer = llvm::json::fixUTF8(layerPathOf(value.getLoc()));
  const std::optional<Real> low = numberOf(row->get("low"), -kInfinite),
                            high = numberOf(row->get("high"), kInfinite),
                            error = numberOf(row->get("error"), kInfinite);
  const std::optional<bool> nan = row->getBoolean("nan");
  if (row->getString("op") != StringRef(name) || row->getString("layer") != StringRef(layer) ||
      row->getString("dtype") != StringRef(nameOf(type)) || !low || !high || !error || !nan ||
      *error < 0 || !isRounded(*error) || *low > *high) {
    fault(index, "is about another value than op '" + name + "' of layer '" + layer + "'");
    return false;
  }
  claims[index] = {*low, *high, *nan, *error, nullptr};
  if (!isFloat)
    return true;
  // Inputs lie between any numbers.
  if (op && type.getIntOrFloatBitWidth() >= 16 &&
      (nearest(type, *low) != *low || nearest(type, *high) != *high)) {
    fault(index, "has bounds that are no numbers of its dtype");
    return false;
  }
  const bool fits = !*nan && *low > -65520 && *high < 65520;
  verdict.fitting += fits;
  if (row->getString("float16") == StringRef(fits ? "cannot overflow" : "cannot be shown"))
    return true;
  fault(index, "its verdict does not follow from its bounds");
  return false;
}

/// Claims hold what was derived, and little more: a claim that says less was not made by the
/// analysis.
void Checker::compare(Value value, const Fact &derived) {
  const size_t index = places[value];
  const Fact &claim = claims[index];
  // 0 times an unknown error is unknown.
  const Real error = std::isnan(derived.error) ? kInfinite : derived.error;
  const Type type = elementTypeOf(value);
  const Real part = std::ldexp(Real(1), -30);
  // The analysis has 53 digits itself, its errors 32: of float64 it allows for its own roundings,
  // too. In loops they add up from step to step.
  const bool isOfLoop = nested.count(value) || value.getDefiningOp<ScanOp>();
  const Real errorPart = type.isF64() || isOfLoop ? std::ldexp(Real(1), -4) : part;
  auto isNear = [&](Real claimed, Real given, bool up) {
    // Nothing is computed of what is given.
    if (llvm::is_contained(function.getArguments(), value))
      return claimed == given;
    if (claimed == given || !isa<FloatType>(type))
      return claimed == given || std::fabs(claimed - given) <= std::fabs(given) * part;
    // A step's slice has the bounds of the whole, whatever numbers these are; all else is rounded.
    if (!std::isfinite(claimed) || !std::isfinite(given) || nearest(type, claimed) != claimed)
      return false;
    // The analysis has no smaller bounds of float64.
    const Real least = std::ldexp(Real(1), type.isF64() ? -990 : -1022);
    if (claimed != 0 && std::fabs(claimed) < least)
      return false;
    const Real next = neighbour(type, given, up);
    // Nor numbers of its own between that and what it computes.
    const bool isLeast = claimed == 0 || std::fabs(claimed) == least;
    const Real room = std::max(std::fabs(given) * part, isLeast ? least : Real(0));
    return std::isfinite(next) && (up ? claimed <= next + room : claimed >= next - room);
  };
  if (claim.low > derived.low || claim.high < derived.high || (derived.nan && !claim.nan))
    fault(index, "claims [" + nameOf(claim.low) + ", " + nameOf(claim.high) + "]" +
                     (claim.nan ? " or NaN" : "") + ", but its op may give [" +
                     nameOf(derived.low) + ", " + nameOf(derived.high) + "]" +
                     (derived.nan ? " or NaN" : ""));
  else if (!isNear(claim.low, derived.low, false) || !isNear(claim.high, derived.high, true) ||
           claim.nan != derived.nan)
    fault(index, "claims less than its op gives, [" + nameOf(derived.low) + ", " +
                     nameOf(derived.high) + "]: it is not what the analysis wrote");
  else if (claim.error < error)
    fault(index,
          "claims an error of at most " + nameOf(claim.error) + ", but it may be " + nameOf(error));
  else if (std::isfinite(double(error)) && // beyond that a certificate says none
           claim.error > error * (1 + errorPart) + std::ldexp(Real(1), -999))
    fault(index, "claims an error of " + nameOf(claim.error) + " where at most " + nameOf(error) +
                     " follows: it is not what the analysis wrote");
}

/// As the analysis reads them: what is not given is any finite number.
Fact Checker::argumentOf(BlockArgument argument) {
  const unsigned index = argument.getArgNumber();
  auto type = tensorTypeOf(argument);
  auto variable = function.getArgAttrOfType<FlatSymbolRefAttr>(index, MpcDialect::kVariableAttr);
  auto weight = variable ? weights.all().find(variable.getValue().str()) : weights.all().end();
  if (weight != weights.all().end() && type.hasStaticShape() &&
      isa<FloatType>(type.getElementType())) {
    auto elements = std::make_shared<ReferenceTensor>();
    elements->elementType = type.getElementType();
    elements->shape = SmallVector<int64_t>(type.getShape());
    for (double number : numbersOf(weight->second))
      elements->floats.push_back(double(nearest(type.getElementType(), number)));
    if (int64_t(elements->floats.size()) == type.getNumElements()) {
      usesWeights = true;
      return ofElements(elements);
    }
  }
  auto limit = function.getArgAttrOfType<IntegerAttr>(index, MpcDialect::kIndexLimitAttr);
  if (limit && isa<IntegerType>(type.getElementType()))
    return between(0, Real(limit.getInt() - 1));
  if (StringAttr name = givenAs(function, index))
    if (const llvm::json::Value *range = certificate.getObject("inputs")->get(name.getValue())) {
      usedInputs.insert(name.getValue());
      return between(*(*range->getAsArray())[0].getAsNumber(),
                     *(*range->getAsArray())[1].getAsNumber());
    }
  return anyNumber(type.getElementType());
}

void Checker::collect(Value value, const Fact &fact) {
  auto [place, isNew] = nested.try_emplace(value, fact);
  if (!isNew)
    place->second = either(place->second, fact);
}

SmallVector<Fact> Checker::deriveOp(Operation &op, ArrayRef<Fact> operands) {
  SmallVector<Fact> results(op.getNumResults());
  if (auto scan = dyn_cast<ScanOp>(op)) {
    loop(scan, operands, results);
    return results;
  }
  const bool training = *certificate.getBoolean("training");
  derive(&op, training, operands, results);
  if (training && isa<DropoutOp, InTrainingOp>(op)) {
    Fact inference;
    derive(&op, false, operands, inference);
    usesTraining |= isa<InTrainingOp>(op) || !isSame(results[0], inference);
  }
  return results;
}

/// Refuses premises that decide nothing: others could stand in their place.
void Checker::checkUse() {
  const auto &inputs = *certificate.getObject("inputs");
  for (const auto &[name, range] : inputs)
    if (!usedInputs.contains(StringRef(name)))
      verdict.faults.push_back("gives a range to '" + name.str() +
                               "', which its dtype or the layer that reads it bounds already");
  if (*certificate.getBoolean("weights") != usesWeights)
    verdict.faults.push_back(usesWeights ? "says that weights are any numbers; they are given"
                                         : "says that weights are known; no argument has any");
  if (*certificate.getBoolean("training") && !usesTraining)
    verdict.faults.push_back("says that it is about training, too, where nothing differs");
}

/// One run of a loop's body, of which each step has facts of its own.
SmallVector<Fact> Checker::step(Block &block, ArrayRef<Fact> arguments) {
  Values now;
  Sharing sharing(*certificate.getBoolean("training"));
  auto settle = [&](Value value, const Fact &fact) {
    now[value] = fact;
    collect(value, fact);
    sharing.settle(value, fact);
  };
  for (auto [argument, fact] : llvm::zip_equal(block.getArguments(), arguments))
    settle(argument, fact);
  for (Operation &op : block.without_terminator()) {
    auto factOf = [&](Value value) { return now.lookup(value); };
    SmallVector<Fact> results = deriveOp(op, llvm::map_to_vector(op.getOperands(), factOf));
    sharing.narrowByParts(op, factOf, results);
    sharing.narrowByForm(op, results);
    for (auto [value, fact] : llvm::zip_equal(op.getResults(), results))
      settle(value, fact);
  }
  return llvm::map_to_vector(block.getTerminator()->getOperands(),
                             [&](Value value) { return now.lookup(value); });
}

void Checker::loop(ScanOp op, ArrayRef<Fact> operands, MutableArrayRef<Fact> results) {
  Block &body = op.getBody().front();
  const size_t carried = op.getInits().size();
  SmallVector<Fact> arguments(operands);
  for (size_t i = carried; i < carried + op.getScanned().size(); ++i)
    arguments[i].elements = nullptr;
  const auto opsPerStep = int64_t(body.getOperations().size());
  for (int64_t s = 0, steps = int64_t(op.getSteps()); s < steps; ++s) {
    if ((s + 1) * opsPerStep > int64_t(1) << 22) { // the analysis gives up here, too
      step(body, llvm::map_to_vector(body.getArguments(), [](BlockArgument argument) {
             return anything(elementTypeOf(argument));
           }));
      for (auto [fact, value] : llvm::zip_equal(results, op.getResults()))
        fact = anything(elementTypeOf(value));
      return;
    }
    SmallVector<Fact> yielded = step(body, arguments);
    bool isFixed = true;
    for (size_t c = 0; c < carried; ++c) {
      Fact &old = arguments[c];
      isFixed &= isSame(old, yielded[c]);
      old = yielded[c];
      old.elements = nullptr;
    }
    for (size_t r = carried; r < yielded.size(); ++r)
      results[r] = s == 0 ? either(yielded[r], yielded[r]) : either(results[r], yielded[r]);
    if (isFixed)
      break;
  }
  for (size_t c = 0; c < carried; ++c)
    results[c] = arguments[c];
}

void Checker::compareAll(Block &block) {
  llvm::DenseMap<Value, std::shared_ptr<const ReferenceTensor>> elements;
  Sharing sharing(*certificate.getBoolean("training"));
  Rows rows; // of the function: loops have too many steps
  auto settle = [&](Value value, const Fact &derived) {
    elements[value] = derived.elements;
    compare(value, derived);
    Fact claim = claims[places[value]];
    sharing.settle(value, claim);
    claim.elements = derived.elements;
    rows.settle(value, claim);
  };
  for (BlockArgument argument : block.getArguments())
    settle(argument, argumentOf(argument));
  for (Operation &op : block.without_terminator()) {
    auto factOf = [&](Value value) {
      Fact fact = claims[places[value]];
      fact.elements = elements.lookup(value);
      return fact;
    };
    SmallVector<Fact> results = deriveOp(op, llvm::map_to_vector(op.getOperands(), factOf));
    sharing.narrowByParts(op, factOf, results);
    if (results.size() == 1)
      rows.narrow(op, factOf, results.front());
    sharing.narrowByForm(op, results);
    for (auto [value, fact] : llvm::zip_equal(op.getResults(), results))
      settle(value, fact);
  }
  for (const auto &[value, fact] : nested)
    compare(value, fact);
}

Verdict Checker::run(ModuleOp module) {
  if (!readHead(module))
    return verdict;
  list(function.getBody().front());
  const llvm::json::Array &rows = *certificate.getArray("values");
  verdict.values = values.size();
  if (rows.size() != values.size()) {
    verdict.faults.push_back("has claims of " + std::to_string(rows.size()) + " values; @" +
                             function.getSymName().str() + " has " + std::to_string(values.size()));
    return verdict;
  }
  claims.resize(values.size());
  bool isRead = readOutputs();
  for (auto [value, row] : llvm::zip_equal(values, rows))
    isRead &= readClaim(value, row);
  if (isRead) {
    compareAll(function.getBody().front());
    checkUse();
  }
  return verdict;
}

Verdict check::checkCertificate(const llvm::json::Object &certificate, ModuleOp module,
                                const WeightStore &weights) {
  return Checker(certificate, weights).run(module);
}
