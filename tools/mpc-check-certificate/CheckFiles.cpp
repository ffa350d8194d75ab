// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads certificate, IR and weights, which are all hostile, and prints the verdict.
#include "tools/mpc-check-certificate/CheckFiles.h"
#include "lib/Policy/JsonText.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mpc/Import/IR/CheckIR.h"
#include "mpc/InitAll.h"
#include "mpc/Support/InputFile.h"
#include "runtime/untrusted/outlets.h"
#include "tools/ShownDiagnostics.h"
#include "tools/WeightsFile.h"
#include "tools/mpc-check-certificate/Checker.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

using namespace mpc;

int check::fail(const llvm::Twine &message, int status) {
  llvm::WithColor::error(llvm::errs()) << untrusted::forLine(message.str()) << '\n';
  return status;
}

int check::checkFiles(const std::string &certificatePath, const std::string &modulePath) {
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
  const Verdict verdict = checkCertificate(*object, *module, weights);
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
