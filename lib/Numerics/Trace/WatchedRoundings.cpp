// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Numerics/Trace/WatchedRoundings.h"
#include "dialects/mpc/IR/Float8.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mpc-rt/services.h"

using namespace mlir;
using namespace mpc;

/// Arguments of a kernel behind those of its launch: the bounds of the iterations.
static constexpr unsigned kBounds = 2;

void WatchedRoundings::missed(Location loc, StringRef why) {
  remark::missed(loc, remark::RemarkOpts::name("watched-values")
                          .category("mpc-numerics")
                          .function(step.getSymName()))
      << ("numbers of float8 are not seen: " + why).str();
}

/// The first store of what is computed from the number, element by element, in its block, to a
/// buffer from outside of `root`.
static memref::StoreOp findStore(Operation *root, Value number) {
  Block *block = number.getParentBlock();
  SmallVector<Value> pending{number};
  llvm::SmallDenseSet<Operation *> seen;
  memref::StoreOp first;
  while (!pending.empty())
    for (Operation *user : pending.pop_back_val().getUsers()) {
      if (user->getBlock() != block || !seen.insert(user).second)
        continue;
      if (isa<arith::ArithDialect>(user->getDialect()))
        pending.append(user->result_begin(), user->result_end());
      auto store = dyn_cast<memref::StoreOp>(user);
      Operation *buffer = store ? store.getMemRef().getDefiningOp() : nullptr;
      // The place of a sum is read beforehand.
      const bool isResult = store && !(buffer && root->isAncestor(buffer)) &&
                            llvm::none_of(store.getMemRef().getUsers(), [&](Operation *other) {
                              return isa<memref::LoadOp>(other) && other->getBlock() == block;
                            });
      if (isResult && (!first || store->isBeforeInBlock(first)))
        first = store;
    }
  return first;
}

static Value skipWidening(Value value) {
  while (auto wider = value.getDefiningOp<arith::ExtFOp>())
    value = wider.getIn();
  return value;
}

SmallVector<WatchedRoundings::Rounding> WatchedRoundings::findRoundings(Operation *root) {
  SmallVector<Rounding> roundings;
  // One number is rounded twice where it is multiplied in float8 and otherwise, too.
  llvm::SmallDenseSet<std::pair<Value, Type>> seen;
  auto add = [&](Value rounded, Value before, Type format, bool hasOwnType) {
    if (!seen.insert({skipWidening(before), format}).second)
      return;
    if (memref::StoreOp store = findStore(root, rounded))
      roundings.push_back({rounded, before, hasOwnType ? Type() : format, store});
    else
      missed(rounded.getLoc(), "they do not leave their loop");
  };
  root->walk([&](arith::TruncFOp op) {
    if (isFloat8(op.getType()))
      add(op.getResult(), op.getIn(), op.getType(), /*hasOwnType=*/true);
  });
  root->walk([&](arith::SelectOp op) {
    if (auto format = op->getAttrOfType<TypeAttr>(MpcDialect::kRoundsToAttr))
      add(op.getResult(), op.getTrueValue(), format.getValue(), /*hasOwnType=*/false);
  });
  return roundings;
}

WatchedRoundings::Copy WatchedRoundings::makeCopy(func::FuncOp kernel) {
  Copy copy{func::FuncOp(), findRoundings(kernel)};
  if (copy.roundings.empty())
    return copy;
  IRMapping inside;
  copy.kernel = cast<func::FuncOp>(kernel->clone(inside));
  copy.kernel.setSymName((kernel.getSymName() + "_watched").str());
  uses.insert(copy.kernel, kernel);
  for (Rounding &rounding : copy.roundings) {
    auto store = cast<memref::StoreOp>(inside.lookup(rounding.store.getOperation()));
    const ArrayRef<int64_t> shape = cast<MemRefType>(store.getMemRef().getType()).getShape();
    OpBuilder builder(store);
    for (Value number : {rounding.rounded, rounding.before}) {
      const unsigned place = copy.kernel.getNumArguments() - kBounds;
      (void)copy.kernel.insertArgument(place, MemRefType::get(shape, number.getType()),
                                       /*argAttrs=*/{}, number.getLoc());
      memref::StoreOp::create(builder, number.getLoc(), inside.lookup(number),
                              copy.kernel.getArgument(place), store.getIndices());
    }
  }
  return copy;
}

