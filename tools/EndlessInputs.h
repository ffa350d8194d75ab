// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tools that MLIR's libraries drive read their input to its end, which some devices do not
// have: /dev/zero would fill the memory until the system ends some process.
#ifndef MPC_TOOLS_ENDLESS_INPUTS_H
#define MPC_TOOLS_ENDLESS_INPUTS_H

#include "runtime/untrusted/outlets.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace mpc {

/// Linux's devices of zeros and of random bytes (Documentation/admin-guide/devices.txt: 1, 5 zero,
/// 7 full, 8 random, 9 urandom). Terminals end when the user says so.
inline bool isEndless(const struct stat &info) {
  if (!S_ISCHR(info.st_mode) || major(info.st_rdev) != 1)
    return false;
  const unsigned number = minor(info.st_rdev);
  return number == 5 || (number >= 7 && number <= 9);
}

/// The word of a command line that names the input, "-" where none does.
inline llvm::StringRef inputOf(llvm::ArrayRef<const char *> words) {
  for (size_t i = 1; i < words.size(); ++i) {
    llvm::StringRef word(words[i]);
    if (word == "-o" || word == "--o")
      ++i;
    else if (word == "-" || !word.starts_with("-"))
      return word;
  }
  return "-";
}

/// Whether the command line asks for what is answered without an input.
inline bool isQuestion(llvm::ArrayRef<const char *> words) {
  for (llvm::StringRef word : words.drop_front())
    for (llvm::StringRef question : {"help", "version", "list-passes", "show-dialects"})
      if (word.starts_with("-") && word.ltrim('-').starts_with(question))
        return true;
  return false;
}

/// Says so and returns true where the input never ends.
inline bool refuseEndlessInput(int argc, char **argv) {
  llvm::ArrayRef<const char *> words(argv, argc);
  if (isQuestion(words))
    return false;
  const llvm::StringRef input = inputOf(words);
  struct stat info;
  if ((input == "-" ? ::fstat(0, &info) : ::stat(input.str().c_str(), &info)) != 0 ||
      !isEndless(info))
    return false;
  llvm::WithColor::error(llvm::errs())
      << (input == "-" ? "<stdin>" : untrusted::forLine(input))
      << ": is a device that never ends; expected a file or a pipe\n";
  return true;
}

} // namespace mpc

#endif // MPC_TOOLS_ENDLESS_INPUTS_H
