// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of dnnl.h that we call, each a jump to where the library has it: dnnl.hpp calls
// them by name, and nothing but the loader knows that they are elsewhere.
#include "runtime/drivers/cpu/onednn/onednn_library.h"
#include "mpc-rt/device.h"
#include "runtime/base/cpu.h"
#include "runtime/base/out_of_memory.h"
#include "runtime/base/status.h"

#include <cstdlib>
#include <dlfcn.h>
#include <dnnl.h>
#include <string>
#include <sys/mman.h>

#define MPC_ONEDNN_FUNCTIONS(FUNCTION)                                                             \
  FUNCTION(dnnl_dilated_convolution_backward_data_desc_init)                                       \
  FUNCTION(dnnl_dilated_convolution_backward_weights_desc_init)                                    \
  FUNCTION(dnnl_dilated_convolution_forward_desc_init)                                             \
  FUNCTION(dnnl_engine_create)                                                                     \
  FUNCTION(dnnl_engine_destroy)                                                                    \
  FUNCTION(dnnl_get_effective_cpu_isa)                                                             \
  FUNCTION(dnnl_matmul_desc_init)                                                                  \
  FUNCTION(dnnl_memory_create)                                                                     \
  FUNCTION(dnnl_memory_desc_equal)                                                                 \
  FUNCTION(dnnl_memory_desc_get_size)                                                              \
  FUNCTION(dnnl_memory_desc_init_by_strides)                                                       \
  FUNCTION(dnnl_memory_desc_init_by_tag)                                                           \
  FUNCTION(dnnl_memory_destroy)                                                                    \
  FUNCTION(dnnl_memory_get_memory_desc)                                                            \
  FUNCTION(dnnl_memory_set_data_handle)                                                            \
  FUNCTION(dnnl_memory_set_data_handle_v2)                                                         \
  FUNCTION(dnnl_post_ops_append_sum)                                                               \
  FUNCTION(dnnl_post_ops_create)                                                                   \
  FUNCTION(dnnl_post_ops_destroy)                                                                  \
  FUNCTION(dnnl_primitive_attr_create)                                                             \
  FUNCTION(dnnl_primitive_attr_destroy)                                                            \
  FUNCTION(dnnl_primitive_attr_set_post_ops)                                                       \
  FUNCTION(dnnl_primitive_attr_set_scratchpad_mode)                                                \
  FUNCTION(dnnl_primitive_create)                                                                  \
  FUNCTION(dnnl_primitive_desc_destroy)                                                            \
  FUNCTION(dnnl_primitive_desc_iterator_create)                                                    \
  FUNCTION(dnnl_primitive_desc_iterator_destroy)                                                   \
  FUNCTION(dnnl_primitive_desc_iterator_fetch)                                                     \
  FUNCTION(dnnl_primitive_desc_iterator_next)                                                      \
  FUNCTION(dnnl_primitive_desc_query)                                                              \
  FUNCTION(dnnl_primitive_desc_query_md)                                                           \
  FUNCTION(dnnl_primitive_destroy)                                                                 \
  FUNCTION(dnnl_primitive_execute)                                                                 \
  FUNCTION(dnnl_reorder_primitive_desc_create)                                                     \
  FUNCTION(dnnl_stream_create)                                                                     \
  FUNCTION(dnnl_stream_destroy)                                                                    \
  FUNCTION(dnnl_version)

// Hidden: programs that use oneDNN themselves keep their own.
#define FUNCTION(name)                                                                             \
  extern "C" __attribute__((visibility("hidden"))) void *mpc_at_##name = nullptr;                  \
  __asm__(".text\n.globl " #name "\n.hidden " #name "\n.type " #name ", @function\n" #name         \
          ":\n\tendbr64\n\tjmp *mpc_at_" #name "(%rip)\n.size " #name ", .-" #name "\n");
MPC_ONEDNN_FUNCTIONS(FUNCTION)
#undef FUNCTION

namespace mpc::rt::onednn {
namespace {

constexpr char libraryName[] = "libdnnl.so.2";

// More than the library takes: the loader does not tell that memory is out from other reasons.
constexpr size_t memoryOfLibrary = size_t{64} << 20;

// More than the code of a primitive takes.
constexpr size_t memoryOfCode = size_t{16} << 20;

void requireMemory(size_t bytes) {
  void *room = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED)
    throw OutOfMemory(bytes);
  munmap(room, bytes);
}

// "" or what is wrong. Throws OutOfMemory.
std::string open() {
  void *library = dlopen(libraryName, RTLD_NOW | RTLD_LOCAL);
  const char *reason = library ? nullptr : dlerror();
  if (!library) {
    requireMemory(memoryOfLibrary);
    return std::string(libraryName) + " cannot be loaded: " + (reason ? reason : "unknown reason") +
           "; install the package libdnnl2";
  }
  const struct {
    const char *name;
    void **pointer;
  } functions[] = {
#define FUNCTION(name) {#name, &mpc_at_##name},
      MPC_ONEDNN_FUNCTIONS(FUNCTION)
#undef FUNCTION
  };
  for (auto &function : functions)
    if (!(*function.pointer = dlsym(library, function.name)))
      return std::string(libraryName) + " has no function " + function.name +
             "; expected oneDNN 2.6; install the package libdnnl2";
  return "";
}

bool isInProcess() {
  void *library = dlopen(libraryName, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (library)
    dlclose(library);
  return library != nullptr;
}

Isa ask() {
  load();
  const dnnl_cpu_isa_t effective = dnnl_get_effective_cpu_isa();
  Isa found;
  switch (effective) {
  case dnnl_cpu_isa_avx512_core_amx:
    found.amx = true;
    [[fallthrough]];
  case dnnl_cpu_isa_avx512_core_bf16:
    found.bfloat16 = true;
    [[fallthrough]];
  case dnnl_cpu_isa_avx512_core_vnni:
    found.vnni = true;
    [[fallthrough]];
  case dnnl_cpu_isa_avx512_core:
    found.avx512 = true;
    break;
  default:
    break;
  }
  return found;
}

// oneDNN reads features like this, each level on top of the one before.
Isa identify() {
  auto has = [](uint64_t features) { return (cpu().features & features) == features; };
  Isa found;
  found.avx512 = has(MPC_RT_FEATURE_AVX512_V4);
  found.vnni = found.avx512 && has(MPC_RT_FEATURE_AVX512_VNNI);
  found.bfloat16 = found.vnni && has(MPC_RT_FEATURE_AVX512_BF16);
  found.amx =
      found.bfloat16 && has(MPC_RT_FEATURE_AMX_BF16 | MPC_RT_FEATURE_AMX_INT8) && mayUseTiles();
  return found;
}

} // namespace

void load() {
  static const std::string problem = open(); // asked again after an exception
  if (!problem.empty())
    throw Unavailable(problem);
}

void loadToMake() {
  load();
  requireMemory(memoryOfCode);
}

const Isa &isa() {
  static const Isa found =
      isInProcess() || std::getenv("DNNL_MAX_CPU_ISA") || std::getenv("ONEDNN_MAX_CPU_ISA")
          ? ask()
          : identify();
  return found;
}

} // namespace mpc::rt::onednn
