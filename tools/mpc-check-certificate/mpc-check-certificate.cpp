// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-check-certificate C.json M.mlir: whether what mpc-analyze-ranges claims holds. Ends with 0
// where it does, 1 where it does not, 2 where the command line is wrong.
#include "lib/Policy/JsonText.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mpc/Import/IR/CheckIR.h"
#include "mpc/InitAll.h"
#include "mpc/Support/InputFile.h"
#include "runtime/untrusted/outlets.h"
#include "tools/BugReport.h"
#include "tools/FatalErrors.h"
#include "tools/ShownDiagnostics.h"
#include "tools/StackSize.h"
#include "tools/Streams.h"
#include "tools/WeightsFile.h"
#include "tools/mpc-check-certificate/Checker.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

using namespace mpc;

namespace {

int fail(const llvm::Twine &message, int status = 1) {
  llvm::WithColor::error(llvm::errs()) << untrusted::forLine(message.str()) << '\n';
  return status;
}

const char *const kUsage =
    "OVERVIEW: check a certificate of mpc-analyze-ranges step by step, by code of its own\n\n"
    "USAGE: mpc-check-certificate C.json M.mlir\n\n"
    "M.mlir is the IR that was analyzed; weights are read from M.safetensors beside it if the\n"
    "certificate is about them. Ends with 0 if every claim holds, and with 1 otherwise.\n";

int checkFiles(const std::string &certificatePath, const std::string &modulePath) {
  auto certificateFile = readInputFile(certificatePath);
  if (!certificateFile)
    return fail(certificatePath + ": " + certificateFile.getError().message());
  llvm::Expected<llvm::json::Value> certificate = parseJsonText((*certificateFile)->getBuffer());
  if (!certificate)
    return fail(certificatePath + ": " + llvm::toString(certificate.takeError()));
  const llvm::json::Object *object = certificate->getAsObject();
  if (!object)
    return fail(certificatePath + ": is no certificate; expected a JSON object");
  auto moduleFile = readInputFile(modulePath);
  if (!moduleFile)
    return fail(modulePath + ": " + moduleFile.getError().message());
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  showDiagnostics(registry);
  if (llvm::Error error = checkIR((*moduleFile)->getMemBufferRef(), registry, false))
    return fail(llvm::toString(std::move(error)));
  mlir::MLIRContext context(registry);
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(*moduleFile), llvm::SMLoc());
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
  if (!module)
    return 1;
  WeightStore weights;
  if (object->getBoolean("weights").value_or(false)) {
    llvm::SmallString<128> path(modulePath);
    llvm::sys::path::replace_extension(path, "safetensors");
    llvm::Expected<WeightStore> read = readWeightsFile(path.str().str());
    if (!read)
      return fail(llvm::toString(read.takeError()));
    weights = std::move(*read);
  }
  const check::Verdict verdict = check::checkCertificate(*object, *module, weights);
  constexpr size_t mostFaults = 10;
  for (const std::string &fault : llvm::ArrayRef(verdict.faults).take_front(mostFaults))
    fail(certificatePath + ": " + fault);
  if (verdict.faults.size() > mostFaults)
    fail(certificatePath + ": and " + llvm::Twine(verdict.faults.size() - mostFaults) + " more");
  if (!verdict.faults.empty())
    return 1;
  llvm::outs() << untrusted::forLine(certificatePath) << ": valid: " << verdict.values
               << " values, " << verdict.fitting << " of which cannot overflow in float16\n";
  return 0;
}

int runTool(int argc, char **argv) {
  prepareStreams();
  askForReports();
  reportFatalErrors();
  std::vector<std::string> paths(argv + 1, argv + argc);
  if (paths.size() == 1 && paths[0] == "--help") {
    llvm::outs() << kUsage;
    return 0;
  }
  if (paths.size() == 1 && paths[0] == "--version") {
    llvm::outs() << "mpc-check-certificate " MPC_VERSION "\n";
    return 0;
  }
  for (const std::string &path : paths)
    if (llvm::StringRef(path).starts_with("-"))
      return fail(path + ": is no option; try mpc-check-certificate --help", 2);
  if (paths.size() != 2)
    return fail("expected C.json and M.mlir; try mpc-check-certificate --help", 2);
  return checkFiles(paths[0], paths[1]);
}

} // namespace

int main(int argc, char **argv) {
  return runOnUsualStack([&] { return runTool(argc, argv); });
}