const WatchedRoundings::Copy &WatchedRoundings::copyOf(func::FuncOp kernel) {
  auto known = copies.find(kernel);
  if (known == copies.end())
    known = copies.try_emplace(kernel, makeCopy(kernel)).first;
  return known->second;
}

SmallVector<Value> WatchedRoundings::makeViews(Operation *op, ArrayRef<Rounding> roundings,
                                               ArrayRef<Value> stored, Location caller,
                                               bool isOfCaller, ReportRoom &room) {
  OpBuilder builder(op);
  SmallVector<Value> views;
  for (auto [rounding, buffer] : llvm::zip_equal(roundings, stored))
    for (Value number : {rounding.rounded, rounding.before})
      if (auto view = room.makeView(builder, buffer, number.getType()))
        views.push_back(view);
  if (views.size() != 2 * roundings.size()) {
    missed(caller, "their shape is no function of the batch");
    return {};
  }
  for (auto [i, rounding] : llvm::enumerate(roundings)) {
    const Location loc = isOfCaller ? rounding.rounded.getLoc() : caller;
    found[op].push_back({views[2 * i], views[2 * i + 1], rounding.format,
                         isBackward(loc) ? TraceDirection::Backward : TraceDirection::Forward,
                         tracedLayerOf(loc)});
  }
  return views;
}

void WatchedRoundings::expose(Operation *op, mpcrt::LaunchOp launch, ReportRoom &room) {
  func::FuncOp kernel = uses.kernelOf(launch);
  const Copy &copy = copyOf(kernel);
  if (copy.roundings.empty())
    return;
  if (launch->getParentOfType<scf::ForOp>() || launch->getParentOfType<mpcrt::ParallelRowsOp>())
    return missed(launch.getLoc(), "a loop over steps computes them");
  if (launch.getArguments().size() + 2 * copy.roundings.size() > MPC_RT_MAX_KERNEL_ARGUMENTS)
    return missed(launch.getLoc(), "their kernel has too many arguments");
  SmallVector<Value> stored;
  for (Rounding rounding : copy.roundings)
    stored.push_back(
        launch.getArguments()[cast<BlockArgument>(rounding.store.getMemRef()).getArgNumber()]);
  // Equal kernels of several layers are one, with the places of one of them.
  const bool isOwn = kernel.getLoc() == launch.getLoc();
  SmallVector<Value> views = makeViews(op, copy.roundings, stored, launch.getLoc(), isOwn, room);
  if (views.empty())
    return;
  func::FuncOp watched = copy.kernel;
  const ArrayRef<Type> types = watched.getArgumentTypes();
  OpBuilder builder(op);
  for (auto [i, view] : llvm::enumerate(views)) {
    const Type type = types[launch.getArguments().size() + i];
    if (view.getType() != type)
      view = memref::CastOp::create(builder, launch.getLoc(), type, view);
  }
  uses.forget(launch);
  launch.setKernel(watched.getSymName());
  launch.getArgumentsMutable().append(views);
}

/// A loop of the host computes what is small.
void WatchedRoundings::exposeLoop(Operation *loop, ReportRoom &room) {
  SmallVector<Rounding> roundings = findRoundings(loop);
  SmallVector<Value> stored;
  for (Rounding &rounding : roundings)
    stored.push_back(rounding.store.getMemRef());
  SmallVector<Value> views =
      makeViews(loop, roundings, stored, loop->getLoc(), /*isOfCaller=*/true, room);
  if (views.empty())
    return;
  uses.forget(loop);
  for (auto [i, rounding] : llvm::enumerate(roundings)) {
    OpBuilder builder(rounding.store);
    for (auto [number, view] :
         {std::pair(rounding.rounded, views[2 * i]), std::pair(rounding.before, views[2 * i + 1])})
      memref::StoreOp::create(builder, number.getLoc(), number, view, rounding.store.getIndices());
  }
}

WatchedRoundings::WatchedRoundings(func::FuncOp step, BufferUses &uses) : step(step), uses(uses) {
  ReportRoom room(step);
  SmallVector<Operation *> ops;
  for (Operation &op : step.getBody().front())
    ops.push_back(&op);
  for (Operation *op : ops) {
    op->walk([&](mpcrt::LaunchOp launch) { expose(op, launch, room); });
    if (isa<scf::ForOp>(op))
      exposeLoop(op, room);
    room.startAgain();
  }
  room.close();
}

ArrayRef<WatchedRounding> WatchedRoundings::of(Operation *op) const {
  auto values = found.find(op);
  return values == found.end() ? ArrayRef<WatchedRounding>() : values->second;
}
