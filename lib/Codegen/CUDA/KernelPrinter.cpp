// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Structure and memory of kernels; scalars are in ScalarExpression.cpp.
#include "lib/Codegen/CUDA/KernelPrinter.h"
#include "lib/Codegen/CUDA/KernelSource.h"
#include "lib/Codegen/CUDA/ScalarExpression.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mpc/Analysis/ReshapedBuffer.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpc;

std::string KernelPrinter::define(Value value) {
  return names[value] = "v" + std::to_string(numbers++);
}

std::string KernelPrinter::nameOf(Value value) {
  if (auto op = value.getDefiningOp<arith::ConstantOp>())
    return cudaLiteral(op.getValue());
  auto name = names.find(value);
  return name == names.end() ? "" : name->second;
}

FailureOr<std::string> KernelPrinter::place(MemRefType type, ArrayRef<std::string> indices) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return failure();
  std::string sum;
  for (auto [index, stride] : llvm::zip_equal(indices, strides)) {
    if (stride == 0 || index == "0ll")
      continue;
    if (ShapedType::isDynamic(stride))
      return failure();
    sum += (sum.empty() ? "" : " + ") + index + (stride == 1 ? "" : " * " + std::to_string(stride));
  }
  return sum.empty() ? "0" : sum;
}

FailureOr<std::string> KernelPrinter::element(Value buffer, ValueRange indices) {
  if (auto packed = packedElements.find(buffer); packed != packedElements.end())
    return packed->second;
  auto argument = dyn_cast<BlockArgument>(buffer);
  if (access && argument && access->buffers[argument.getArgNumber()].hasOne())
    return nameOf(buffer);
  auto type = cast<MemRefType>(buffer.getType());
  auto at = place(type, llvm::map_to_vector(indices, [&](Value index) { return nameOf(index); }));
  if (failed(at))
    return failure();
  // Lanes share a temporary out: each has its own elements, one after the other.
  if (takesWarps && isSharedOut(buffer))
    return nameOf(buffer) + "[" + nameOf(indices.back()) + " / 32]";
  return nameOf(buffer) + "[" + *at + "]";
}

/// Assigns all at once: a value may be another one's target.
void KernelPrinter::printCarried(ValueRange targets, ValueRange values) {
  SmallVector<std::string> texts;
  for (auto [target, value] : llvm::zip_equal(targets, values)) {
    std::string name = nameOf(value);
    if (targets.size() > 1 && isa<BlockArgument>(value)) {
      std::string copy = "v" + std::to_string(numbers++);
      line() << "const " << cudaType(value.getType()) << " " << copy << " = " << name << ";\n";
      name = copy;
    }
    texts.push_back(name);
  }
  for (auto [target, name] : llvm::zip_equal(targets, texts))
    if (nameOf(target) != name)
      line() << nameOf(target) << " = " << name << ";\n";
}

/// So many reads are under way at once: one after the other, each would wait for memory.
static constexpr StringLiteral kUnrolledReads = "#pragma unroll 8\n";

/// Whether no iteration has loops of its own or writes what another one might read.
static bool onlyReads(scf::ForOp loop) {
  return llvm::none_of(
             *loop.getBody(),
             [](Operation &op) { return op.getNumRegions() != 0 || isa<memref::StoreOp>(op); }) &&
         llvm::any_of(*loop.getBody(), [](Operation &op) { return isa<memref::LoadOp>(op); });
}

