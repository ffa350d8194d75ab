// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Buffers as pointers. A pointer stands at the element of index 0 (offsets of views are in it);
// strides are static.
#include "dialects/mpc/IR/Float8.h"
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Conversion/MpcrtToLLVM/Lowering.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mpc;

Type mpc::storageType(Type element) {
  MLIRContext *context = element.getContext();
  if (element.isInteger(1))
    return IntegerType::get(context, 8);
  if (element.isF16() || element.isBF16())
    return IntegerType::get(context, 16);
  if (isFloat8(element))
    return IntegerType::get(context, 8);
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(context, integer.getWidth());
  return element;
}

/// How many vectors of iterations go side by side. LLVM takes one where a body is large, though the
/// larger it is, the longer is the chain of operations that each vector waits for: more of them
/// than a CPU looks ahead.
static LLVM::LoopInterleaveAttr interleavingOf(scf::ForOp loop) {
  constexpr int64_t kCopies = 4, kLongBody = 96, kLongInRow = 48, kFewIterations = 256;
  int64_t length = 0;
  for (Operation &op : *loop.getBody()) {
    if (op.getNumRegions() != 0)
      return {};
    ++length;
  }
  // A row is in the cache; what goes through whole buffers waits for memory, too. Of few iterations
  // the ones that are left over would be all.
  auto iterations = loop.getStaticTripCount();
  if (length < (iterations ? kLongInRow : kLongBody) ||
      (iterations && iterations->ult(kFewIterations)))
    return {};
  return LLVM::LoopInterleaveAttr::get(loop.getContext(),
                                       Builder(loop.getContext()).getI32IntegerAttr(kCopies));
}

void mpc::annotateIndependentLoops(ModuleOp module) {
  MLIRContext *context = module.getContext();
  module.walk([&](scf::ForOp loop) {
    if (!loop->removeAttr(mpcrt::MpcrtDialect::kIndependentAttr))
      return;
    auto group = LLVM::AccessGroupAttr::get(context, DistinctAttr::create(UnitAttr::get(context)));
    loop.walk([&](Operation *op) {
      if (isa<memref::LoadOp, memref::StoreOp>(op))
        op->setAttr(kAccessGroupAttr, ArrayAttr::get(context, group));
    });
    auto annotation = LLVM::LoopAnnotationAttr::get(
        context, /*disableNonforced=*/{}, /*vectorize=*/{}, interleavingOf(loop), /*unroll=*/{},
        /*unrollAndJam=*/{}, /*licm=*/{}, /*distribute=*/{}, /*pipeline=*/{}, /*peeled=*/{},
        /*unswitch=*/{}, /*mustProgress=*/{}, /*isVectorized=*/{}, /*startLoc=*/{}, /*endLoc=*/{},
        /*parallelAccesses=*/{group});
    loop->setAttr("llvm.loop_annotation", annotation);
  });
}

