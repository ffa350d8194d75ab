// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tools that MLIR's libraries drive parse their input in their own process: it is tried in a
// guarded one first.
#ifndef MPC_TOOLS_HOSTILE_IR_H
#define MPC_TOOLS_HOSTILE_IR_H

#include "mlir/Bytecode/BytecodeReader.h"
#include "mpc/Import/IR/CheckIR.h"
#include "tools/EndlessInputs.h"
#include "tools/ShownDiagnostics.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <sys/mman.h>
#include <unistd.h>

namespace mpc {

/// Reads standard input and puts it back, for the tool to read it again; where that fails, nothing
/// is returned, and the tool finds an empty input.
inline std::unique_ptr<llvm::MemoryBuffer> peekStandardInput() {
  auto buffer = llvm::MemoryBuffer::getSTDIN();
  if (!buffer)
    return nullptr;
  const int copy = ::memfd_create("stdin", MFD_CLOEXEC);
  llvm::raw_fd_ostream stream(copy, /*shouldClose=*/true);
  stream << (*buffer)->getBuffer();
  stream.flush();
  if (copy < 0 || stream.has_error() || ::lseek(copy, 0, SEEK_SET) != 0 || ::dup2(copy, 0) < 0) {
    stream.clear_error();
    return nullptr;
  }
  return std::move(*buffer);
}

/// Whether the command line asks for a translation into MLIR, whose input is none.
inline bool importsModel(llvm::ArrayRef<const char *> words) {
  return llvm::any_of(words, [](llvm::StringRef word) {
    return word.starts_with("-") && word.ltrim('-').starts_with("import-");
  });
}

/// The first line of text that a terminal would not show as it is, 0 if there is none: MLIR prints
/// lines of its input with its messages. Bytecode has no lines.
inline size_t findHiddenLine(llvm::MemoryBufferRef file) {
  if (mlir::isBytecode(file))
    return 0;
  llvm::StringRef rest = file.getBuffer();
  for (size_t line = 1; !rest.empty(); ++line) {
    llvm::StringRef text;
    std::tie(text, rest) = rest.split('\n');
    text.consume_back("\r");
    if (untrusted::forTerminal(text) != text)
      return line;
  }
  return 0;
}

/// Says so and returns true where the tool's input is IR that must not be parsed. An input that
/// cannot be read is left for the tool to refuse, as is a pipe with a name.
inline bool refuseHostileIR(int argc, char **argv, const mlir::DialectRegistry &registry) {
  llvm::ArrayRef<const char *> words(argv, argc);
  if (isQuestion(words) || importsModel(words))
    return false;
  const llvm::StringRef input = inputOf(words);
  std::unique_ptr<llvm::MemoryBuffer> file;
  if (input == "-") {
    file = peekStandardInput();
  } else if (llvm::sys::fs::is_regular_file(input)) {
    // A named pipe is left alone: what is read here, the tool could not read again.
    if (auto read = llvm::MemoryBuffer::getFile(input))
      file = std::move(*read);
  }
  if (!file)
    return false;
  if (const size_t line = findHiddenLine(*file)) {
    llvm::WithColor::error(llvm::errs())
        << untrusted::forLine(file->getBufferIdentifier()) << ":" << line
        << ": the IR has a character that a terminal would act upon; expected IR as mpcc "
           "--compile-to prints it, with escapes in strings\n";
    return true;
  }
  const bool allowsUnregistered = llvm::any_of(words, [](llvm::StringRef word) {
    return word.ltrim('-').starts_with("allow-unregistered-dialect");
  });
  llvm::Error error = checkIR(*file, registry, allowsUnregistered);
  if (!error)
    return false;
  llvm::WithColor::error(llvm::errs())
      << untrusted::forTerminal(llvm::toString(std::move(error))) << "\n";
  return true;
}

} // namespace mpc

#endif // MPC_TOOLS_HOSTILE_IR_H
