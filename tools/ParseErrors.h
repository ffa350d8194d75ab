// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The messages of mpcc and mpc-convert about a command line that LLVM's parser refuses: its own
// start with the program's name, theirs with the severity.
#ifndef MPC_TOOLS_PARSE_ERRORS_H
#define MPC_TOOLS_PARSE_ERRORS_H

#include "runtime/untrusted/outlets.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/WithColor.h"

namespace mpc {

/// A last word that is an option without the value that it needs: LLVM's parser would say so past
/// the stream that it is given.
inline bool reportMissingValue(llvm::StringRef tool, llvm::ArrayRef<const char *> arguments) {
  llvm::StringRef last = arguments.back();
  if (arguments.size() < 2 || !last.consume_front("-"))
    return false;
  last.consume_front("-");
  auto &options = llvm::cl::getRegisteredOptions();
  auto option = options.find(last);
  if (option == options.end() || option->second->getValueExpectedFlag() != llvm::cl::ValueRequired)
    return false;
  llvm::WithColor::error(llvm::errs())
      << untrusted::forLine(arguments.back()) << ": needs a value, " << option->second->ValueStr
      << "; try " << tool << " --help\n";
  return true;
}

inline void reportParseErrors(llvm::StringRef tool, llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines) {
    if (!line.consume_front(tool) || !line.consume_front(": "))
      continue;
    if (line.consume_front("Did you mean ")) {
      llvm::WithColor::note(llvm::errs()) << "did you mean " << untrusted::forLine(line) << "\n";
      continue;
    }
    llvm::StringRef message = line.split("  Try:").first;
    message.consume_back("!");
    message.consume_back(".");
    llvm::WithColor::error(llvm::errs())
        << untrusted::forLine(message) << "; try " << tool << " --help\n";
  }
}

} // namespace mpc

#endif // MPC_TOOLS_PARSE_ERRORS_H
