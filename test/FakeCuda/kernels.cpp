// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The source that the artifact keeps, between a shim and a table of its kernels, goes through the
// host's C++ compiler once; the result is kept by the hash of the text.
#include "test/FakeCuda/kernels.h"
#include "mpc-rt/cuda.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <fstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>
#include <zlib.h>

namespace fake {
namespace {

constexpr char shim[] = R"cpp(
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define __device__
#define __global__
#define __noinline__
#define __launch_bounds__(...)
#define __shared__ static
#define index mpc_index
namespace {
struct Dimensions {
  unsigned x, y, z;
};
thread_local Dimensions threadIdx, blockIdx, blockDim, gridDim;
thread_local int mpc_stage;
#define MPC_STAGE(number) if (mpc_stage == number && number >= first_stage && number < end_stage)
#define MPC_BESIDE(number) MPC_STAGE(number)

// The lanes of a warp take turns: each runs until it needs what another one has.
struct Lane {
  void *top; // of its stack while another one runs
  unsigned char given[2][8];
  int exchanges;
  bool done; // with the kernel
  alignas(16) char stack[1 << 16];
};
Lane lanes[32];
void *scheduler;
} // namespace
// From this stack to another one. The C library would ask the system for the mask of signals each
// time, which took most of what a warp takes.
extern "C" void mpc_switch(void **left, void *entered);
asm(".text\n"
    ".type mpc_switch, @function\n"
    "mpc_switch:\n"
    "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
    "  ret\n"
    ".size mpc_switch, . - mpc_switch\n");
namespace {
int lane_number;
void exchange(void *value, size_t bytes, int bit) {
  Lane &mine = lanes[lane_number];
  const int slot = mine.exchanges++ % 2;
  memcpy(mine.given[slot], value, bytes);
  mpc_switch(&mine.top, scheduler);
  memcpy(value, lanes[lane_number ^ bit].given[slot], bytes);
}
template <class T> T atomicAdd(T *place, T number) {
  const T before = *place;
  *place += number;
  return before;
}
int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
void __syncwarp() { mpc_switch(&lanes[lane_number].top, scheduler); }
float fabs(float x) { return __builtin_fabsf(x); }
} // namespace
)cpp";

// Before the callers of the kernels. Plain code for each: templates would take longer to compile
// than the kernels.
constexpr char caller[] = R"cpp(
namespace {
struct Grid {
  unsigned blocks[3], threads[3];
};
struct HostKernel {
  const char *name;
  void *(*pack)(void **);
  void (*drop)(void *);
  void (*run)(void *, const Grid &);
  int stages, parameters;
  const bool *waits;
};
// Nothing crosses a stage in registers: a stage of all threads, then the next one.
void run_grid(void (*thread)(void *), void *packed, const Grid &grid, const int *order, int stages) {
  blockDim = {grid.threads[0], grid.threads[1], grid.threads[2]};
  gridDim = {grid.blocks[0], grid.blocks[1], grid.blocks[2]};
  for (int place = 0; mpc_stage = order[place], place < stages; ++place)
    for (unsigned block = 0; block < grid.blocks[0]; ++block)
      for (unsigned thread_number = 0; thread_number < grid.threads[0]; ++thread_number) {
        blockIdx = {block, 0, 0};
        threadIdx = {thread_number, 0, 0};
        thread(packed);
      }
}

void (*lane_thread)(void *);
void *lane_packed;
void run_lane() {
  lane_thread(lane_packed);
  lanes[lane_number].done = true;
  mpc_switch(&lanes[lane_number].top, scheduler); // for good
}
// Until all have come to an end: in each round every lane comes to its next exchange.
void run_warp(unsigned first_thread) {
  for (Lane &lane : lanes) {
    // As mpc_switch() leaves a stack: six registers, and where to go on. A function begins 8 bytes
    // beside a multiple of 16.
    void **top = (void **)(lane.stack + sizeof lane.stack) - 8;
    memset(top, 0, 8 * sizeof *top);
    top[6] = (void *)run_lane;
    lane.top = top;
    lane.exchanges = 0;
    lane.done = false;
  }
  for (int done = 0; done == 0;) {
    for (lane_number = 0; lane_number < 32; ++lane_number) {
      threadIdx = {first_thread + lane_number, 0, 0};
      mpc_switch(&scheduler, lanes[lane_number].top);
      done += lanes[lane_number].done;
    }
    if (done != 0 && done != 32) {
      fprintf(stderr, "fake-cuda: error: %d lanes of a warp are done while others exchange "
                      "numbers with them, in stage %d\n", done, mpc_stage);
      _Exit(99);
    }
  }
}
void run_warps(void (*thread)(void *), void *packed, const Grid &grid, const int *order, int stages) {
  blockDim = {grid.threads[0], grid.threads[1], grid.threads[2]};
  gridDim = {grid.blocks[0], grid.blocks[1], grid.blocks[2]};
  lane_thread = thread;
  lane_packed = packed;
  for (int place = 0; mpc_stage = order[place], place < stages; ++place)
    for (unsigned block = 0; block < grid.blocks[0]; ++block)
      for (unsigned first = 0; first < grid.threads[0]; first += 32) {
        blockIdx = {block, 0, 0};
        run_warp(first);
      }
}
} // namespace
)cpp";

