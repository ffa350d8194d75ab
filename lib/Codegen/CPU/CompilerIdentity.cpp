// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Linkers write a hash of a program or library into it, its build ID, which the loader has mapped.
#include "lib/Codegen/CPU/CompilerIdentity.h"
#include "llvm-c/Core.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>
#include <elf.h>
#include <link.h>

using llvm::StringRef;

/// The build ID among the notes, in hexadecimal digits; empty for none.
static std::string findBuildId(StringRef notes, size_t alignment) {
  constexpr StringRef owner("GNU\0", 4);
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes.data(), sizeof header);
    notes = notes.drop_front(sizeof header);
    const size_t name = llvm::alignTo(header.n_namesz, alignment);
    const size_t whole = name + llvm::alignTo(header.n_descsz, alignment);
    if (whole > notes.size())
      return "";
    if (header.n_type == NT_GNU_BUILD_ID && notes.take_front(header.n_namesz) == owner)
      return llvm::toHex(notes.substr(name, header.n_descsz), /*LowerCase=*/true);
    notes = notes.drop_front(whole);
  }
  return "";
}

static std::string buildIdOf(const dl_phdr_info &object) {
  for (size_t i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = object.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE)
      continue;
    const char *notes = reinterpret_cast<const char *>(object.dlpi_addr + segment.p_vaddr);
    if (std::string id = findBuildId({notes, segment.p_memsz}, segment.p_align == 8 ? 8 : 4);
        !id.empty())
      return id;
  }
  return "";
}

/// Whether an address is in what the loader has mapped of the object.
static bool holds(const dl_phdr_info &object, const void *address) {
  const auto offset = reinterpret_cast<ElfW(Addr)>(address) - object.dlpi_addr;
  return llvm::any_of(llvm::ArrayRef(object.dlpi_phdr, object.dlpi_phnum), [&](auto &segment) {
    return segment.p_type == PT_LOAD && offset - segment.p_vaddr < segment.p_memsz;
  });
}

namespace {
struct Ids {
  std::string text = "LLVM " LLVM_VERSION_STRING;
  bool areAll = true;
};
} // namespace

/// Two objects make the code, or one: that of this function, and that of LLVM's.
static int addObject(dl_phdr_info *object, size_t, void *data) {
  auto &ids = *static_cast<Ids *>(data);
  if (!holds(*object, reinterpret_cast<const void *>(&addObject)) &&
      !holds(*object, reinterpret_cast<const void *>(&LLVMGetVersion)))
    return 0;
  const std::string id = buildIdOf(*object);
  ids.areAll &= !id.empty();
  ids.text += " " + id;
  return 0;
}

std::string mpc::identifyCompiler() {
  Ids ids;
  dl_iterate_phdr(addObject, &ids);
  return ids.areAll ? ids.text : "";
}
