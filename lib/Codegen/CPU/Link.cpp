// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs lld. A library has no start files: nothing but our code goes into it. A static one is a
// single object that shows one symbol.
#include "lib/Codegen/CPU/ObjectFile.h"
#include "mpc-rt/seal.h"
#include "mpc/Support/InternalError.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/ObjCopy/CommonConfig.h"
#include "llvm/ObjCopy/ELF/ELFConfig.h"
#include "llvm/ObjCopy/ELF/ELFObjcopy.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <cstring>
#include <fcntl.h>
#include <memory>
#include <unistd.h>

using namespace mpc;
using llvm::StringRef;

namespace {
/// A file for the linker beside other processes' temporary files, without a name: nothing is left
/// of it however mpcc ends. The linker inherits the descriptor. Where a descriptor has no path or
/// the file system knows no such files, it has a name and is removed.
class ScratchFile {
public:
  ScratchFile() {
    llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, folder);
    if (::access("/proc/self/fd", X_OK) == 0)
      descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR, 0600);
    if (descriptor >= 0) {
      path = ("/proc/self/fd/" + llvm::Twine(descriptor)).str();
      return;
    }
    code = llvm::sys::fs::createTemporaryFile("mpcc", "", descriptor, path);
    hasName = !code;
  }
  ~ScratchFile() {
    if (descriptor >= 0)
      ::close(descriptor);
    if (hasName)
      llvm::sys::fs::remove(path);
  }
  ScratchFile(const ScratchFile &) = delete;

  StringRef name() const { return path; }
  llvm::Error write(StringRef content) const {
    if (code)
      return failure("cannot make a temporary file there: " + code.message());
    llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/false);
    stream << content;
    stream.flush();
    const std::error_code error = stream.error();
    stream.clear_error();
    return error ? failure("a temporary file there cannot be written: " + error.message())
                 : llvm::Error::success();
  }
  std::string read() const {
    auto buffer =
        llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    return buffer ? (*buffer)->getBuffer().str() : std::string();
  }

  llvm::Error failure(const llvm::Twine &what) const {
    return llvm::createStringError(folder + ": " + what +
                                   "; expected a folder that can be written and has space; set "
                                   "TMPDIR to one");
  }

private:
  llvm::SmallString<128> folder, path;
  int descriptor = -1;
  bool hasName = false;
  std::error_code code;
};
} // namespace

/// A file of ../lib/mpc beside the program: a wheel brings its linker and stubs of libc and libm.
static std::string besideProgram(StringRef name) {
  llvm::SmallString<128> path(llvm::sys::fs::getMainExecutable(nullptr, nullptr));
  llvm::sys::path::remove_filename(path);
  llvm::sys::path::append(path, "..", "lib", "mpc", name);
  return llvm::sys::fs::exists(path) ? path.str().str() : std::string();
}

static llvm::Expected<std::string> findLinker() {
  if (std::string own = besideProgram("ld.lld"); !own.empty())
    return own;
  for (StringRef name : {"ld.lld-22", "ld.lld"}) {
    if (llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName(name))
      return *path;
    if (llvm::ErrorOr<std::string> path =
            llvm::sys::findProgramByName(name, {"/usr/lib/llvm-22/bin"}))
      return *path;
  }
  return llvm::createStringError(
      llvm::inconvertibleErrorCode(),
      "no linker found; expected ld.lld-22 on the PATH; install the package lld-22");
}

/// Loaders refuse a library whose seal is broken instead of mapping it.
static void appendSeal(std::string &library) {
  mpc_rt_seal_t seal;
  seal.bytes = library.size();
  seal.checksum =
      mpc_rt_seal_checksum(reinterpret_cast<const unsigned char *>(library.data()), library.size());
  std::memcpy(seal.magic, MPC_RT_SEAL_MAGIC, sizeof seal.magic);
  library.append(reinterpret_cast<const char *>(&seal), sizeof seal);
}

/// lld does not see that its standard output cannot be written. What it writes ends with the
/// section headers.
static bool isWhole(StringRef library) {
  llvm::ELF::Elf64_Ehdr header;
  if (library.size() < sizeof header)
    return false;
  std::memcpy(&header, library.data(), sizeof header);
  return header.e_shoff + uint64_t{header.e_shnum} * header.e_shentsize == library.size();
}

/// The rest of the message about a process that LLVM calls crashed.
static const char *const endedBySignal =
    "; expected the linker to end by itself; give it more memory or a larger stack (ulimit -s)";

/// A model has more objects than a process may have open files.
static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
toArchive(llvm::ArrayRef<ObjectFile> objects) {
  std::vector<llvm::NewArchiveMember> members;
  for (const ObjectFile &object : objects)
    members.emplace_back(llvm::MemoryBufferRef(object.content, object.name));
  return llvm::writeArchiveToBuffer(members, llvm::SymtabWritingMode::NoSymtab,
                                    llvm::object::Archive::K_GNU, /*Deterministic=*/true,
                                    /*Thin=*/false);
}

