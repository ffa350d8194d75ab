/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The functions that mpcc and libmpctools leave out of the archives that they link, and what glibc
 * 2.34 lacks.
 *
 * lld asks for every processor that LLVM knows, to optimise bitcode at link time; mpcc gives it
 * objects for x86-64. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

#define HIDDEN __attribute__((visibility("hidden")))

#define PROCESSOR(name)                                                                            \
  HIDDEN void LLVMInitialize##name##TargetInfo(void) {}                                            \
  HIDDEN void LLVMInitialize##name##Target(void) {}                                                \
  HIDDEN void LLVMInitialize##name##TargetMC(void) {}                                              \
  HIDDEN void LLVMInitialize##name##AsmPrinter(void) {}                                            \
  HIDDEN void LLVMInitialize##name##AsmParser(void) {}

#include "processors.def"

/* glibc has it since 2.36. LLVM names temporary files with it, and std::random_device reads it. */
HIDDEN uint32_t arc4random(void) {
  uint32_t number = 0;
  if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
    abort();
  return number;
}

/* Only bitcode is optimised with Polly. */
HIDDEN void _Z18getPollyPluginInfov(void) { abort(); }
