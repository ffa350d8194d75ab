// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-parallelize-rows: loops over time that threads share by rows.
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Buffers/RowLoop.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Remarks.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Buffers/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_PARALLELIZEROWS
#include "mpc/Buffers/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

static void parallelize(scf::ForOp loop, Value batch) {
  Location loc = loop.getLoc();
  auto options = remark::RemarkOpts::name("parallel-rows").category("mpc-kernels");
  RowLoop accesses(loop);
  if (!accesses.isByRows()) {
    remark::missed(loc, options) << accesses.whyNot().str();
    return;
  }
  OpBuilder builder(loop);
  Value count = materialize(builder, loc, accesses.getRows(), batch);
  auto rows = mpcrt::ParallelRowsOp::create(builder, loc, count);
  Block &body = rows.getBody().emplaceBlock();
  loop->moveBefore(&body, body.end());
  remark::passed(loc, options) << "threads share the rows of the loop";
}

namespace {
struct ParallelizeRowsPass : mpc::impl::ParallelizeRowsBase<ParallelizeRowsPass> {
  void runOnModule() override {
    for (auto entry : getOperation().getOps<func::FuncOp>()) {
      BlockArgument batch = getBatchArgument(entry);
      if (!isEntry(entry) || !batch)
        continue;
      for (auto loop : llvm::make_early_inc_range(entry.getBody().front().getOps<scf::ForOp>()))
        parallelize(loop, batch);
    }
  }
};
} // namespace
