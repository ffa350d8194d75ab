// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Creation and release of contexts, and what they say about themselves.
#include "runtime/execution/context.h"
#include "mpc-rt/collectives.h"
#include "mpc-rt/device.h"
#include "runtime/base/cpu.h"
#include "runtime/base/dtype.h"
#include "runtime/base/status.h"
#include "runtime/device/cuda_devices.h"
#include "runtime/execution/services.h"
#include "runtime/rules/isa_versions.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

using namespace mpc::rt;

namespace {

constexpr unsigned mostThreads = 4096;

mpc_rt_status_t chooseIsa(const mpc_rt_executable_t &executable, int32_t wanted, int &isa) {
  int best = cpu().isa;
  if (best < 0)
    return fail(MPC_RT_UNAVAILABLE,
                "%s: this CPU (%s) is older than x86-64-v2; use a newer machine",
                executable.model_name, cpu().model);
  if (wanted < -1 || wanted > best)
    return fail(MPC_RT_FAILED_PRECONDITION,
                "%s: ISA level %d asked for, but this CPU (%s) has %s; use -1 for the best",
                executable.model_name, wanted, cpu().model, isaName(best));
  for (isa = wanted < 0 ? best : wanted; isa >= 0; --isa) {
    if (executable.kernel_count == 0 || findKernels(executable, isa))
      return MPC_RT_OK;
    if (wanted >= 0)
      break;
  }
  return fail(MPC_RT_FAILED_PRECONDITION,
              "%s: compiled without kernels for %s; compile the model with --march=portable",
              executable.model_name, isaName(wanted < 0 ? best : wanted));
}

// The best that CPU and model have may be the level's code for a CPU that has more.
const mpc_rt_kernel_fn *chooseKernels(const mpc_rt_executable_t &executable, int32_t wanted,
                                      int isa) {
  if (wanted < 0 && isa == MPC_RT_ISA_X86_64_V4 && (cpu().features & MPC_RT_FEATURE_AVX512_BF16))
    if (const mpc_rt_kernel_fn *more = findKernels(executable, mpc::rules::isaV4WithBFloat16))
      return more;
  return findKernels(executable, isa);
}

mpc_rt_status_t takeAllocator(const mpc_rt_allocator_t *given, Allocator &allocator) {
  if (!given)
    return MPC_RT_OK;
  if (given->struct_size < sizeof(*given) || !given->allocate || !given->release)
    return fail(MPC_RT_INVALID_ARGUMENT,
                "mpc_rt_context_create: the allocator's struct_size is not set, or allocate or "
                "release is null; expected both functions");
  allocator = {given->allocate, given->release, given->user};
  return MPC_RT_OK;
}

mpc_rt_status_t makeGpuDriver(mpc_rt_context_t &context, int ordinal, unsigned threads) {
  const mpc_rt_cuda_program_t *program = nullptr;
  if (auto status = cudaProgram(*context.model, program))
    return status;
  context.cudaOrdinal = ordinal;
  return makeCudaDriver({threads, context.isa}, ordinal, *program, context.driver);
}

mpc_rt_status_t makeDriver(mpc_rt_context_t &context, const char *device, unsigned threads) {
  if (std::strncmp(device, "cuda", 4) == 0)
    return makeGpuDriver(context, cudaOrdinal(device), threads);
  DriverOptions options{threads, context.isa};
  context.driver =
      std::strcmp(device, "null") == 0 ? makeNullDriver(options) : makeCpuDriver(options);
  return MPC_RT_OK;
}

mpc_rt_services_t makeServices() {
  mpc_rt_services_t services = {};
  services.struct_size = sizeof services;
  setLoops(services);
  setContraction(services);
  setConvolution(services);
  setAttention(services);
  setTrace(services);
  setRankReductions(services);
  return services;
}

mpc_rt_status_t allocateVariables(mpc_rt_context_t &context) {
  const char *model = context.executable().model_name;
  if (!layOutVariables(context.executable(), context.layout))
    return fail(MPC_RT_DATA_LOSS, "%s: the variables' sizes overflow; compile the model again",
                model);
  if (!context.variableArena.allocate(context.layout.bytes))
    return failToAllocate(model, context.layout.bytes, context.variableArena.problem(),
                          smallerModel);
  // A prediction maps some variables from a file, and never reads others: their neighbours shall
  // bring in no pages of them.
  uint64_t end = 0;
  for (auto &span : hugeSpans(context.layout)) {
    context.variableArena.useSmallPages(end, span.offset - end);
    end = span.offset + span.bytes;
  }
  context.variableArena.useSmallPages(end, context.layout.bytes - end);
  return MPC_RT_OK;
}

// The device has the variables of `arena`, that of this context or of the one that it is a part of.
mpc_rt_status_t bindDevice(mpc_rt_context_t &context, Buffer &arena) {
  std::vector<MemoryBlock> blocks;
  for (auto &role : context.layout.roles)
    blocks.push_back({role.offset, role.bytes});
  return context.driver->deviceMemory().bindVariables(arena.data(), context.layout.bytes, blocks);
}

mpc_rt_status_t bindVariableArena(mpc_rt_context_t &context) {
  const uint32_t count = context.executable().variable_count;
  context.variables.resize(count);
  context.values.states.resize(count, VariableValues::State::own);
  context.values.owners.resize(count);
  context.values.exposed.resize(count);
  context.values.readAsMaster.resize(count);
  for (uint32_t i = 0; i < count; ++i)
    replaceVariable(context, i);
  return bindDevice(context, context.variableArena);
}

mpc_rt_status_t create(mpc_rt_model_t *model, const mpc_rt_context_options_t &options,
                       std::unique_ptr<mpc_rt_context_t> &created) {
  const char *device = options.device ? options.device : "cpu";
  if (auto status = mpc_rt_device_check(device))
    return status;
  const mpc_rt_cuda_program_t *program = nullptr;
  if (std::strncmp(device, "cuda", 4) == 0)
    if (auto status = cudaProgram(*model, program)) // before anything is allocated
      return status;
  if (options.threads > mostThreads)
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: %u threads asked for; at most %u; 0 means all",
                model->executable->model_name, options.threads, mostThreads);
  Allocator allocator;
  if (auto status = takeAllocator(options.allocator, allocator))
    return status;
  unsigned threads = options.threads ? options.threads : cpu().cores;
  created = std::make_unique<mpc_rt_context_t>(model, threads, allocator);
  auto &context = *created;
  auto &executable = context.executable();
  if (auto status = chooseIsa(executable, options.isa, context.isa))
    return status;
  context.kernels = chooseKernels(executable, options.isa, context.isa);
  if (auto status = makeDriver(context, device, threads))
    return status;
  context.services = makeServices();
  if (auto status = allocateVariables(context))
    return status;
  if (auto status = bindVariableArena(context))
    return status;
  if (auto status = initializeVariables(context, options.seed, /*fresh=*/true))
    return status;
  return mpc_rt_context_variables_changed(&context);
}

} // namespace

