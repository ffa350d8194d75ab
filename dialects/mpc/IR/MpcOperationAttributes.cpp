// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The dialect's attributes of functions and modules: on which each may stand, and what it holds.
// Passes then read them without a check of their own. What an op of the dialect says is a property
// of that op.
#include "dialects/mpc/IR/EntryNames.h"
#include "dialects/mpc/IR/Float8.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mpc;

namespace {
struct AttributeRule {
  StringRef name;
  bool (*standsOn)(Operation *);
  bool (*holds)(Attribute);
  StringRef expectation;
};
} // namespace

static bool isOutermostModule(Operation *op) { return isa<ModuleOp>(op); }
static bool isDefinition(Operation *op) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  return function && !function.isExternal();
}
/// A selection keeps the attribute when code generation converts it.
static bool isSelection(Operation *op) {
  return isa<arith::SelectOp>(op) || op->getName().getStringRef() == "llvm.select";
}
static bool isTypeOfFloat8(Attribute value) {
  auto type = dyn_cast<TypeAttr>(value);
  return type && isFloat8(type.getValue());
}
static bool isUnit(Attribute value) { return isa<UnitAttr>(value); }
static bool isUnitOrRole(Attribute value) { return isa<UnitAttr, EntryRoleAttr>(value); }
static bool isText(Attribute value) { return isa<StringAttr>(value); }
static bool isPhase(Attribute value) {
  auto name = dyn_cast<StringAttr>(value);
  return name && symbolizePhase(name.getValue());
}
static bool isWideInteger(Attribute value) {
  auto number = dyn_cast<IntegerAttr>(value);
  return number && number.getType().isInteger(64);
}
template <typename Element> static bool isArrayOf(Attribute value) {
  auto array = dyn_cast<ArrayAttr>(value);
  return array && llvm::all_of(array, llvm::IsaPred<Element>);
}

static ArrayRef<AttributeRule> attributeRules() {
  using Mpc = MpcDialect;
  static const AttributeRule rules[] = {
      {Mpc::kEntryAttr, isDefinition, isUnitOrRole,
       "a unit or an #mpc.entry_role, on a function with a body"},
      {Mpc::kOutputNamesAttr, isOutermostModule, isArrayOf<StringAttr>,
       "an array of strings, on the module"},
      {Mpc::kOutputDictionaryAttr, isOutermostModule, isUnit, "a unit, on the module"},
      {Mpc::kOutputStructureAttr, isOutermostModule, isText, "a string, on the module"},
      {Mpc::kLayersAttr, isOutermostModule, isArrayOf<DictionaryAttr>,
       "an array of dictionaries, on the module"},
      {Mpc::kSeedAttr, isOutermostModule, isWideInteger, "an integer of 64 bits, on the module"},
      {Mpc::kSourceHashAttr, isOutermostModule, isText, "a string, on the module"},
      {Mpc::kPhaseAttr, isOutermostModule, isPhase, "the name of a phase, on the module"},
      {Mpc::kRoundsToAttr, isSelection, isTypeOfFloat8,
       "a type of float8, on the op that rounds to it"},
  };
  return rules;
}

/// Passes ask for the role, callers of the library for the name.
static LogicalResult verifyEntryRole(Operation *op, Attribute value) {
  const StringRef name = SymbolTable::getSymbolName(op).getValue();
  const std::optional<EntryRole> named = roleOfEntryName(name);
  auto role = dyn_cast<EntryRoleAttr>(value);
  if (role && named != role.getValue())
    return op->emitOpError() << "@" << name << " has the role "
                             << stringifyEntryRole(role.getValue())
                             << "; expected a function of that name";
  if (named && !role)
    return op->emitOpError() << "@" << name << " has no role; expected " << MpcDialect::kEntryAttr
                             << " = #mpc.entry_role<" << name << ">";
  return success();
}

LogicalResult MpcDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  for (const AttributeRule &rule : attributeRules())
    if (attribute.getName() == rule.name) {
      if (rule.standsOn(op) && rule.holds(attribute.getValue()))
        return attribute.getName() == kEntryAttr ? verifyEntryRole(op, attribute.getValue())
                                                 : success();
      return op->emitOpError() << rule.name << " must be " << rule.expectation;
    }
  InFlightDiagnostic error = op->emitOpError() << "unknown attribute " << attribute.getName();
  const StringRef property = attribute.getName().strref().split('.').second;
  if (auto name = op->getRegisteredInfo();
      name && llvm::is_contained(name->getAttributeNames(), property))
    error << "; " << op->getName() << " has it as " << property;
  return error;
}
