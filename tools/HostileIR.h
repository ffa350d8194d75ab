// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tools that MLIR's libraries drive parse their input in their own process: it is tried in a
// guarded one first.
#ifndef MPC_TOOLS_HOSTILE_IR_H
#define MPC_TOOLS_HOSTILE_IR_H

#include "mpc/Import/IR/CheckIR.h"
#include "tools/EndlessInputs.h"
#include "llvm/Support/MemoryBuffer.h"

#include <sys/mman.h>
#include <unistd.h>

namespace mpc {

/// What standard input holds. It is put back, for the tool to read it again; where that fails,
/// nothing is returned, and the tool finds an empty input.
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

/// Says so and returns true where the tool's input is IR that must not be parsed. An input that
/// cannot be read is left for the tool to refuse.
inline bool refuseHostileIR(int argc, char **argv, const mlir::DialectRegistry &registry) {
  llvm::ArrayRef<const char *> words(argv, argc);
  if (isQuestion(words))
    return false;
  const llvm::StringRef input = inputOf(words);
  std::unique_ptr<llvm::MemoryBuffer> file;
  if (input == "-") {
    file = peekStandardInput();
  } else if (auto read = llvm::MemoryBuffer::getFile(input)) {
    file = std::move(*read);
  }
  if (!file)
    return false;
  const bool allowsUnregistered = llvm::any_of(words, [](llvm::StringRef word) {
    return word.ltrim('-').starts_with("allow-unregistered-dialect");
  });
  llvm::Error error = checkIR(*file, registry, allowsUnregistered);
  if (!error)
    return false;
  llvm::WithColor::error(llvm::errs()) << llvm::toString(std::move(error)) << "\n";
  return true;
}

} // namespace mpc

#endif // MPC_TOOLS_HOSTILE_IR_H
