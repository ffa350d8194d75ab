// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-check-certificate C.json M.mlir: whether what mpc-analyze-ranges claims holds. Ends with 0
// where it does, 1 where it does not, 2 where the command line is wrong.
#include "tools/BugReport.h"
#include "tools/FatalErrors.h"
#include "tools/StackSize.h"
#include "tools/Streams.h"
#include "tools/mpc-check-certificate/CheckFiles.h"
#include "llvm/Support/raw_ostream.h"
#include <vector>

using namespace mpc;

static const char *const kUsage =
    "OVERVIEW: check a certificate of mpc-analyze-ranges step by step, by code of its own\n\n"
    "USAGE: mpc-check-certificate C.json M.mlir\n\n"
    "M.mlir is the IR that was analyzed; weights are read from M.safetensors beside it if the\n"
    "certificate is about them. Ends with 0 if every claim holds, and with 1 otherwise.\n";

static int runTool(int argc, char **argv) {
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
      return check::fail(path + ": is no option; try mpc-check-certificate --help", 2);
  if (paths.size() != 2)
    return check::fail("expected C.json and M.mlir; try mpc-check-certificate --help", 2);
  return check::checkFiles(paths[0], paths[1]);
}

int main(int argc, char **argv) {
  return runOnUsualStack([&] { return runTool(argc, argv); });
}
