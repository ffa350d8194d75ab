// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-pad-dims: dimensions of contractions as multiples of what matrix units want. Zeros on both
// sides of the contracted dimensions add nothing to the sums; padded results are sliced off at
// once. Products of integers also get the right operand in the one order that cuBLASLt takes, and
// convolutions of integers become such products.
#include "dialects/mpc/IR/Float8.h"
#include "dialects/mpc/IR/ShortSums.h"
#include "lib/Transforms/DimensionNames.h"
#include "lib/Transforms/Fusion.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Transforms/Passes.h"
#include "mpc/Transforms/TensorCores.h"

namespace mpc {
#define GEN_PASS_DEF_PADDIMS
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// Rows of whole lines of the cache are read without a part of a neighbour, tiles in one piece:
/// where NVIDIA's guide to matrix products on an A100 sees no more to gain, and why 50304 words are
/// faster than 50257.
static constexpr int64_t kCudaLineBits = 1024;

static Value padTo(OpBuilder &builder, Location loc, Value value, int64_t axis, int64_t extent) {
  int64_t high = extent - tensorTypeOf(value).getDimSize(axis);
  if (high == 0)
    return value;
  return PadOp::create(builder, loc, value, axis, /*low=*/0, high, llvm::APFloat(0.0));
}

namespace {
struct PadDimsPass : mpc::impl::PadDimsBase<PadDimsPass> {
  using PadDimsBase::PadDimsBase;

  void runOnModule() override {
    if (multiple < 0) {
      getOperation().emitError() << "multiple=" << int64_t(multiple)
                                 << ": expected a positive number, or 0";
      return signalPassFailure();
    }
    const DimensionNames dimensionNames(getOperation());
    names = &dimensionNames;
    IRRewriter rewriter(&getContext());
    if (isCuda())
      for (auto function : getOperation().getOps<func::FuncOp>())
        if (isEntry(function))
          expandIntegerConvolutions(rewriter, function);
    SmallVector<ContractOp> contracts;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (isEntry(function))
        function.walk([&](Operation *op) {
          if (auto contract = dyn_cast<ContractOp>(op))
            contracts.push_back(contract);
          else if (isCuda())
            explainOther(op);
        });
    for (ContractOp contract : contracts) {
      Type element = elementTypeOf(contract.getLhs());
      if (isCuda() && element.isInteger(8))
        orderForIntegers(rewriter, contract);
      const int64_t step =
          multiple == 0 && isCuda() ? tensorCoreMultiple(element) : int64_t(multiple);
      if (step > 1)
        Padding(*this, rewriter, contract, step).run();
      else
        remark::missed(contract.getLoc(), fusionRemark("not-padded"))
            << "no dimension padded: a CPU gains nothing from it";
    }
  }

  bool isCuda() const { return device == Device::cuda; }

  static int64_t lineOf(Type element) { return kCudaLineBits / element.getIntOrFloatBitWidth(); }

  /// The padded extent. If it is padded anyway, it is padded to whole lines of the cache where that
  /// adds little.
  int64_t paddedTo(int64_t extent, int64_t step, Type element) const {
    const int64_t wide = llvm::alignTo(extent, lineOf(element));
    const bool widens = isCuda() && multiple == 0 && extent % step != 0 && widenShare > 0 &&
                        (wide - extent) <= extent / widenShare;
    return widens ? wide : llvm::alignTo(extent, step);
  }

  /// "units of 'dense'", in parentheses.
  std::string nameOf(Location loc, int64_t extent) const {
    const std::string name = names->describe(loc, extent);
    return name.empty() ? "" : " (" + name + ")";
  }

