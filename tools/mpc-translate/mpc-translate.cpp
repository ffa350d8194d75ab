// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Translations into and out of the mpc dialect, without any pass: --import-keras, --export-dot, and
// --import-onnx, which says that it is not there.
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "mpc/Import/Keras/Import.h"
#include "mpc/InitAll.h"
#include "mpc/Target/Dot.h"
#include "runtime/untrusted/outlets.h"
#include "tools/BugReport.h"
#include "tools/EndlessInputs.h"
#include "tools/FatalErrors.h"
#include "tools/HostileIR.h"
#include "tools/StackSize.h"
#include "tools/Streams.h"
#include "tools/UsageStatus.h"
#include "tools/VersionLine.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

/// Sets `refused` where it was asked for.
static void registerImportOnnx(bool &refused) {
  static mlir::TranslateToMLIRRegistration registration(
      "import-onnx", "ONNX model to the mpc dialect (not in this version)",
      [&refused](llvm::SourceMgr &sources,
                 mlir::MLIRContext *) -> mlir::OwningOpRef<mlir::Operation *> {
        refused = true;
        llvm::WithColor::error()
            << sources.getMemoryBuffer(sources.getMainFileID())->getBufferIdentifier()
            << ": ONNX import is not in this version of mpc-translate; expected a Keras model for "
               "--import-keras; import the Keras model that it was made from\n";
        return {};
      },
      [](mlir::DialectRegistry &) {});
}

/// LLVM's options of a translation take no value: `--export-dot=layers` and `--export-svg=FILE`
/// become options that it knows. Null, and an error, for another value.
static std::optional<std::vector<std::string>> plainOptions(int argc, char **argv) {
  std::vector<std::string> words(argv, argv + argc);
  for (size_t i = 1; i < words.size(); ++i) {
    llvm::StringRef option = words[i];
    if (!option.consume_front("--"))
      option.consume_front("-");
    const auto [name, value] = option.split('=');
    if (option.find('=') == llvm::StringRef::npos)
      continue;
    if (name == "export-dot" && (value == "layers" || value == "ops")) {
      words[i] = value == "layers" ? "--export-dot-layers" : "--export-dot";
    } else if (name == "export-dot") {
      llvm::WithColor::error() << "mpc-translate: --export-dot is '"
                               << mpc::untrusted::forLine(value) << "'; expected ops or layers\n";
      return std::nullopt;
    } else if (name == "export-svg" && !value.empty()) {
      const std::string file = value.str();
      words[i] = "--export-svg";
      words.insert(words.begin() + static_cast<long>(++i), "-o=" + file);
    }
  }
  return words;
}

static int runTool(int givenCount, char **given) {
  const std::optional<std::vector<std::string>> words = plainOptions(givenCount, given);
  if (!words)
    return 2;
  std::vector<char *> pointers;
  for (const std::string &word : *words)
    pointers.push_back(const_cast<char *>(word.c_str()));
  pointers.push_back(nullptr);
  const int argc = static_cast<int>(words->size());
  char **argv = pointers.data();
  mpc::prepareStreams();
  mpc::askForReports();
  mpc::reportFatalErrors();
  mpc::setVersionLine("mpc-translate");
  if (mpc::refuseEndlessInput(argc, argv))
    return 1;
  mpc::keras::registerImportKeras();
  mpc::registerExportDot([](mlir::DialectRegistry &own) { mpc::showDiagnostics(own); });
  bool isOnnx = false;
  registerImportOnnx(isOnnx);
  mlir::DialectRegistry registry;
  mpc::registerAllDialects(registry);
  if (mpc::refuseHostileIR(argc, argv, registry))
    return 1;
  mpc::UsageStatus status;
  if (mlir::succeeded(mlir::mlirTranslateMain(argc, argv, "mpc translation\n")))
    return 0;
  return isOnnx ? 2 : 1; // as mpcc
}

int main(int argc, char **argv) {
  return mpc::runOnUsualStack([&] { return runTool(argc, argv); });
}