std::string sourceOf(const void *image, std::string &problem) {
  Dl_info where;
  if (!dladdr(image, &where) || !where.dli_fname) {
    problem = "the image lies in no library";
    return "";
  }
  void *library = dlopen(where.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  auto query =
      library ? reinterpret_cast<mpc_rt_cuda_query_fn>(dlsym(library, MPC_RT_CUDA_QUERY_SYMBOL))
              : nullptr;
  const mpc_rt_cuda_program_t *program = query ? query() : nullptr;
  std::string text;
  if (!program || !program->source) {
    problem = std::string(where.dli_fname) + " keeps no kernel source";
  } else {
    text.resize(program->source_text_bytes);
    uLongf bytes = text.size();
    if (uncompress(reinterpret_cast<Bytef *>(text.data()), &bytes,
                   static_cast<const Bytef *>(program->source), program->source_bytes) != Z_OK ||
        bytes != text.size()) {
      problem = "the kernel source does not decompress";
      text.clear();
    }
  }
  if (library)
    dlclose(library);
  return text;
}

// A kernel of the source, with its parameters as they are written there.
struct Declaration {
  std::string name;
  std::vector<std::string> types;
  std::vector<bool> waits; // before each stage
  bool usesWarps;
};

// Whether lanes exchange numbers, or one writes what the others then read.
bool usesWarps(const std::string &body) {
  return body.find("other_lane(") != std::string::npos ||
         body.find("__syncwarp(") != std::string::npos;
}

// The functions of kernels, and of their stages, whose lanes wait for each other.
std::vector<std::string> warpFunctions(const std::string &source) {
  std::vector<std::string> names;
  for (const std::string mark : {"__noinline__ void ", "inline void "})
    for (size_t at = source.find(mark); at != std::string::npos; at = source.find(mark, at + 1)) {
      size_t name = at + mark.size(), end = source.find("\n}\n", at);
      if (usesWarps(source.substr(at, end - at)))
        names.push_back(source.substr(name, source.find('(', name) - name));
    }
  return names;
}

std::vector<Declaration> kernelsIn(const std::string &source) {
  std::vector<Declaration> kernels;
  const std::vector<std::string> ofWarps = warpFunctions(source);
  const std::string mark = "__launch_bounds__(";
  for (size_t at = source.find(mark); at != std::string::npos; at = source.find(mark, at + 1)) {
    size_t open = source.find('(', at + mark.size()), close = source.find(')', open);
    size_t name = source.find_first_not_of(" \n", source.find(')', at) + 1);
    if (close == std::string::npos || name >= open)
      continue;
    Declaration kernel{source.substr(name, open - name), {}, {}, false};
    // Bodies end with a brace at the start of a line.
    std::string body = source.substr(close, source.find("\n}\n", close) - close);
    for (size_t stage = body.find(" MPC_"); stage != std::string::npos;
         stage = body.find(" MPC_", stage + 1))
      kernel.waits.push_back(body.compare(stage, 11, " MPC_STAGE(") == 0);
    if (kernel.waits.empty())
      kernel.waits.push_back(true);
    kernel.usesWarps = usesWarps(body);
    for (const std::string &function : ofWarps)
      kernel.usesWarps |= body.find(" " + function + "(") != std::string::npos;
    for (size_t start = open + 1; start < close;) {
      size_t end = std::min(source.find(',', start), close);
      std::string parameter = source.substr(start, end - start);
      // "const float *name": what is before the name, which may be missing after a '*'.
      size_t last = parameter.find_last_of(" *");
      std::string type = parameter.substr(0, last + 1);
      size_t first = type.find_first_not_of(" \n");
      type = type.substr(first == std::string::npos ? 0 : first);
      if (type.rfind("const ", 0) == 0 && type.find('*') == std::string::npos)
        type = type.substr(6);
      kernel.types.push_back(type);
      start = end + 1;
    }
    kernels.push_back(kernel);
  }
  return kernels;
}

// The numbers of the stages in the order in which they run.
std::string orderOf(const std::vector<bool> &waits) {
  std::string order;
  for (size_t begin = 0, end; begin < waits.size(); begin = end) {
    for (end = begin + 1; end < waits.size() && !waits[end];)
      ++end;
    for (size_t stage = end; stage-- > begin;)
      order += std::to_string(stage) + ", ";
  }
  return order;
}

// Arguments of the kernel in a struct, and a function for one thread.
std::string callerOf(const Declaration &kernel) {
  std::string fields, packs, calls, name = "mpc_call_" + kernel.name;
  for (size_t i = 0; i < kernel.types.size(); ++i) {
    std::string number = std::to_string(i), separator = i ? ", " : "";
    fields += "  " + kernel.types[i] + " p" + number + ";\n";
    packs += separator + "*(" + kernel.types[i] + " *)p[" + number + "]";
    calls += separator + "a->p" + number;
  }
  std::string waits;
  for (bool isWaiting : kernel.waits)
    waits += isWaiting ? "1, " : "0, ";
  return "namespace {\nconst int " + name + "_order[] = {" + orderOf(kernel.waits) +
         "0};\nconst bool " + name + "_waits[] = {" + waits + "};\nstruct " + name + " {\n" +
         fields + "};\nvoid *" + name + "_pack(void **p) {\n  auto *a = (" + name +
         " *)malloc(sizeof(" + name + "));\n  *a = " + name + "{" + packs +
         "};\n  return a;\n}\nvoid " + name + "_drop(void *a) { free(a); }\nvoid " + name +
         "_thread(void *packed) {\n  auto *a = (" + name + " *)packed;\n  " + kernel.name + "(" +
         calls + ");\n}\nvoid " + name + "_run(void *a, const Grid &grid) { " +
         (kernel.usesWarps ? "run_warps(" : "run_grid(") + name + "_thread, a, grid, " + name +
         "_order, " + std::to_string(kernel.waits.size()) + "); }\n} // namespace\n";
}

std::string cacheFolder() {
  const char *named = std::getenv("MPC_FAKE_CUDA_CACHE");
  std::string folder = named && *named ? named : "/tmp/mpc-fake-cuda-" + std::to_string(getuid());
  mkdir(folder.c_str(), 0700);
  return folder;
}

// Most kernels run for a moment in one process or two, so that compiling them is nearly all of what
// they cost: nothing is optimised, C's headers have no templates, and no library of C++ is
// searched. Numbers are the same at each level, since sums stay in their order and products are
// rounded. A suite that runs few kernels for long sets MPC_FAKE_CUDA_OPTIMISED.
std::string compilerCommand() {
  const char *compiler = std::getenv("MPC_FAKE_CUDA_CXX");
  return std::string(compiler && *compiler ? compiler : MPC_FAKE_CUDA_DEFAULT_CXX) +
         " -std=c++17 " + (std::getenv("MPC_FAKE_CUDA_OPTIMISED") ? "-O1" : "-O0") +
         " -w -shared -fPIC -ffp-contract=off -fno-strict-aliasing -fno-exceptions"
         " -nostdinc++ -nodefaultlibs";
}

std::string hashOf(const std::string &text) {
  uint64_t hash = 1469598103934665603ull;
  for (unsigned char c : text)
    hash = (hash ^ c) * 1099511628211ull;
  char name[20];
  std::snprintf(name, sizeof name, "%016llx", static_cast<unsigned long long>(hash));
  return name;
}

// Ranks load the same kernels at the same time: one of them compiles, and the others wait for it.
// The system drops the lock of a process that ends.
class Turn {
public:
  explicit Turn(const std::string &path)
      : file(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600)) {
    while (file >= 0 && flock(file, LOCK_EX) != 0 && errno == EINTR)
      ;
  }
  ~Turn() {
    if (file >= 0)
      close(file);
  }
  Turn(const Turn &) = delete;

private:
  int file;
};