namespace {
template <typename Op> struct Pattern : ConvertOpToLLVMPattern<Op> {
  using ConvertOpToLLVMPattern<Op>::ConvertOpToLLVMPattern;
  using Adaptor = typename Op::Adaptor;

  Value constant(OpBuilder &builder, Location loc, int64_t value) const {
    return LLVM::ConstantOp::create(builder, loc, builder.getI64Type(),
                                    builder.getI64IntegerAttr(value));
  }

  /// base + sum(index * stride) elements.
  Value elementPointer(OpBuilder &builder, Location loc, MemRefType type, Value base,
                       ValueRange indices) const {
    SmallVector<int64_t> strides;
    int64_t offset;
    if (failed(type.getStridesAndOffset(strides, offset)))
      return {};
    Value linear;
    for (auto [index, stride] : llvm::zip_equal(indices, strides)) {
      if (ShapedType::isDynamic(stride))
        return {};
      Value term = index;
      if (stride != 1)
        term = LLVM::MulOp::create(builder, loc, term, constant(builder, loc, stride),
                                   LLVM::IntegerOverflowFlags::nsw);
      linear = linear ? Value(LLVM::AddOp::create(builder, loc, linear, term,
                                                  LLVM::IntegerOverflowFlags::nsw))
                      : term;
    }
    if (!linear)
      return base;
    return LLVM::GEPOp::create(builder, loc, LLVM::LLVMPointerType::get(builder.getContext()),
                               storageType(type.getElementType()), base,
                               ArrayRef<LLVM::GEPArg>{linear}, LLVM::GEPNoWrapFlags::inbounds);
  }
};

struct LoadPattern : Pattern<memref::LoadOp> {
  using Pattern::Pattern;
  LogicalResult matchAndRewrite(memref::LoadOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value pointer = elementPointer(rewriter, loc, op.getMemRefType(), adaptor.getMemref(),
                                   adaptor.getIndices());
    if (!pointer)
      return rewriter.notifyMatchFailure(op, "dynamic stride");
    Type element = op.getMemRefType().getElementType(), storage = storageType(element);
    auto load = LLVM::LoadOp::create(rewriter, loc, storage, pointer);
    if (auto groups = op->getAttrOfType<ArrayAttr>(kAccessGroupAttr))
      load.setAccessGroupsAttr(groups);
    Value value = load;
    if (element.isInteger(1)) // any nonzero byte is true: callers' bytes are not checked
      value = LLVM::ICmpOp::create(
          rewriter, loc, LLVM::ICmpPredicate::ne, value,
          LLVM::ConstantOp::create(rewriter, loc, storage, rewriter.getIntegerAttr(storage, 0)));
    else if (element.isF16() || element.isBF16())
      value = LLVM::BitcastOp::create(rewriter, loc, element, value);
    rewriter.replaceOp(op, value);
    return success();
  }
};

/// The elements are neighbours, and none of them is i1.
struct VectorLoadPattern : Pattern<vector::LoadOp> {
  using Pattern::Pattern;
  LogicalResult matchAndRewrite(vector::LoadOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value pointer =
        elementPointer(rewriter, loc, op.getMemRefType(), adaptor.getBase(), adaptor.getIndices());
    if (!pointer)
      return rewriter.notifyMatchFailure(op, "dynamic stride");
    VectorType type = op.getVectorType();
    Type storage = storageType(type.getElementType());
    Value value = LLVM::LoadOp::create(rewriter, loc, type.clone(storage), pointer,
                                       storage.getIntOrFloatBitWidth() / 8);
    if (type.getElementType().isF16() || type.getElementType().isBF16())
      value = LLVM::BitcastOp::create(rewriter, loc, type, value);
    rewriter.replaceOp(op, value);
    return success();
  }
};

struct StorePattern : Pattern<memref::StoreOp> {
  using Pattern::Pattern;
  LogicalResult matchAndRewrite(memref::StoreOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value pointer = elementPointer(rewriter, loc, op.getMemRefType(), adaptor.getMemref(),
                                   adaptor.getIndices());
    if (!pointer)
      return rewriter.notifyMatchFailure(op, "dynamic stride");
    Type element = op.getMemRefType().getElementType(), storage = storageType(element);
    Value value = adaptor.getValue();
    if (element.isInteger(1))
      value = LLVM::ZExtOp::create(rewriter, loc, storage, value);
    else if (element.isF16() || element.isBF16())
      value = LLVM::BitcastOp::create(rewriter, loc, storage, value);
    auto store = LLVM::StoreOp::create(rewriter, loc, value, pointer);
    if (auto groups = op->getAttrOfType<ArrayAttr>(kAccessGroupAttr))
      store.setAccessGroupsAttr(groups);
    rewriter.eraseOp(op);
    return success();
  }
};

/// Views that change no address.
template <typename Op> struct SameAddress : Pattern<Op> {
  using Pattern<Op>::Pattern;
  LogicalResult matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, adaptor.getOperands()[0]);
    return success();
  }
};

struct SubviewPattern : Pattern<memref::SubViewOp> {
  using Pattern::Pattern;
  LogicalResult matchAndRewrite(memref::SubViewOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> offsets;
    unsigned dynamic = 0;
    for (OpFoldResult offset : op.getMixedOffsets())
      offsets.push_back(
          isa<Attribute>(offset)
              ? constant(rewriter, op.getLoc(), cast<IntegerAttr>(cast<Attribute>(offset)).getInt())
              : adaptor.getOffsets()[dynamic++]);
    Value pointer =
        elementPointer(rewriter, op.getLoc(), op.getSourceType(), adaptor.getSource(), offsets);
    if (!pointer)
      return rewriter.notifyMatchFailure(op, "dynamic stride");
    rewriter.replaceOp(op, pointer);
    return success();
  }
};

