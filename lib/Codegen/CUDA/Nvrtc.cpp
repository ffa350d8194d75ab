// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NVRTC's functions by name, so that mpcc starts without its 100 MB.
#include "lib/Codegen/CUDA/Nvrtc.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/DynamicLibrary.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mpc;
using llvm::StringRef;

// Where the build found it; empty when it found none.
#ifndef MPC_NVRTC_LIBRARY
#define MPC_NVRTC_LIBRARY ""
#endif

namespace {
using Program = struct OpaqueProgram *;

/// The part of nvrtc.h that is used: a stable C interface, 0 is success.
struct Nvrtc {
  int (*createProgram)(Program *, const char *source, const char *name, int, const char *const *,
                       const char *const *);
  int (*destroyProgram)(Program *);
  int (*compileProgram)(Program, int count, const char *const *options);
  int (*getCubinSize)(Program, size_t *);
  int (*getCubin)(Program, char *);
  int (*getPtxSize)(Program, size_t *);
  int (*getPtx)(Program, char *);
  int (*getLogSize)(Program, size_t *);
  int (*getLog)(Program, char *);
  const char *(*getErrorString)(int);
  int (*version)(int *major, int *minor);
};

struct Opened {
  Nvrtc functions = {};
  std::string problem;
};
} // namespace

static llvm::Error failed(const llvm::Twine &what) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), what);
}

/// In the order in which they are tried. mpcc of a wheel is in mpc/native/bin beside NVIDIA's
/// packages.
static std::vector<std::string> candidates() {
  std::vector<std::string> found;
  if (StringRef built = MPC_NVRTC_LIBRARY; !built.empty())
    found.push_back(built.str());
  for (StringRef place : {"cu13/lib/libnvrtc.so.13", "cuda_nvrtc/lib/libnvrtc.so.12"}) {
    llvm::SmallString<128> path(llvm::sys::fs::getMainExecutable(nullptr, nullptr));
    llvm::sys::path::remove_filename(path);
    llvm::sys::path::append(path, "../../../nvidia", place);
    if (llvm::sys::fs::exists(path))
      found.push_back(path.str().str());
  }
  found.insert(found.end(), {"libnvrtc.so.13", "libnvrtc.so.12"});
  return found;
}

static Opened open() {
  Opened opened;
  std::string path, message;
  llvm::sys::DynamicLibrary library;
  for (const std::string &candidate : candidates()) {
    path = candidate;
    library = llvm::sys::DynamicLibrary::getPermanentLibrary(path.c_str(), &message);
    if (library.isValid())
      break;
  }
  if (!library.isValid()) {
    opened.problem = "--target=cuda: NVRTC, which compiles kernels, cannot be opened: " + message +
                     "; expected libnvrtc.so.13 or libnvrtc.so.12 where the loader finds it; "
                     "install NVIDIA's wheel (pip install 'mpc-compiler[cuda]') or a CUDA toolkit, "
                     "or build mpcc with scripts/build --with-cuda";
    return opened;
  }
  auto find = [&](auto &function, const char *name) {
    void *address = library.getAddressOfSymbol(name);
    if (!address && opened.problem.empty())
      opened.problem =
          "--target=cuda: " + path + " has no " + name + "; expected NVRTC of CUDA 12 or 13";
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
  Nvrtc &f = opened.functions;
  find(f.createProgram, "nvrtcCreateProgram");
  find(f.destroyProgram, "nvrtcDestroyProgram");
  find(f.compileProgram, "nvrtcCompileProgram");
  find(f.getCubinSize, "nvrtcGetCUBINSize");
  find(f.getCubin, "nvrtcGetCUBIN");
  find(f.getPtxSize, "nvrtcGetPTXSize");
  find(f.getPtx, "nvrtcGetPTX");
  find(f.getLogSize, "nvrtcGetProgramLogSize");
  find(f.getLog, "nvrtcGetProgramLog");
  find(f.getErrorString, "nvrtcGetErrorString");
  find(f.version, "nvrtcVersion");
  return opened;
}

static const Opened &nvrtc() {
  static const Opened opened = open();
  return opened;
}

llvm::Error mpc::checkNvrtc() {
  return nvrtc().problem.empty() ? llvm::Error::success() : failed(nvrtc().problem);
}

llvm::Expected<std::vector<CudaImage>> mpc::compileCuda(StringRef source, StringRef name,
                                                        unsigned architecture, bool withPtx) {
  if (llvm::Error error = checkNvrtc())
    return error;
  const Nvrtc &f = nvrtc().functions;
  Program program = nullptr;
  std::string text = source.str(), file = name.str() + ".cu";
  if (int code = f.createProgram(&program, text.c_str(), file.c_str(), 0, nullptr, nullptr))
    return failed("NVRTC: " + llvm::Twine(f.getErrorString(code)));
  std::string target = "-arch=sm_" + std::to_string(architecture);
  std::vector<const char *> options = {target.c_str(), "-std=c++17", "-fmad=false",
                                       "-default-device"};
  // On all cores.
  if (int major = 0, minor = 0; f.version(&major, &minor) == 0 && major >= 13)
    options.push_back("--ptxas-options=--split-compile=0");
  auto read = [&](int (*size)(Program, size_t *), int (*get)(Program, char *)) {
    size_t bytes = 0;
    std::string result;
    if (size(program, &bytes) == 0) {
      result.resize(bytes);
      if (get(program, result.data()) != 0)
        result.clear();
    }
    return result;
  };
  int code = f.compileProgram(program, static_cast<int>(options.size()), options.data());
  std::string log = read(f.getLogSize, f.getLog);
  std::vector<CudaImage> images;
  if (code == 0) {
    images.push_back({architecture, /*isPtx=*/false, read(f.getCubinSize, f.getCubin)});
    if (withPtx)
      images.push_back({architecture, /*isPtx=*/true, read(f.getPtxSize, f.getPtx)});
  }
  f.destroyProgram(&program);
  bool isComplete = llvm::none_of(images, [](const CudaImage &i) { return i.bytes.empty(); });
  if (!images.empty() && isComplete)
    return images;
  return failed("--target=cuda:sm_" + std::to_string(architecture) +
                ": NVRTC: " + f.getErrorString(code) + "\n" + StringRef(log).rtrim('\0').str() +
                "expected a compute capability that this NVRTC knows (CUDA 13: sm_75 and later)");
}
