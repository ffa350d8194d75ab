// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The message about mpcc's own failures, and the file that shows them again. Phases rewrite the IR
// in place, so the way to the phase that failed is gone once more: only then does it cost anything.
#include "lib/Driver/Compilation.h"
#include "llvm/Support/FileSystem.h"

using namespace mpc;

/// The options that act on the phases that fail internally, from tensors on.
static std::string lateOptions(const CompileOptions &options, llvm::StringRef name) {
  std::string text = "--target=" + options.target + " --march=" + options.march;
  if (options.pipeline.biasGradientsInProducts)
    text += " --bias-gradients=products";
  if (options.cuda && options.cuda->fp32Precision != Fp32Precision::ieee)
    text += " --fp32-precision=" + stringifyFp32Precision(options.cuda->fp32Precision).str();
  if (options.emitCuda)
    text += " --emit=cuda";
  if (options.emitArchive)
    text += " --emit=archive";
  if (options.linkStatic)
    text += " --link=static";
  if (options.batchParts)
    text += " --deterministic-ranks=" + std::to_string(options.batchParts);
  if (options.pipeline.distributed)
    text += " --distributed --bucket-bytes=" + std::to_string(options.pipeline.bucketBytes) +
            " --gradient-dtype=" + options.pipeline.gradientDtype;
  if (options.embedWeights)
    text += " --weights=embedded";
  return text + " --name=" + name.str();
}

std::string Compilation::writeReproducer(Phase phase) {
  const Phase before = Phase(int(phase) - 1);
  CompileOptions again = options;
  again.compileTo = before;
  again.explain = Explain::Off;
  again.verbose = false;
  again.quiet = true;
  Compilation replay(again);
  replay.file = llvm::MemoryBuffer::getMemBuffer(file->getMemBufferRef(), false);
  if (replay.load() != kExitDone || replay.runPhases() != kExitDone)
    return options.model;
  int descriptor = -1;
  llvm::SmallString<128> path;
  if (llvm::sys::fs::createTemporaryFile("mpcc-" + name, "mlir", descriptor, path))
    return options.model;
  llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
  stream << "// mpcc --compile-from=" << stringifyPhase(before) << " " << lateOptions(options, name)
         << " FILE\n"
         << replay.printIR();
  stream.flush();
  if (stream.has_error()) {
    stream.clear_error();
    llvm::sys::fs::remove(path);
    return options.model;
  }
  return path.str().str();
}

ExitCode Compilation::reportInternalError(Phase phase, llvm::StringRef what) {
  diagnostics.error(options.model + ": internal error in the phase " + stringifyPhase(phase) +
                    ": " + what +
                    "; expected none, whatever the model is; please report it with the "
                    "reproducer " +
                    writeReproducer(phase));
  return kExitInternal;
}