mpc_rt_status_t mpc::rt::makePartContext(mpc_rt_context_t &whole,
                                         std::unique_ptr<mpc_rt_context_t> &part) {
  part = std::make_unique<mpc_rt_context_t>(whole.model, /*threads=*/1, whole.allocator);
  part->isa = whole.isa;
  part->kernels = whole.kernels;
  part->services = whole.services;
  part->layout = whole.layout;
  part->variables = whole.variables;
  const size_t count = part->variables.size();
  part->values.states.resize(count, VariableValues::State::own);
  part->values.owners.resize(count);
  part->values.exposed.resize(count);
  part->values.readAsMaster.resize(count);
  if (whole.cudaOrdinal < 0)
    return makeDriver(*part, "cpu", /*threads=*/1);
  if (auto status = makeGpuDriver(*part, whole.cudaOrdinal, /*threads=*/1))
    return status;
  return bindDevice(*part, whole.variableArena);
}

namespace {

// Options of the first headers end before `allocator`, those of the next ones before
// `communicator`.
constexpr size_t firstOptionsSize = offsetof(mpc_rt_context_options_t, allocator);
constexpr size_t secondOptionsSize = offsetof(mpc_rt_context_options_t, communicator);

mpc_rt_status_t joinRanks(mpc_rt_context_t &context, const mpc_rt_context_options_t &options) {
  if (options.batch_parts)
    return mpc_rt_context_set_parts(&context, options.communicator, options.batch_parts);
  return options.communicator ? mpc_rt_context_set_communicator(&context, options.communicator)
                              : MPC_RT_OK;
}

void setDefaults(mpc_rt_context_options_t *options, size_t bytes) {
  if (!options)
    return;
  std::memset(options, 0, bytes);
  options->struct_size = static_cast<uint32_t>(bytes);
  options->isa = -1;
}

} // namespace