// The name of the compiled library; empty on failure.
std::string compile(const std::string &text, std::string &problem) {
  const std::string command = compilerCommand();
  std::string base = cacheFolder() + "/" + hashOf(command + text), library = base + ".so";
  if (access(library.c_str(), R_OK) == 0)
    return library;
  const Turn turn(base + ".lock");
  if (access(library.c_str(), R_OK) == 0)
    return library;
  // A process that ends in between leaves no half of a library: the rename counts.
  std::string mine = base + "." + std::to_string(getpid()), source = mine + ".cpp";
  std::ofstream(source) << text;
  // The tools may run under LD_LIBRARY_PATH of this device; the compiler does not mind.
  std::string line =
      command + " -o " + mine + ".so " + source + " -lm -lc -lgcc 2>" + mine + ".log";
  if (std::system(line.c_str()) != 0 || std::rename((mine + ".so").c_str(), library.c_str())) {
    std::ifstream log(mine + ".log");
    problem = "the kernels do not compile for the host (" + source + "):\n" +
              std::string(std::istreambuf_iterator<char>(log), {});
    return "";
  }
  std::remove(source.c_str());
  std::remove((mine + ".log").c_str());
  return library;
}

} // namespace

std::unique_ptr<KernelLibrary> KernelLibrary::load(const void *image, std::string &problem) {
  std::string source = sourceOf(image, problem);
  if (source.empty())
    return nullptr;
  std::string text = shim + source + caller, table;
  for (const Declaration &kernel : kernelsIn(source)) {
    std::string name = "mpc_call_" + kernel.name;
    text += callerOf(kernel);
    table += "  {\"" + kernel.name + "\", " + name + "_pack, " + name + "_drop, " + name +
             "_run, " + std::to_string(kernel.waits.size()) + ", " +
             std::to_string(kernel.types.size()) + ", " + name + "_waits},\n";
  }
  text += "extern \"C\" const HostKernel mpc_fake_kernels[] = {\n" + table;
  text += "};\nextern \"C\" const size_t mpc_fake_kernel_count = sizeof mpc_fake_kernels / sizeof "
          "*mpc_fake_kernels;\n";
  std::string path = compile(text, problem);
  if (path.empty())
    return nullptr;
  auto loaded = std::make_unique<KernelLibrary>();
  loaded->library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!loaded->library) {
    problem = dlerror();
    return nullptr;
  }
  loaded->table = static_cast<const HostKernel *>(dlsym(loaded->library, "mpc_fake_kernels"));
  auto *count = static_cast<const size_t *>(dlsym(loaded->library, "mpc_fake_kernel_count"));
  loaded->count = loaded->table && count ? *count : 0;
  return loaded;
}

KernelLibrary::~KernelLibrary() {
  if (library)
    dlclose(library);
}

const HostKernel *KernelLibrary::find(const std::string &name) const {
  for (size_t i = 0; i < count; ++i)
    if (name == table[i].name)
      return &table[i];
  return nullptr;
}

} // namespace fake
