// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// lld as a program beside mpcc, for machines that have no linker (cmake/MpcPortable.cmake): mpcc
// runs it as it runs the system's, so that a linker that fails or runs out of memory leaves mpcc
// standing.
#include "lld/Common/Driver.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"

LLD_HAS_DRIVER(elf)

int main(int count, char **arguments) {
  llvm::SmallVector<const char *, 64> all(arguments, arguments + count);
  const lld::Result result =
      lld::lldMain(all, llvm::outs(), llvm::errs(), {{lld::Gnu, &lld::elf::link}});
  return result.retCode;
}
