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

/// Whether the copy could be widened; what its ops have to say against that is no error.
static bool widens(func::FuncOp twin) {
  ScopedDiagnosticHandler quiet(twin.getContext(), [](Diagnostic &) { return success(); });
  return succeeded(widenEntry(twin)) && succeeded(verify(twin));
}

static void traceEntry(func::FuncOp entry, EntryRole traceRole, EntryRole twinRole,
                       EntryRole apartRole) {
  func::FuncOp traced = copyEntry(entry, traceRole);
  const int64_t count = reportValues(traced);
  auto options = [&](StringRef name) {
    return remark::RemarkOpts::name(name).category("mpc-numerics").function(traced.getSymName());
  };
  remark::passed(traced.getLoc(), options("traced-values"))
      << remark::metric("values", count) << " values are reported";
  func::FuncOp twin = copyEntry(traced, twinRole);
  if (widens(twin))
    return separateLayers(copyEntry(traced, apartRole));
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
      traceEntry(predict, EntryRole::TracePredict, EntryRole::TwinPredict, EntryRole::ApartPredict);
    if (func::FuncOp step = findEntry(module, EntryRole::TrainStep))
      traceEntry(step, EntryRole::TraceStep, EntryRole::TwinStep, EntryRole::ApartStep);
  }
};
} // namespace