LogicalResult KernelPrinter::printSharedFor(scf::ForOp loop) {
  // Each lane starts from nothing; what was there before comes in once, at the end.
  for (auto [i, carried] : llvm::enumerate(loop.getRegionIterArgs()))
    line() << cudaType(carried.getType()) << " " << define(carried) << " = "
           << cudaLiteral(*arith::getNeutralElement(findCombiner(loop, i))) << ";\n";
  std::string v = define(loop.getInductionVar());
  if (onlyReads(loop))
    os << kUnrolledReads;
  line() << "for (index " << v << " = lane; " << v << " < " << nameOf(loop.getUpperBound()) << "; "
         << v << " += 32) {\n";
  ++depth;
  if (failed(printBlock(*loop.getBody())))
    return failure();
  printCarried(loop.getRegionIterArgs(), loop.getYieldedValues());
  --depth;
  line() << "}\n";
  for (auto [i, carried, init, result] :
       llvm::enumerate(loop.getRegionIterArgs(), loop.getInitArgs(), loop.getResults())) {
    Operation *combiner = findCombiner(loop, i);
    std::string sum = nameOf(carried), other = "v" + std::to_string(numbers++);
    line() << "for (int bit = 16; bit; bit /= 2) {\n";
    line() << "  const " << cudaType(carried.getType()) << " " << other << " = other_lane(" << sum
           << ", bit);\n";
    line() << "  " << sum << " = " << cudaExpression(combiner, {sum, other}) << ";\n";
    line() << "}\n";
    line() << sum << " = " << cudaExpression(combiner, {nameOf(init), sum}) << ";\n";
    names[result] = sum;
  }
  return success();
}

LogicalResult KernelPrinter::printFor(scf::ForOp loop) {
  if (takesWarps)
    return printSharedFor(loop);
  // One variable is the start, what an iteration carries, and the result.
  for (auto [init, carried, result] :
       llvm::zip_equal(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getResults())) {
    std::string start = nameOf(init);
    names[result] = define(carried);
    line() << cudaType(carried.getType()) << " " << nameOf(carried) << " = " << start << ";\n";
  }
  if (const auto packed = findPackedLoop(loop))
    return printPackedFor(loop, *packed);
  std::string lower = nameOf(loop.getLowerBound()), upper = nameOf(loop.getUpperBound());
  std::string step = nameOf(loop.getStep()), i = define(loop.getInductionVar());
  // Unrolled in full, a loop over ten numbers takes most of a model's compile time.
  constexpr int64_t kMostUnrolled = 4;
  auto trips = loop.getStaticTripCount();
  if (onlyReads(loop))
    os << kUnrolledReads;
  else if (trips && trips->sgt(kMostUnrolled))
    os << "#pragma unroll 4\n";
  line() << "for (index " << i << " = " << lower << "; " << i << " < " << upper << "; "
         << (step == "1ll" ? "++" + i : i + " += " + step) << ") {\n";
  ++depth;
  if (failed(printBlock(*loop.getBody())))
    return failure();
  printCarried(loop.getRegionIterArgs(), loop.getYieldedValues());
  --depth;
  line() << "}\n";
  return success();
}

LogicalResult KernelPrinter::printIf(scf::IfOp branch) {
  for (Value result : branch.getResults())
    line() << cudaType(result.getType()) << " " << define(result) << ";\n";
  line() << "if (" << nameOf(branch.getCondition()) << ") {\n";
  auto printRegion = [&](Region &region) {
    ++depth;
    if (failed(printBlock(region.front())))
      return failure();
    printCarried(branch.getResults(), region.front().getTerminator()->getOperands());
    --depth;
    return success();
  };
  if (failed(printRegion(branch.getThenRegion())))
    return failure();
  if (!branch.getElseRegion().empty()) {
    line() << "} else {\n";
    if (failed(printRegion(branch.getElseRegion())))
      return failure();
  }
  line() << "}\n";
  return success();
}

