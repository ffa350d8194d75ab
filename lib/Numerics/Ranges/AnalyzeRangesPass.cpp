// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-analyze-ranges. No table declares it: the tool that registers it brings the reader of
// weights.
#include "mlir/Pass/Pass.h"
#include "mpc/Analysis/PhasePass.h"
#include "mpc/Numerics/Ranges/Ranges.h"
#include "mpc/Support/AtomicFile.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mpc;

namespace {

class AnalyzeRangesPass : public PassWrapper<AnalyzeRangesPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AnalyzeRangesPass)

  AnalyzeRangesPass(WeightsReader readWeights, RangesReader readData)
      : readWeights(std::move(readWeights)), readData(std::move(readData)) {}
  AnalyzeRangesPass(const AnalyzeRangesPass &other)
      : PassWrapper(other), readWeights(other.readWeights), readData(other.readData) {}

  StringRef getArgument() const final { return "mpc-analyze-ranges"; }
  StringRef getDescription() const final {
    return "prove bounds of every value: IR of the phases casts to fusion, which stays as it is";
  }

  void runOnOperation() final {
    if (failed(analyze()))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  LogicalResult analyze();
  LogicalResult readInputs(func::FuncOp function, RangeFacts &facts);
  void tell(const RangeAnalysis &analysis);
  /// Writes the file that an option names.
  LogicalResult write(const Option<std::string> &path, const std::string &text);

  ListOption<std::string> inputs{
      *this, "inputs",
      llvm::cl::desc("NAME:LOW:HIGH of inputs, targets, sample weights; else any number")};
  Option<std::string> dataFile{*this, "data",
                               llvm::cl::desc("data whose arrays are what `inputs` leaves out"),
                               llvm::cl::init("")};
  Option<std::string> weightsFile{*this, "weights", llvm::cl::desc("safetensors file of variables"),
                                  llvm::cl::init("")};
  Option<bool> training{
      *this, "training",
      llvm::cl::desc("bound what training computes, not prediction: noise, statistics of batches"),
      llvm::cl::init(false)};
  Option<std::string> functionName{*this, "function",
                                   llvm::cl::desc("function to bound (forward, else predict)"),
                                   llvm::cl::init("")};
  Option<std::string> certificateFile{
      *this, "certificate",
      llvm::cl::desc("file for the certificate; without it and `html` remarks tell the bounds"),
      llvm::cl::init("")};
  Option<std::string> pageFile{*this, "html", llvm::cl::desc("file for a page about the bounds"),
                               llvm::cl::init("")};
  WeightsReader readWeights;
  RangesReader readData;
};

} // namespace

/// "x:-1:1" for each input, of which the name may have colons.
LogicalResult AnalyzeRangesPass::readInputs(func::FuncOp function, RangeFacts &facts) {
  if (!dataFile.empty()) {
    llvm::Expected<InputRanges> ranges = readData(dataFile);
    if (!ranges)
      return function.emitError() << llvm::toString(ranges.takeError());
    facts.inputs = selectInputs(function, *ranges);
  }
  llvm::StringSet<> names;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (StringAttr name = findGivenName(function, i))
      names.insert(name.getValue());
  for (const std::string &input : inputs) {
    auto [rest, high] = StringRef(input).rsplit(':');
    auto [name, low] = rest.rsplit(':');
    std::pair<double, double> range;
    if (low.getAsDouble(range.first) || high.getAsDouble(range.second) ||
        !std::isfinite(range.first) || !std::isfinite(range.second) || range.first > range.second)
      return function.emitError() << "inputs=" << input
                                  << ": expected NAME:LOW:HIGH with finite LOW <= HIGH";
    if (!names.contains(name))
      return function.emitError() << "inputs=" << input << ": @" << function.getSymName()
                                  << " has no input, target or sample weights of this name";
    facts.inputs[name.str()] = range;
  }
  return success();
}

LogicalResult AnalyzeRangesPass::analyze() {
  ModuleOp module = getOperation();
  if (failed(verifyPhaseOfOps(module, Phase::Fusion, getArgument())))
    return failure();
  func::FuncOp function;
  for (StringRef name : {StringRef(functionName), StringRef("forward"), StringRef("predict")})
    if (!function && !name.empty())
      function = module.lookupSymbol<func::FuncOp>(name);
  if (!function || !llvm::hasSingleElement(function.getBody()))
    return module.emitError() << "has no function to bound; expected @forward or @predict with a "
                                 "body of one block, or function=NAME";
  if (function.walk([](LayerOp) { return WalkResult::interrupt(); }).wasInterrupted())
    return function.emitError() << "still has layers, so that its types are not those that it "
                                   "computes in; expected IR of the phase casts or later";
  RangeFacts facts;
  facts.training = training;
  if (failed(readInputs(function, facts)))
    return failure();
  WeightStore weights;
  if (!weightsFile.empty()) {
    llvm::Expected<WeightStore> read = readWeights(weightsFile);
    if (!read)
      return module.emitError() << llvm::toString(read.takeError());
    weights = std::move(*read);
    facts.weights = &weights;
  }
  const RangeAnalysis analysis(function, facts);
  if (certificateFile.empty() && pageFile.empty())
    tell(analysis);
  if (!certificateFile.empty() &&
      failed(write(certificateFile,
                   llvm::formatv("{0:2}\n", llvm::json::Value(makeCertificate(analysis))).str())))
    return failure();
  return pageFile.empty() ? success() : write(pageFile, writeRangesPage(analysis));
}

static std::string print(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", number);
  return text;
}

void AnalyzeRangesPass::tell(const RangeAnalysis &analysis) {
  forEachValue(analysis.getFunction(), [&](Value value) {
    const Bound &bound = analysis.at(value);
    auto remark = emitRemark(value.getLoc());
    Operation *op = value.getDefiningOp();
    remark << (op ? op->getName().stripDialect().str() : "argument") << " " << elementTypeOf(value)
           << " in [" << print(bound.low) << ", " << print(bound.high) << "]";
    if (bound.mayBeNan)
      remark << " or NaN";
    if (isa<FloatType>(elementTypeOf(value)))
      remark << (fitsFloat16(bound) ? ", cannot overflow in float16"
                                    : ", cannot be shown to fit float16");
    if (std::isfinite(bound.error))
      remark << ", error at most " << print(bound.error);
  });
}

LogicalResult AnalyzeRangesPass::write(const Option<std::string> &path, const std::string &text) {
  const StringRef folder = llvm::sys::path::parent_path(path.getValue());
  AtomicFiles files(folder.empty() ? "." : folder, path.getArgStr());
  llvm::Error failure = files.add(llvm::sys::path::filename(path.getValue()).str(), text);
  if (!failure)
    failure = files.commit();
  if (failure)
    return getOperation().emitError() << llvm::toString(std::move(failure));
  return success();
}

std::unique_ptr<Pass> mpc::createAnalyzeRanges(WeightsReader readWeights, RangesReader readData) {
  return std::make_unique<AnalyzeRangesPass>(std::move(readWeights), std::move(readData));
}
