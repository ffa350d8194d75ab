// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Driver/CheckOutputs.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mpc;

ExitCode mpc::checkOutputs(const CompileOptions &options, DiagnosticPrinter &diagnostics,
                           llvm::StringRef directory, llvm::ArrayRef<std::string> names) {
  for (const std::string &file : names) {
    llvm::SmallString<128> path(directory);
    llvm::sys::path::append(path, file);
    for (llvm::StringRef input :
         {llvm::StringRef(options.model), llvm::StringRef(options.pipeline.policy),
          llvm::StringRef(options.loss), llvm::StringRef(options.optimizer),
          llvm::StringRef(options.metrics)}) {
      // Names of policies and losses are no files.
      bool isSame = false;
      if (input.empty() || llvm::sys::fs::equivalent(path, input, isSame) || !isSame)
        continue;
      diagnostics.error(input + ": would be replaced by the output " + path +
                        "; name another folder with -o, or another model with --name");
      return kExitUsage;
    }
  }
  return kExitDone;
}

ExitCode mpc::checkArchive(const CompileOptions &options, DiagnosticPrinter &diagnostics,
                           llvm::StringRef path) {
  if (llvm::sys::fs::is_directory(path)) {
    diagnostics.error(path +
                      ": is a folder; expected a file for --emit=archive; remove it, or name "
                      "a file with -o");
    return kExitBadInput;
  }
  llvm::StringRef folder = llvm::sys::path::parent_path(path);
  return checkOutputs(options, diagnostics, folder, {llvm::sys::path::filename(path).str()});
}