  /// Explains why ops that are multiplied in another way, or not at all, are not padded, with the
  /// advice of Keras's mixed precision guide.
  void explainOther(Operation *op) const {
    auto explain = [&](const Twine &what, Type element, int64_t extent, StringRef why) {
      if (element.getIntOrFloatBitWidth() != 16 || ShapedType::isDynamic(extent))
        return;
      const int64_t step = tensorCoreMultiple(element);
      auto remark = remark::missed(op->getLoc(), fusionRemark("not-padded"));
      std::string text = (what + nameOf(op->getLoc(), extent) + " is " + Twine(extent)).str();
      if (extent % step == 0)
        remark << text + ", a multiple of " + std::to_string(step) + " already";
      else
        remark << text + ": " + why.str() + "; make it a multiple of " + std::to_string(step);
    };
    if (auto convolution = dyn_cast<ConvolutionOp>(op)) {
      auto filter = tensorTypeOf(convolution.getFilter());
      const StringRef why = "products of a convolution's columns take it as it is";
      explain("channels", filter.getElementType(),
              tensorTypeOf(convolution.getInput()).getShape().back(), why);
      explain("filters", filter.getElementType(), filter.getShape().back(), why);
    } else if (auto gather = dyn_cast<GatherOp>(op);
               gather && gather.getAxis() == 0 &&
               isa<FloatType>(elementTypeOf(gather.getTable()))) {
      auto table = tensorTypeOf(gather.getTable());
      if (table.getRank() == 2)
        explain("width of the table's rows", table.getElementType(), table.getDimSize(1),
                "rows are copied, not multiplied");
    }
  }

  /// Brings the right operand to [batch, free, contracted]: of integers cuBLASLt multiplies rows
  /// with rows only (its "TN" form).
  static void orderForIntegers(IRRewriter &rewriter, ContractOp contract) {
    SmallVector<int64_t> order(contract.getRhsBatch());
    llvm::append_range(order, contract.getRhsFree());
    llvm::append_range(order, contract.getRhsContracting());
    auto type = tensorTypeOf(contract.getRhs());
    if (llvm::is_sorted(order) || !type.hasStaticShape())
      return;
    rewriter.setInsertionPoint(contract);
    Value ordered = TransposeOp::create(rewriter, contract.getLoc(), contract.getRhs(), order);
    auto dimensions = [&](size_t first, size_t count) {
      return llvm::to_vector(llvm::seq<int64_t>(first, first + count));
    };
    const size_t batch = contract.getRhsBatch().size(), sums = contract.getRhsContracting().size();
    rewriter.modifyOpInPlace(contract, [&] {
      contract.getRhsMutable().assign(ordered);
      contract.setRhsBatch(dimensions(0, batch));
      contract.setRhsContracting(dimensions(order.size() - sums, sums));
    });
  }

private:
  /// One product, and its operands as they become.
  class Padding {
  public:
    Padding(const PadDimsPass &pass, IRRewriter &rewriter, ContractOp contract, int64_t step)
        : pass(pass), rewriter(rewriter), contract(contract), step(step), loc(contract.getLoc()),
          element(elementTypeOf(contract.getLhs())), lhs(contract.getLhs()),
          rhs(contract.getRhs()) {}

    void run();

  private:
    bool gains() const;
    bool hasSamples(RankedTensorType type, ArrayRef<int64_t> axes) const;
    int64_t paddedExtent(StringRef what, RankedTensorType type, int64_t axis) const;
    void explain(const std::string &text, int64_t extent, int64_t target) const;
    void padContracted();
    void padFree(StringRef what, Value &operand, ArrayRef<int64_t> free);
    void replace();

    const PadDimsPass &pass;
    IRRewriter &rewriter;
    ContractOp contract;
    const int64_t step;
    const Location loc;
    const Type element;
    Value lhs, rhs;
  };

