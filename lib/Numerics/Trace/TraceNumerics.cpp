// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-trace-numerics: copies of entries that report their values, and twins of these in float32.
#include "lib/Numerics/Trace/ReportValues.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/Verifier.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Numerics/Trace/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_TRACENUMERICS
#include "mpc/Numerics/Trace/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// A copy at the end of the module, as the entry of that role.
static func::FuncOp copyAs(func::FuncOp entry, EntryRole role) {
  auto module = entry->getParentOfType<ModuleOp>();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto copy = cast<func::FuncOp>(builder.clone(*entry));
  copy.setName(stringifyEntryRole(role));
  copy->setAttr(MpcDialect::kEntryAttr, EntryRoleAttr::get(module.getContext(), role));
  return copy;
}

/// Whether the copy could be widened; what its ops have to say against that is no error.
static bool widens(func::FuncOp twin) {
  ScopedDiagnosticHandler quiet(twin.getContext(), [](Diagnostic &) { return success(); });
  return succeeded(widenEntry(twin)) && succeeded(verify(twin));
}

static void traceEntry(func::FuncOp entry, EntryRole traceRole, EntryRole twinRole,
                       StringRef apartName) {
  func::FuncOp traced = copyAs(entry, traceRole);
  const int64_t count = reportValues(traced);
  auto options = [&](StringRef name) {
    return remark::RemarkOpts::name(name).category("mpc-numerics").function(traced.getSymName());
  };
  remark::passed(traced.getLoc(), options("traced-values"))
      << remark::metric("values", count) << " values are reported";
  func::FuncOp twin = copyAs(traced, twinRole);
  if (widens(twin)) {
    // Nobody but a caller of the library tells it from the traced entry: it has no role.
    func::FuncOp apart = copyAs(traced, traceRole);
    apart.setName(apartName);
    apart->setAttr(MpcDialect::kEntryAttr, UnitAttr::get(apart.getContext()));
    return separateLayers(apart);
  }
  twin.erase();
  remark::missed(traced.getLoc(), options("no-twin")) << "some op has no form in float32";
}

namespace {
struct TraceNumericsPass : mpc::impl::TraceNumericsBase<TraceNumericsPass> {
  void runOnModule() override {
    ModuleOp module = getOperation();
    if (findEntry(module, EntryRole::TracePredict))
      return;
    if (func::FuncOp predict = findEntry(module, EntryRole::Predict))
      traceEntry(predict, EntryRole::TracePredict, EntryRole::TwinPredict, "apart_predict");
    if (func::FuncOp step = findEntry(module, EntryRole::TrainStep))
      traceEntry(step, EntryRole::TraceStep, EntryRole::TwinStep, "apart_step");
  }
};
} // namespace
