// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Equal functions of two models have the same object but for names. These are changed where they
// stand: the string table moves behind everything else, with the new names at its end.
#include "lib/Codegen/CPU/SymbolNames.h"
#include "mpc/Support/InternalError.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/Endian.h"

using namespace mpc;
using llvm::StringRef;
using Elf = llvm::object::ELF64LE;

namespace {
/// The tables of an object that names are in, all within it.
struct Tables {
  size_t symbols, symbolCount; ///< place and number
  size_t stringsHeader;        ///< place of the string table's section header
  StringRef strings;
};
} // namespace

static llvm::Expected<Tables> findTables(StringRef object) {
  auto file = llvm::object::ELFFile<Elf>::create(object);
  if (!file)
    return file.takeError();
  auto sections = file->sections();
  if (!sections)
    return sections.takeError();
  for (const Elf::Shdr &section : *sections) {
    if (section.sh_type != llvm::ELF::SHT_SYMTAB)
      continue;
    auto symbols = file->symbols(&section);
    if (!symbols)
      return symbols.takeError();
    auto strings = file->getStringTableForSymtab(section, *sections);
    if (!strings)
      return strings.takeError();
    auto header = file->getSection(section.sh_link);
    if (!header)
      return header.takeError();
    auto place = [&](const void *inside) {
      return size_t(static_cast<const char *>(inside) - object.data());
    };
    return Tables{place(symbols->data()), symbols->size(), place(*header), *strings};
  }
  return internalError("an object without symbols");
}

llvm::Expected<std::string> mpc::renameSymbols(StringRef object,
                                               llvm::function_ref<std::string(StringRef)> rename) {
  llvm::Expected<Tables> tables = findTables(object);
  if (!tables)
    return internalError("an object cannot be read: " + llvm::toString(tables.takeError()));
  std::string result = object.str(), names;
  for (size_t i = 0; i < tables->symbolCount; ++i) {
    char *name = result.data() + tables->symbols + i * sizeof(Elf::Sym) +
                 offsetof(llvm::ELF::Elf64_Sym, st_name);
    const uint32_t offset = llvm::support::endian::read32le(name);
    if (offset >= tables->strings.size())
      return internalError("an object has a name outside of its strings");
    std::string renamed = rename(tables->strings.data() + offset); // the table ends with a null
    if (renamed.empty())
      continue;
    llvm::support::endian::write32le(name, uint32_t(tables->strings.size() + names.size()));
    names += renamed;
    names += '\0';
  }
  char *header = result.data() + tables->stringsHeader;
  llvm::support::endian::write64le(header + offsetof(llvm::ELF::Elf64_Shdr, sh_offset),
                                   result.size());
  llvm::support::endian::write64le(header + offsetof(llvm::ELF::Elf64_Shdr, sh_size),
                                   tables->strings.size() + names.size());
  result += tables->strings;
  result += names;
  return result;
}