  const DimensionNames *names = nullptr; ///< of the module that the pass runs on
};
} // namespace

/// Whether padding is of any use here; else says why not.
bool PadDimsPass::Padding::gains() const {
  if (element.getIntOrFloatBitWidth() > 16) {
    remark::missed(loc, fusionRemark("not-padded"))
        << "no dimension padded: only 16-bit and 8-bit operands gain from it";
    return false;
  }
  if (pass.isCuda() && hasShortSums(contract)) {
    remark::missed(loc, fusionRemark("not-padded"))
        << "no dimension padded: sums of so few terms are a kernel, not a product of the library";
    return false;
  }
  return true;
}

/// The driver takes any number of rows of float8. It copies operands that are summed over samples,
/// with rows of zeros behind them.
bool PadDimsPass::Padding::hasSamples(RankedTensorType type, ArrayRef<int64_t> axes) const {
  return isFloat8(element) &&
         llvm::any_of(axes, [&](int64_t axis) { return type.isDynamicDim(axis); });
}

void PadDimsPass::Padding::explain(const std::string &text, int64_t extent, int64_t target) const {
  if (target != extent)
    remark::passed(loc, fusionRemark("padded"))
        << text + "; make it a multiple of " +
               (target == static_cast<int64_t>(llvm::alignTo(extent, step))
                    ? std::to_string(step)
                    : std::to_string(lineOf(element)) + " (rows of 128 bytes), of " +
                          std::to_string(step) + " at least")
        << remark::metric("from", extent) << remark::metric("to", target);
  else
    remark::missed(loc, fusionRemark("not-padded")) << text + " is " + std::to_string(extent) +
                                                           ", a multiple of " +
                                                           std::to_string(step) + " already";
}

/// The padded extent of `axis`; dynamic where it is.
int64_t PadDimsPass::Padding::paddedExtent(StringRef what, RankedTensorType type,
                                           int64_t axis) const {
  int64_t extent = type.getDimSize(axis);
  if (ShapedType::isDynamic(extent)) {
    remark::missed(loc, fusionRemark("not-padded"))
        << what.str() + " is the batch, known at run time only; make it a multiple of " +
               std::to_string(step);
    return extent;
  }
  const int64_t target = pass.paddedTo(extent, step, element);
  explain(what.str() + pass.nameOf(loc, extent), extent, target);
  return target;
}

void PadDimsPass::Padding::padContracted() {
  ArrayRef<int64_t> lhsAxes = contract.getLhsContracting();
  auto type = tensorTypeOf(contract.getLhs());
  if (lhsAxes.empty() || hasSamples(type, lhsAxes))
    return;
  int64_t extent = paddedExtent("contracted dimension", type, lhsAxes.back());
  if (ShapedType::isDynamic(extent))
    return;
  lhs = padTo(rewriter, loc, lhs, lhsAxes.back(), extent);
  rhs = padTo(rewriter, loc, rhs, contract.getRhsContracting().back(), extent);
}

void PadDimsPass::Padding::padFree(StringRef what, Value &operand, ArrayRef<int64_t> free) {
  auto type = tensorTypeOf(operand);
  if (free.empty() || hasSamples(type, free))
    return;
  int64_t extent = paddedExtent(what, type, free.back());
  if (!ShapedType::isDynamic(extent))
    operand = padTo(rewriter, loc, operand, free.back(), extent);
}

/// The padded product, and of its result what the product had.
void PadDimsPass::Padding::replace() {
  auto type = contract.getType();
  SmallVector<int64_t> lhsFree = contract.getLhsFree(), rhsFree = contract.getRhsFree();
  SmallVector<int64_t> shape(type.getShape());
  int64_t lhsAxis = contract.getLhsBatch().size() + lhsFree.size() - 1,
          rhsAxis = type.getRank() - 1;
  if (!lhsFree.empty())
    shape[lhsAxis] = tensorTypeOf(lhs).getDimSize(lhsFree.back());
  if (!rhsFree.empty())
    shape[rhsAxis] = tensorTypeOf(rhs).getDimSize(rhsFree.back());
  Value bias = contract.getBias();
  if (bias) {
    const int64_t rank = tensorTypeOf(bias).getRank(), first = type.getRank() - rank;
    for (int64_t axis = 0; axis < rank; ++axis)
      if (type.getDimSize(first + axis) != shape[first + axis])
        bias = padTo(rewriter, loc, bias, axis, shape[first + axis]);
  }
  Value result = ContractOp::create(rewriter, loc, type.clone(shape), lhs, rhs, bias,
                                    contract.getLhsBatch(), contract.getRhsBatch(),
                                    contract.getLhsContracting(), contract.getRhsContracting(),
                                    contract.getAccumulateAttr(), contract.getActivation());
  for (auto [axis, extent] : llvm::enumerate(type.getShape()))
    if (extent != shape[axis])
      result = SliceOp::create(rewriter, loc, result, axis, /*offset=*/0, extent);
  rewriter.replaceOp(contract, result);
}

void PadDimsPass::Padding::run() {
  if (!gains())
    return;
  rewriter.setInsertionPoint(contract);
  if (!contract.getLhsBatch().empty())
    remark::missed(loc, fusionRemark("not-padded"))
        << "samples and heads, of which each is a product of its own" + pass.nameOf(loc, -1);
  // Neighbours in one group would merge into a dimension with holes; each is padded for itself,
  // which keeps the group's extent a multiple too.
  padContracted();
  padFree("free dimension of the left operand", lhs, contract.getLhsFree());
  padFree("free dimension of the right operand", rhs, contract.getRhsFree());
  if (lhs != contract.getLhs() || rhs != contract.getRhs())
    replace();
}