struct ViewPattern : Pattern<mpcrt::ViewOp> {
  using Pattern::Pattern;
  LogicalResult matchAndRewrite(mpcrt::ViewOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    if (op.getUnstored()) {
      rewriter.replaceOpWithNewOp<LLVM::ZeroOp>(op,
                                                LLVM::LLVMPointerType::get(rewriter.getContext()));
      return success();
    }
    Value offset = constant(rewriter, loc, op.getFixed());
    if (op.getPerSample() != 0) {
      Value scaled = LLVM::MulOp::create(rewriter, loc, adaptor.getBatch(),
                                         constant(rewriter, loc, op.getPerSample()));
      offset = LLVM::AddOp::create(rewriter, loc, offset, scaled);
    }
    rewriter.replaceOpWithNewOp<LLVM::GEPOp>(op, LLVM::LLVMPointerType::get(rewriter.getContext()),
                                             rewriter.getI8Type(), adaptor.getArena(),
                                             ArrayRef<LLVM::GEPArg>{offset});
    return success();
  }
};

struct AllocaPattern : Pattern<memref::AllocaOp> {
  using Pattern::Pattern;
  LogicalResult matchAndRewrite(memref::AllocaOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!op.getType().hasStaticShape())
      return rewriter.notifyMatchFailure(op, "dynamic size");
    Value count = constant(rewriter, op.getLoc(), op.getType().getNumElements());
    rewriter.replaceOpWithNewOp<LLVM::AllocaOp>(
        op, LLVM::LLVMPointerType::get(rewriter.getContext()),
        storageType(op.getType().getElementType()), count, 64);
    return success();
  }
};

struct GlobalPattern : Pattern<memref::GlobalOp> {
  using Pattern::Pattern;
  LogicalResult matchAndRewrite(memref::GlobalOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto value = dyn_cast_or_null<DenseElementsAttr>(op.getInitialValue().value_or(Attribute()));
    if (!value || !op.getConstant())
      return rewriter.notifyMatchFailure(op, "not a dense constant");
    Type element = value.getElementType(), storage = storageType(element);
    int64_t count = value.getNumElements();
    auto flat = RankedTensorType::get({count}, storage);
    DenseElementsAttr stored;
    if (element.isInteger(1)) {
      SmallVector<APInt> bytes;
      for (bool bit : value.getValues<bool>())
        bytes.push_back(APInt(8, bit));
      stored = DenseElementsAttr::get(flat, bytes);
    } else if (isa<FloatType>(element) && element != storage) {
      SmallVector<APInt> bits;
      for (APFloat number : value.getValues<APFloat>())
        bits.push_back(number.bitcastToAPInt());
      stored = DenseElementsAttr::get(flat, bits);
    } else {
      stored = value.bitcast(storage).reshape(flat);
    }
    auto global = LLVM::GlobalOp::create(
        rewriter, op.getLoc(), LLVM::LLVMArrayType::get(storage, count),
        /*isConstant=*/true, LLVM::Linkage::Internal, op.getSymName(), stored, 64);
    (void)global;
    rewriter.eraseOp(op);
    return success();
  }
};

struct GetGlobalPattern : Pattern<memref::GetGlobalOp> {
  using Pattern::Pattern;
  LogicalResult matchAndRewrite(memref::GetGlobalOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::AddressOfOp>(
        op, LLVM::LLVMPointerType::get(rewriter.getContext()), op.getName());
    return success();
  }
};
} // namespace

void mpc::populateMemoryPatterns(const LLVMTypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LoadPattern, VectorLoadPattern, StorePattern, SubviewPattern, ViewPattern,
               AllocaPattern, GlobalPattern, GetGlobalPattern, SameAddress<memref::CollapseShapeOp>,
               SameAddress<memref::ExpandShapeOp>, SameAddress<memref::CastOp>>(converter);
}