LogicalResult KernelPrinter::printMemory(Operation &op) {
  auto elementOf = [](Value buffer) { return cast<MemRefType>(buffer.getType()).getElementType(); };
  auto fail = [&] { return op.emitOpError("has a stride that is not known at compile time"); };
  if (auto load = dyn_cast<memref::LoadOp>(op)) {
    auto from = element(load.getMemRef(), load.getIndices());
    if (failed(from))
      return fail();
    std::string name = define(load.getResult());
    line() << "const " << cudaType(load.getType()) << " " << name << " = " << *from
           << (load.getType().isInteger(1) ? " != 0" : "") << ";\n";
    return success();
  }
  if (auto store = dyn_cast<memref::StoreOp>(op)) {
    auto to = element(store.getMemRef(), store.getIndices());
    if (failed(to))
      return fail();
    line() << *to << " = " << nameOf(store.getValue()) << ";\n";
    return success();
  }
  if (auto alloca = dyn_cast<memref::AllocaOp>(op)) {
    if (!alloca.getType().hasStaticShape())
      return op.emitOpError("has a size that is not known at compile time");
    int64_t elements = std::max<int64_t>(1, alloca.getType().getNumElements());
    if (takesWarps && isSharedOut(alloca))
      elements = llvm::divideCeil(alloca.getType().getShape().back(), kWarpLanes);
    line() << cudaStorageType(elementOf(alloca)) << " " << define(alloca) << "[" << elements
           << "];\n";
    return success();
  }
  if (auto view = dyn_cast<memref::SubViewOp>(op)) {
    SmallVector<std::string> offsets;
    for (OpFoldResult offset : view.getMixedOffsets())
      offsets.push_back(isa<Value>(offset) ? nameOf(cast<Value>(offset))
                                           : cudaLiteral(cast<Attribute>(offset)));
    auto at = place(view.getSourceType(), offsets);
    if (failed(at))
      return fail();
    std::string name = define(view.getResult());
    line() << cudaStorageType(elementOf(view)) << " *const " << name << " = "
           << nameOf(view.getSource()) << " + (" << *at << ");\n";
    return success();
  }
  if (auto global = dyn_cast<memref::GetGlobalOp>(op)) {
    globals.insert(global.getNameAttr().getAttr());
    names[global.getResult()] = global.getName().str();
    return success();
  }
  if (isBufferReshape(&op)) {
    names[op.getResult(0)] = nameOf(op.getOperand(0));
    return success();
  }
  return op.emitOpError("has no CUDA form");
}

/// Both halves of a product of two unsigned 32-bit numbers.
LogicalResult KernelPrinter::printWideProduct(Operation &op) {
  if (!op.getResult(0).getType().isInteger(32))
    return op.emitOpError("has no CUDA form");
  std::string a = nameOf(op.getOperand(0)), b = nameOf(op.getOperand(1));
  std::string wide = "v" + std::to_string(numbers++);
  line() << "const unsigned long long " << wide << " = (unsigned long long)(unsigned)" << a
         << " * (unsigned)" << b << ";\n";
  std::string low = define(op.getResult(0)), high = define(op.getResult(1));
  line() << "const int " << low << " = (int)" << wide << ", " << high << " = (int)(" << wide
         << " >> 32);\n";
  return success();
}

/// Whether it multiplies numbers of 16 bits, whose product float32 holds exactly: one rounding of a
/// sum with it is then the only one (docs/numerics.md).
static bool isExactProduct(Value value) {
  auto product = value.getDefiningOp<arith::MulFOp>();
  auto isOf16Bits = [](Value factor) {
    auto wide = factor.getDefiningOp<arith::ExtFOp>();
    return wide && wide.getIn().getType().getIntOrFloatBitWidth() == 16;
  };
  return product && product.getType().isF32() && product->hasOneUse() &&
         isOf16Bits(product.getLhs()) && isOf16Bits(product.getRhs());
}

/// The exact product that `op` adds to something; null where there is none.
static Operation *findAddedProduct(Operation *op) {
  auto sum = dyn_cast<arith::AddFOp>(op);
  if (!sum)
    return nullptr;
  for (Value side : {sum.getRhs(), sum.getLhs()})
    if (isExactProduct(side))
      return side.getDefiningOp();
  return nullptr;
}