/// Runs lld on all objects with these options; `libraries` come behind the objects.
static llvm::Expected<std::string> runLinker(llvm::ArrayRef<ObjectFile> objects,
                                             llvm::ArrayRef<StringRef> options,
                                             llvm::ArrayRef<StringRef> libraries) {
  auto linker = findLinker();
  if (!linker)
    return linker.takeError();
  auto archive = toArchive(objects);
  if (!archive)
    return internalError("the objects go into no archive: " + llvm::toString(archive.takeError()));
  // Written by the linker as its standard output, so that it makes no file of its own beside it.
  ScratchFile output, log, input;
  for (ScratchFile *file : {&output, &log})
    if (llvm::Error error = file->write(""))
      return error;
  if (llvm::Error error = input.write((*archive)->getBuffer()))
    return error;
  std::vector<StringRef> arguments = {*linker};
  llvm::append_range(arguments, options);
  llvm::append_range(arguments, std::initializer_list<StringRef>{"-z", "noexecstack", "-o", "-",
                                                                 "--whole-archive", input.name(),
                                                                 "--no-whole-archive"});
  llvm::append_range(arguments, libraries);
  std::string message;
  std::optional<StringRef> redirects[] = {std::nullopt, output.name(), log.name()};
  int status = llvm::sys::ExecuteAndWait(*linker, arguments, std::nullopt, redirects,
                                         /*SecondsToWait=*/120, 0, &message);
  if (status != 0)
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   *linker + " failed (" + std::to_string(status) + "): " +
                                       message + log.read() + (status == -2 ? endedBySignal : ""));
  std::string linked = output.read();
  if (!isWhole(linked))
    return output.failure("the linker's output there is cut off");
  return linked;
}

llvm::Expected<std::string> mpc::linkSharedLibrary(llvm::ArrayRef<ObjectFile> objects,
                                                   StringRef name) {
  const std::string soname = "-soname=lib" + name.str() + ".so";
  const std::string stubs = "-L" + besideProgram("");
  std::vector<StringRef> options = {"-shared",
                                    "--no-undefined",
                                    "--as-needed",
                                    "--build-id=none",
                                    "--hash-style=gnu",
                                    "--gc-sections",
                                    "-z",
                                    "relro",
                                    "-z",
                                    "now",
                                    soname};
  if (stubs != "-L")
    options.push_back(stubs);
  llvm::append_range(options, std::initializer_list<StringRef>{"-L/lib/x86_64-linux-gnu",
                                                               "-L/usr/lib/x86_64-linux-gnu"});
  auto library = runLinker(objects, options, {"-l:libm.so.6", "-l:libc.so.6"});
  if (library)
    appendSeal(*library);
  return library;
}

/// All other symbols become local, so that models of one program do not meet.
static llvm::Expected<std::string> keepOneSymbol(StringRef object, StringRef symbol) {
  auto file = llvm::object::ObjectFile::createELFObjectFile({object, "object"});
  if (!file)
    return internalError("an object cannot be read: " + llvm::toString(file.takeError()));
  llvm::objcopy::CommonConfig config;
  auto pattern = llvm::objcopy::NameOrPattern::create(symbol, llvm::objcopy::MatchStyle::Literal,
                                                      [](llvm::Error error) { return error; });
  if (!pattern)
    return pattern.takeError();
  if (llvm::Error error = config.SymbolsToKeepGlobal.addMatcher(std::move(pattern)))
    return error;
  llvm::SmallString<0> result;
  llvm::raw_svector_ostream stream(result);
  if (llvm::Error error = llvm::objcopy::elf::executeObjcopyOnBinary(
          config, llvm::objcopy::ELFConfig(), llvm::cast<llvm::object::ELFObjectFileBase>(**file),
          stream))
    return internalError("symbols cannot be hidden: " + llvm::toString(std::move(error)));
  return result.str().str();
}

llvm::Expected<std::string> mpc::linkStaticLibrary(llvm::ArrayRef<ObjectFile> objects,
                                                   StringRef name) {
  auto linked = runLinker(objects, {"-r"}, {});
  if (!linked)
    return linked.takeError();
  auto object = keepOneSymbol(*linked, (name + "_executable_query").str());
  if (!object)
    return object.takeError();
  const std::string member = name.str() + ".o";
  auto archive = llvm::writeArchiveToBuffer(
      {llvm::NewArchiveMember(llvm::MemoryBufferRef(*object, member))},
      llvm::SymtabWritingMode::NormalSymtab, llvm::object::Archive::K_GNU, /*Deterministic=*/true,
      /*Thin=*/false);
  if (!archive)
    return internalError("the object goes into no archive: " + llvm::toString(archive.takeError()));
  return (*archive)->getBuffer().str();
}