extern "C" {

void mpc_rt_context_options_init(mpc_rt_context_options_t *options) {
  setDefaults(options, sizeof(*options));
}
// Programs whose header has no `allocator`, or no `communicator`, know these symbols.
MPC_RT_API void
initFirstOptions(mpc_rt_context_options_t *options) __asm__("mpc_rt_context_options_init");
void initFirstOptions(mpc_rt_context_options_t *options) { setDefaults(options, firstOptionsSize); }
MPC_RT_API void
initSecondOptions(mpc_rt_context_options_t *options) __asm__("mpc_rt_context_options_init_2");
void initSecondOptions(mpc_rt_context_options_t *options) {
  setDefaults(options, secondOptionsSize);
}

mpc_rt_status_t mpc_rt_context_create(mpc_rt_model_t *model,
                                      const mpc_rt_context_options_t *options,
                                      mpc_rt_context_t **context) {
  if (!model || !context)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_context_create: model or context is null");
  *context = nullptr;
  mpc_rt_context_options_t used;
  mpc_rt_context_options_init(&used);
  if (options) {
    if (options->struct_size < firstOptionsSize)
      return fail(MPC_RT_INVALID_ARGUMENT,
                  "mpc_rt_context_create: options.struct_size is %u; expected at least %zu; call "
                  "mpc_rt_context_options_init first",
                  options->struct_size, firstOptionsSize);
    std::memcpy(&used, options, std::min<size_t>(options->struct_size, sizeof(used)));
  }
  return guard("mpc_rt_context_create", [&] {
    std::unique_ptr<mpc_rt_context_t> created;
    auto status = create(model, used, created);
    if (!status)
      status = joinRanks(*created, used);
    if (!status)
      *context = created.release();
    return status;
  });
}

void mpc_rt_context_release(mpc_rt_context_t *context) {
  if (context && context->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete context;
}

const mpc_rt_model_t *mpc_rt_context_model(const mpc_rt_context_t *context) {
  return context ? context->model : nullptr;
}
uint32_t mpc_rt_context_threads(const mpc_rt_context_t *context) {
  return context ? context->hostTeam.threads() : 0;
}
int32_t mpc_rt_context_isa(const mpc_rt_context_t *context) { return context ? context->isa : -1; }
int32_t mpc_rt_context_computes(const mpc_rt_context_t *context) {
  return context && context->driver->computes();
}

mpc_rt_status_t mpc_rt_context_memory(const mpc_rt_context_t *context, mpc_rt_memory_t *memory) {
  if (!context || !memory || memory->struct_size < sizeof(*memory))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "mpc_rt_context_memory: a null argument, or memory.struct_size is not set");
  memory->variable_bytes = context->layout.bytes;
  if (context->variableParts)
    memory->variable_bytes -= context->variableParts->bytesElsewhere();
  memory->arena_planned_bytes = context->arenaPlanned;
  memory->arena_allocated_bytes =
      context->arena.size() + (context->trainLoop ? context->trainLoop->bytes() : 0);
  memory->library_bytes = context->driver->libraryBytes();
  if (context->batchParts)
    context->batchParts->addMemory(*memory);
  return MPC_RT_OK;
}

} // extern "C"
