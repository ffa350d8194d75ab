// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass: loops of the host that occur again become calls of one function. A deep network has the
// same small loops in every layer and entry, and each would be optimised and selected on its own.
// So do those of long entries that occur once: LLVM would optimise all calls around them, too.
#include "lib/Conversion/MpcrtToLLVM/Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Conversion/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_SHAREHOSTLOOPS
#include "mpc/Conversion/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {
/// Equal loops, each with what it uses from outside, in the order of the first one.
struct Group {
  SmallVector<scf::ForOp> loops;
  SmallVector<SmallVector<Value>> captured;
};
} // namespace

static bool isConstant(Value value) {
  return value.getDefiningOp() && matchPattern(value, m_Constant());
}

/// A number that has a register whatever the level of instructions.
static bool hasRegister(Type type) {
  return type.isIndex() || type.isF32() || type.isF64() ||
         (type.isSignlessInteger() && type.getIntOrFloatBitWidth() <= 64);
}

/// Whether `value` can be an argument.
static bool isPassable(Value value) {
  return isConstant(value) || isa<MemRefType>(value.getType()) || hasRegister(value.getType());
}

/// The values that the loop uses from outside, its bounds included.
static llvm::SetVector<Value> capturedBy(scf::ForOp loop) {
  llvm::SetVector<Value> captured(loop->operand_begin(), loop->operand_end());
  getUsedValuesDefinedAbove(loop.getRegion(), captured);
  return captured;
}

/// Whether all that the op does, but for what ops inside it do, is to read and write buffers. Calls
/// of the runtime need more than the buffers: they stay in the entry.
static bool touchesBuffersOnly(Operation *op) {
  if (isa_and_nonnull<mpcrt::MpcrtDialect>(op->getDialect()))
    return false;
  if (op->hasTrait<OpTrait::HasRecursiveMemoryEffects>())
    return true;
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  if (!effects || op->getNumRegions() != 0)
    return false;
  SmallVector<MemoryEffects::EffectInstance> all;
  effects.getEffects(all);
  return llvm::all_of(all, [](const MemoryEffects::EffectInstance &effect) {
    return effect.getValue() && isa<MemoryEffects::Read, MemoryEffects::Write>(effect.getEffect());
  });
}

/// Loops with at most one number as their result that touch nothing but elements of buffers.
static bool isSelfContained(scf::ForOp loop) {
  if (loop->getNumResults() > 1 || !llvm::all_of(loop->getResultTypes(), hasRegister) ||
      !llvm::all_of(capturedBy(loop), isPassable))
    return false;
  return !loop.getBody()
              ->walk([](Operation *op) {
                return touchesBuffersOnly(op) ? WalkResult::advance() : WalkResult::interrupt();
              })
              .wasInterrupted();
}

/// Equal for equal loops.
static llvm::hash_code hashOf(scf::ForOp loop) {
  llvm::hash_code hash = 0;
  loop->walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto ignore = [](Value) { return llvm::hash_code(0); };
    hash = llvm::hash_combine(
        hash, OperationEquivalence::computeHash(op, ignore, OperationEquivalence::ignoreHashValue,
                                                OperationEquivalence::IgnoreLocations));
  });
  return hash;
}

/// Whether both are the same constant, or neither is one and their types are equal.
static bool areInterchangeable(Value lhs, Value rhs) {
  Attribute constant, otherConstant;
  return lhs.getType() == rhs.getType() &&
         matchPattern(lhs, m_Constant(&constant)) ==
             matchPattern(rhs, m_Constant(&otherConstant)) &&
         constant == otherConstant;
}

/// The values of `other` in place of those that `loop` uses from outside; nothing unless the loops
/// are equal but for those.
static std::optional<SmallVector<Value>> match(scf::ForOp loop, ArrayRef<Value> captured,
                                               scf::ForOp other) {
  llvm::SmallDenseMap<Value, Value> inside, outside;
  const bool haveEqualOps = OperationEquivalence::isEquivalentTo(
      loop, other,
      [&](Value lhs, Value rhs) {
        Value known = inside.lookup(lhs);
        return success(known ? known == rhs : areInterchangeable(lhs, rhs));
      },
      [&](Value lhs, Value rhs) { inside[lhs] = rhs; }, OperationEquivalence::IgnoreLocations);
  if (!haveEqualOps)
    return std::nullopt;
  SmallVector<Operation *> ops, otherOps;
  loop->walk([&](Operation *op) { ops.push_back(op); });
  other->walk([&](Operation *op) { otherOps.push_back(op); });
  const llvm::SetVector<Value> otherCaptured = capturedBy(other);
  for (auto [op, otherOp] : llvm::zip_equal(ops, otherOps))
    for (auto [lhs, rhs] : llvm::zip_equal(op->getOperands(), otherOp->getOperands())) {
      if (inside.contains(lhs))
        continue;
      // One value of the first loop is one value of the other.
      if (!otherCaptured.contains(rhs) || outside.try_emplace(lhs, rhs).first->second != rhs)
        return std::nullopt;
    }
  return llvm::map_to_vector(captured, [&](Value value) { return outside.lookup(value); });
}

