// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names that C and the linker have already.
#include "lib/Driver/ModelName.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using llvm::StringLiteral;
using llvm::StringRef;

std::string mpc::toIdentifier(StringRef text) {
  std::string name;
  for (char c : text)
    name += llvm::isAlnum(c) || c == '_' ? c : '_';
  if (name.empty() || llvm::isDigit(name[0]) || StringRef(name).starts_with("mpc_rt"))
    name = "m" + name;
  return name;
}

StringRef mpc::findHidden(StringRef name) {
  static constexpr StringLiteral headers[] = {
      "assert",   "complex", "ctype",  "dlfcn",  "errno",  "fcntl",   "fenv",   "float",
      "inttypes", "limits",  "locale", "math",   "memory", "pthread", "sched",  "setjmp",
      "signal",   "stdarg",  "stddef", "stdint", "stdio",  "stdlib",  "string", "threads",
      "time",     "uchar",   "unistd", "wchar",  "wctype"};
  static constexpr StringLiteral libraries[] = {"c", "dl", "gomp", "m", "mpcrt", "pthread", "rt"};
  if (llvm::is_contained(headers, name))
    return "header";
  return llvm::is_contained(libraries, name) ? "library" : "";
}