LogicalResult KernelPrinter::printOp(Operation &op) {
  // A parameter already.
  if (access && op.getNumResults() == 1 &&
      (op.getResult(0) == access->row || op.getResult(0) == access->column ||
       llvm::is_contained(access->neighbours, &op)))
    return success();
  if (isa<arith::ConstantOp>(op)) {
    if (nameOf(op.getResult(0)).empty())
      return op.emitOpError("is no scalar");
    return success();
  }
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return printFor(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return printIf(branch);
  if (isa_and_nonnull<memref::MemRefDialect>(op.getDialect()))
    return printMemory(op);
  if (isa<arith::MulUIExtendedOp>(op))
    return printWideProduct(op);
  // A part of a sum that is printed with it.
  if (isa<arith::MulFOp>(op) && op.hasOneUse() && findAddedProduct(*op.user_begin()) == &op)
    return success();
  if (Operation *product = findAddedProduct(&op)) {
    Value other = op.getOperand(op.getOperand(0) == product->getResult(0) ? 1 : 0);
    std::string a = nameOf(product->getOperand(0)), b = nameOf(product->getOperand(1));
    std::string sum = nameOf(other);
    line() << "const float " << define(op.getResult(0)) << " = fmaf(" << a << ", " << b << ", "
           << sum << ");\n";
    return success();
  }
  SmallVector<std::string> operands;
  for (Value operand : op.getOperands())
    operands.push_back(nameOf(operand));
  std::string expression = cudaExpression(&op, operands);
  if (expression.empty())
    return op.emitOpError("has no CUDA form");
  Type type = op.getResult(0).getType();
  std::string name = define(op.getResult(0));
  line() << "const " << cudaType(type) << " " << name << " = " << expression << ";\n";
  return success();
}

LogicalResult KernelPrinter::printBlock(Block &block) {
  // One lane writes a value that all lanes of a warp have in common, when all have read.
  auto isForOne = [&](Operation *op) {
    auto store = dyn_cast_or_null<memref::StoreOp>(op);
    return takesWarps && store && &block == &kernel.getBody().front() &&
           !store.getMemRef().getDefiningOp<memref::AllocaOp>();
  };
  for (Operation &op : block.without_terminator()) {
    const bool isFirst = isForOne(&op) && !isForOne(op.getPrevNode());
    const bool isLast = isForOne(&op) && !isForOne(op.getNextNode());
    if (isFirst) {
      line() << "__syncwarp();\n";
      line() << "if (lane == 0) {\n";
    }
    depth += isForOne(&op);
    if (failed(printOp(op)))
      return failure();
    depth -= isForOne(&op);
    if (isLast) {
      line() << "}\n";
      line() << "__syncwarp();\n";
    }
  }
  return success();
}

std::string KernelPrinter::parameters(bool ofElement) {
  std::string list;
  for (auto [i, argument] : llvm::enumerate(kernel.getArguments().drop_back(2))) {
    auto buffer = dyn_cast<MemRefType>(argument.getType());
    std::string name = names[argument] = "a" + std::to_string(i);
    if (!buffer)
      list += "const " + cudaType(argument.getType()) + " " + name + ", ";
    else if (ofElement && access->buffers[i].hasOne())
      list += (access->buffers[i].isWritten ? "" : "const ") +
              cudaStorageType(buffer.getElementType()) + " &" + name + ", ";
    else
      list += cudaStorageType(buffer.getElementType()) + " *" + name + ", ";
  }
  return list;
}

void KernelPrinter::printStart(bool asStage) {
  if (asStage)
    os << "static __device__ __noinline__ void " << kernel.getSymName() << "_body(";
  else
    // Two blocks, so that one has numbers under way while the other one computes.
    os << "extern \"C\" __global__ void __launch_bounds__(" << kCudaBlockThreads
       << (access && access->sharesNeighbours() ? ", 2) " : ") ") << kernel.getSymName() << "(";
  os << parameters(/*ofElement=*/false) << "const index count"
     << (asStage ? ", const unsigned first_block" : "") << ") {\n";
}

std::string KernelPrinter::firstOf(StringRef function, bool asStage) {
  return (function + (asStage ? "(first_block)" : "()")).str();
}

LogicalResult KernelPrinter::print(bool asStage) {
  auto arguments = kernel.getArguments();
  BlockArgument begin = arguments.drop_back().back(), end = arguments.back();
  names[begin] = "i";
  names[end] = "end";
  if (access)
    return printElements(asStage);
  printStart(asStage);
  depth = 2;
  if (takesWarps)
    os << "  const int lane = threadIdx.x % 32;\n"
          "  for (index i = "
       << firstOf("first_row", asStage) << "; i < count; i += row_step()) {\n";
  else
    os << "  for (index i = " << firstOf("first_index", asStage)
       << "; i < count; i += index_step()) {\n";
  if (!end.use_empty())
    line() << "const index end = i + 1;\n";
  if (failed(printBlock(kernel.getBody().front())))
    return failure();
  os << "  }\n}\n";
  return success();
}