/// Loops that are in no other candidate.
static void collect(Region &region, SmallVectorImpl<scf::ForOp> &loops) {
  region.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto loop = dyn_cast<scf::ForOp>(op);
    if (!loop || !isSelfContained(loop))
      return WalkResult::advance();
    loops.push_back(loop);
    return WalkResult::skip();
  });
}

static SmallVector<Group> groupEqual(ArrayRef<scf::ForOp> loops) {
  SmallVector<Group> groups;
  llvm::DenseMap<size_t, SmallVector<size_t, 1>> byHash;
  for (scf::ForOp loop : loops) {
    SmallVector<size_t, 1> &candidates = byHash[hashOf(loop)];
    bool found = false;
    for (size_t index : candidates) {
      Group &group = groups[index];
      auto values = match(group.loops.front(), group.captured.front(), loop);
      found = values.has_value();
      if (!found)
        continue;
      group.loops.push_back(loop);
      group.captured.push_back(std::move(*values));
      break;
    }
    if (found)
      continue;
    candidates.push_back(groups.size());
    groups.push_back({{loop}, {llvm::to_vector(capturedBy(loop))}});
  }
  return groups;
}

/// The loop as a function of what it uses from outside but constants.
static func::FuncOp makeFunction(const Group &group, size_t number) {
  scf::ForOp loop = group.loops.front();
  OpBuilder before(loop->getParentOfType<func::FuncOp>());
  SmallVector<Type> types;
  for (Value value : group.captured.front())
    if (!isConstant(value))
      types.push_back(value.getType());
  auto function = func::FuncOp::create(before, loop.getLoc(), "host_loop_" + std::to_string(number),
                                       before.getFunctionType(types, loop->getResultTypes()));
  function.setPrivate();
  Block *block = function.addEntryBlock();
  OpBuilder builder = OpBuilder::atBlockBegin(block);
  IRMapping inside;
  auto *argument = block->args_begin();
  for (Value value : group.captured.front())
    inside.map(value, isConstant(value) ? builder.clone(*value.getDefiningOp())->getResult(0)
                                        : Value(*argument++));
  Operation *own = builder.clone(*loop, inside);
  func::ReturnOp::create(builder, loop.getLoc(), own->getResults());
  return function;
}

namespace {
struct ShareHostLoopsPass : mpc::impl::ShareHostLoopsBase<ShareHostLoopsPass> {
  using ShareHostLoopsBase::ShareHostLoopsBase;

  void runOnModule() override {
    ModuleOp module = getOperation();
    SmallVector<scf::ForOp> loops;
    llvm::DenseSet<Operation *> longEntries;
    for (auto function : module.getOps<func::FuncOp>()) {
      if (!isEntry(function))
        continue;
      collect(function.getBody(), loops);
      if (!function.isExternal() &&
          int64_t(function.getBody().front().getOperations().size()) > longEntry)
        longEntries.insert(function);
    }
    size_t number = 0;
    // Results of loops that were replaced, some of which other loops use.
    llvm::DenseMap<Value, Value> replaced;
    auto current = [&](Value value) {
      Value result = replaced.lookup(value);
      return result ? result : value;
    };
    SmallVector<scf::ForOp> unused;
    for (Group &group : groupEqual(loops)) {
      if (group.loops.size() == 1 &&
          !longEntries.contains(group.loops.front()->getParentOfType<func::FuncOp>()))
        continue;
      llvm::transform(group.captured.front(), group.captured.front().begin(), current);
      func::FuncOp shared = makeFunction(group, number++);
      remark::passed(shared.getLoc(),
                     remark::RemarkOpts::name("share-host-loops").category("mpc-kernels"))
          << ("@" + shared.getSymName() + " in place of " + Twine(group.loops.size()) +
              (group.loops.size() == 1 ? " loop" : " loops"))
                 .str();
      for (auto [loop, captured] : llvm::zip_equal(group.loops, group.captured)) {
        OpBuilder builder(loop);
        SmallVector<Value> arguments;
        for (Value value : captured)
          if (!isConstant(value))
            arguments.push_back(current(value));
        auto call = func::CallOp::create(builder, loop.getLoc(), shared, arguments);
        for (auto [result, number] : llvm::zip_equal(loop->getResults(), call.getResults())) {
          result.replaceAllUsesWith(number);
          replaced[result] = number;
        }
        unused.push_back(loop);
      }
    }
    for (scf::ForOp loop : unused)
      loop->erase();
  }
};
} // namespace
