// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Creation and release of contexts, and what they say about themselves.
#include "runtime/execution/context.h"
#include "mpc-rt/device.h"
#include "runtime/base/cpu.h"
#include "runtime/base/dtype.h"
#include "runtime/base/status.h"
#include "runtime/device/cuda_devices.h"
#include "runtime/execution/attention_services.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

using namespace mpc::rt;

namespace {

constexpr unsigned mostThreads = 4096;

void runParallelFor(void *context, mpc_rt_kernel_fn kernel, void *const *arguments, int64_t count,
                    int64_t grain) noexcept {
  static_cast<mpc_rt_context_t *>(context)->driver->parallelFor(kernel, arguments, count, grain);
}

void runParallelForAll(void *context, const mpc_rt_launch_t *launches,
                       uint32_t launchCount) noexcept {
  static_cast<mpc_rt_context_t *>(context)->driver->parallelForAll(launches, launchCount);
}

bool hasWaitingShadow(const mpc_rt_context_t &context, const mpc_rt_contract_t &descriptor) {
  const auto shadow = static_cast<uint32_t>(descriptor.rhs_variable);
  return !context.isReserving && descriptor.rhs_variable >= 0 &&
         shadow < context.variables.size() &&
         context.values.states[shadow] == VariableValues::State::undrawn;
}

// Brings the rhs there when it is a shadow that waits, or does without it. `done`: all is done.
mpc_rt_status_t useWaitingShadow(mpc_rt_context_t &context, const mpc_rt_contract_t &descriptor,
                                 const void *lhs, const void *bias, void *out, int64_t batch,
                                 bool mayDoWithout, bool &done) {
  const auto shadow = static_cast<uint32_t>(descriptor.rhs_variable);
  done = false;
  if (!hasWaitingShadow(context, descriptor))
    return MPC_RT_OK;
  const auto master = static_cast<uint32_t>(context.executable().variables[shadow].shadow_of);
  // Whoever reads it twice (a loop over time, a second prediction) is better off with the copy.
  if (mayDoWithout && !context.values.readAsMaster[shadow]) {
    context.values.readAsMaster[shadow] = true;
    if (auto status = readyVariable(context, master))
      return status;
    if (auto status = context.driver->contractMaster(descriptor, lhs, context.variables[master],
                                                     bias, out, batch, done))
      return status;
    if (done)
      return MPC_RT_OK;
  }
  return readyVariable(context, shadow);
}

int32_t runContract(void *context, const mpc_rt_contract_t *descriptor, const void *lhs,
                    const void *rhs, const void *bias, void *out, int64_t batch) {
  const char *layer = descriptor->layer ? descriptor->layer : "contraction";
  return guard(layer, [&] {
    auto &own = *static_cast<mpc_rt_context_t *>(context);
    bool done = false;
    auto status = useWaitingShadow(own, *descriptor, lhs, bias, out, batch, true, done);
    return status || done ? status
                          : own.driver->contract(*descriptor, lhs, rhs, bias, out, nullptr, batch);
  });
}

int32_t runContractWithLargest(void *context, const mpc_rt_contract_t *descriptor, const void *lhs,
                               const void *rhs, const void *bias, void *out, void *largest,
                               int64_t batch) {
  const char *layer = descriptor->layer ? descriptor->layer : "contraction";
  return guard(layer, [&] {
    auto &own = *static_cast<mpc_rt_context_t *>(context);
    bool done = false;
    auto status = useWaitingShadow(own, *descriptor, lhs, bias, out, batch, false, done);
    return status ? status : own.driver->contract(*descriptor, lhs, rhs, bias, out, largest, batch);
  });
}

mpc_rt_status_t checkKernel(const char *layer, uint32_t argumentCount, uint32_t result) {
  if (argumentCount > MPC_RT_MAX_KERNEL_ARGUMENTS || result >= argumentCount)
    return fail(MPC_RT_FAILED_PRECONDITION,
                "%s: a kernel of %u arguments on argument %u; this runtime takes %d; update "
                "libmpcrt",
                layer, argumentCount, result, MPC_RT_MAX_KERNEL_ARGUMENTS);
  return MPC_RT_OK;
}

int32_t runContractAndLaunch(void *context, const mpc_rt_contract_t *descriptor, const void *lhs,
                             const void *rhs, const void *bias, void *out, mpc_rt_kernel_fn kernel,
                             void *const *arguments, uint32_t argumentCount, uint32_t result,
                             int64_t grain, int64_t batch) {
  const char *layer = descriptor->layer ? descriptor->layer : "contraction";
  return guard(layer, [&]() -> mpc_rt_status_t {
    if (auto status = checkKernel(layer, argumentCount, result))
      return status;
    auto &own = *static_cast<mpc_rt_context_t *>(context);
    const ResultKernel launched{kernel, arguments, argumentCount, result, grain};
    if (!hasWaitingShadow(own, *descriptor))
      return own.driver->contractAndLaunch(*descriptor, lhs, rhs, bias, out, launched, batch);
    Contraction shape;
    if (auto status = resolveContraction(*descriptor, lhs, rhs, bias, out, batch, shape))
      return status;
    if (!out) {
      reserve(own.consumedResult, shape.outElements() * dtypeSize(shape.out));
      out = own.consumedResult.data();
    }
    bool done = false;
    if (auto status = useWaitingShadow(own, *descriptor, lhs, bias, out, batch, true, done))
      return status;
    if (!done)
      return own.driver->contractAndLaunch(*descriptor, lhs, rhs, bias, out, launched, batch);
    launched.run(*own.driver, out, shape.outElements());
    return MPC_RT_OK;
  });
}

int32_t runContractAndSum(void *context, const mpc_rt_contract_t *descriptor, const void *lhs,
                          const void *rhs, void *out, void *largest, float *sums,
                          const mpc_rt_result_kernel_t *kernel, int64_t batch) {
  const char *layer = descriptor->layer ? descriptor->layer : "contraction";
  return guard(layer, [&] {
    auto &own = *static_cast<mpc_rt_context_t *>(context);
    bool done = false; // never without the copy, which is summed
    if (auto status = useWaitingShadow(own, *descriptor, lhs, /*bias=*/nullptr, out, batch,
                                       /*mayDoWithout=*/false, done))
      return status;
    ResultKernel onResult{};
    if (kernel) {
      if (auto status = checkKernel(layer, kernel->argument_count, kernel->result))
        return status;
      onResult = {kernel->function, kernel->arguments, kernel->argument_count, kernel->result,
                  kernel->grain};
    }
    return own.driver->contractAndSum(*descriptor, lhs, rhs, out,
                                      {largest, kernel ? &onResult : nullptr, /*bits=*/{}, sums},
                                      batch);
  });
}

int32_t runParallelRows(void *context, const mpc_rt_call_t *call, mpc_rt_rows_fn body,
                        int64_t count, const mpc_rt_rows_product_t *products, uint32_t productCount,
                        int64_t batch) {
  return guard("loop over rows", [&] {
    auto &own = *static_cast<mpc_rt_context_t *>(context);
    for (uint32_t i = 0; i < productCount; ++i) {
      bool done = false; // never without the copy, which each step reads
      if (auto status = useWaitingShadow(own, *products[i].descriptor, /*lhs=*/nullptr,
                                         products[i].bias, /*out=*/nullptr, batch,
                                         /*mayDoWithout=*/false, done))
        return status;
    }
    return own.driver->runRows({call, body, count, products, productCount, batch});
  });
}

void runLaunchRows(void *context, mpc_rt_kernel_fn kernel, void *const *arguments, int64_t begin,
                   int64_t end, int64_t grain) noexcept {
  static_cast<mpc_rt_context_t *>(context)->driver->launchRows(kernel, arguments, begin, end,
                                                               grain);
}

int32_t runContractRows(void *context, uint32_t product, const void *lhs, void *out, int64_t begin,
                        int64_t end) {
  return guard("contraction of rows", [&] {
    return static_cast<mpc_rt_context_t *>(context)->driver->contractRows(product, lhs, out, begin,
                                                                          end);
  });
}

int32_t runContractBlocks(void *context, const mpc_rt_contract_t *descriptor, const void *lhs,
                          const void *rhs, const void *bias, const void *scale, const int8_t *zero,
                          const float *places, int64_t blocks, void *out, int64_t batch) {
  const char *layer = descriptor->layer ? descriptor->layer : "contraction";
  return guard(layer, [&] {
    return static_cast<mpc_rt_context_t *>(context)->driver->contractBlocks(
        *descriptor, lhs, rhs, {scale, zero, places, blocks}, bias, out, batch);
  });
}

int32_t runContractGroups(void *context, const mpc_rt_contract_t *descriptor, const void *lhs,
                          const void *rhs, const void *bias, const void *scale, const uint8_t *zero,
                          const float *places, int64_t groups, const float *divisors, void *out,
                          int64_t batch) {
  const char *layer = descriptor->layer ? descriptor->layer : "contraction";
  return guard(layer, [&] {
    return static_cast<mpc_rt_context_t *>(context)->driver->contractBlocks(
        *descriptor, lhs, rhs, {scale, zero, places, groups, /*areGroups=*/true, divisors}, bias,
        out, batch);
  });
}

int32_t runContractWithBits(void *context, const mpc_rt_contract_t *descriptor, const void *lhs,
                            const void *rhs, const void *bias, const uint8_t *where, void *out,
                            uint8_t *mask, int64_t batch) {
  const char *layer = descriptor->layer ? descriptor->layer : "contraction";
  return guard(layer, [&] {
    auto &own = *static_cast<mpc_rt_context_t *>(context);
    bool done = false;
    auto status = useWaitingShadow(own, *descriptor, lhs, bias, out, batch, false, done);
    return status ? status
                  : own.driver->contractWithBits(*descriptor, lhs, rhs, bias, {where, mask}, out,
                                                 batch);
  });
}

int32_t runContractWithGelu(void *context, const mpc_rt_contract_t *descriptor, const void *lhs,
                            const void *rhs, const void *bias, const void *at, void *out,
                            void *kept, int64_t batch) {
  const char *layer = descriptor->layer ? descriptor->layer : "contraction";
  return guard(layer, [&] {
    auto &own = *static_cast<mpc_rt_context_t *>(context);
    bool done = false;
    auto status = useWaitingShadow(own, *descriptor, lhs, bias, out, batch, false, done);
    return status
               ? status
               : own.driver->contractWithGelu(*descriptor, lhs, rhs, bias, {at, kept}, out, batch);
  });
}

int32_t runConvolve(void *context, const mpc_rt_convolution_t *descriptor, const void *lhs,
                    const void *rhs, const void *bias, void *out, int64_t batch) {
  const char *layer = descriptor->layer ? descriptor->layer : "convolution";
  return guard(layer, [&] {
    return static_cast<mpc_rt_context_t *>(context)->driver->convolve(*descriptor, lhs, rhs, bias,
                                                                      out, batch);
  });
}

int32_t runPrepare(void *context, const mpc_rt_call_t *call, mpc_rt_prepare_fn fill, uint64_t bytes,
                   void **memory) {
  return guard("prepared weights", [&] {
    return static_cast<mpc_rt_context_t *>(context)->driver->prepare(*call, fill, bytes, *memory);
  });
}

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
    if (executable.kernel_count == 0 || executable.kernels[isa])
      return MPC_RT_OK;
    if (wanted >= 0)
      break;
  }
  return fail(MPC_RT_FAILED_PRECONDITION,
              "%s: compiled without kernels for %s; compile the model with --march=portable",
              executable.model_name, isaName(wanted < 0 ? best : wanted));
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

mpc_rt_status_t makeDriver(mpc_rt_context_t &context, const char *device,
                           const mpc_rt_cuda_program_t *program, unsigned threads) {
  DriverOptions options{threads, context.isa};
  if (program) {
    context.cudaOrdinal = cudaOrdinal(device);
    return makeCudaDriver(options, context.cudaOrdinal, *program, context.driver);
  }
  context.driver =
      std::strcmp(device, "null") == 0 ? makeNullDriver(options) : makeCpuDriver(options);
  return MPC_RT_OK;
}

mpc_rt_services_t makeServices() {
  mpc_rt_services_t services = {sizeof(mpc_rt_services_t),
                                0,
                                runParallelFor,
                                runContract,
                                runConvolve,
                                runContractWithLargest,
                                runContractBlocks,
                                runContractAndLaunch,
                                runContractGroups,
                                runParallelRows,
                                runLaunchRows,
                                runContractRows,
                                runContractWithBits,
                                /*attend=*/nullptr,
                                /*attend_gradient=*/nullptr,
                                runPrepare,
                                runContractAndSum,
                                runParallelForAll,
                                runContractWithGelu,
                                /*attend_masked=*/nullptr,
                                /*attend_masked_gradient=*/nullptr,
                                /*attend_dropped=*/nullptr,
                                /*attend_dropped_gradient=*/nullptr};
  setAttention(services);
  return services;
}

mpc_rt_status_t allocateVariables(mpc_rt_context_t &context) {
  const char *model = context.executable().model_name;
  if (!layOutVariables(context.executable(), context.layout))
    return fail(MPC_RT_DATA_LOSS, "%s: the variables' sizes overflow; compile the model again",
                model);
  if (!context.driver->allocate(context.layout.bytes, context.variableArena))
    return failToAllocate(model, context.layout.bytes, context.variableArena.problem());
  // Of variables that a prediction maps from a file, or never reads, no neighbour shall bring
  // pages.
  uint64_t end = 0;
  for (auto &span : hugeSpans(context.layout)) {
    context.variableArena.useSmallPages(end, span.offset - end);
    end = span.offset + span.bytes;
  }
  context.variableArena.useSmallPages(end, context.layout.bytes - end);
  return MPC_RT_OK;
}

mpc_rt_status_t placeVariables(mpc_rt_context_t &context) {
  const uint32_t count = context.executable().variable_count;
  context.variables.resize(count);
  context.values.states.resize(count, VariableValues::State::own);
  context.values.owners.resize(count);
  context.values.exposed.resize(count);
  context.values.readAsMaster.resize(count);
  for (uint32_t i = 0; i < count; ++i)
    replaceVariable(context, i);
  std::vector<MemoryBlock> blocks;
  for (auto &role : context.layout.roles)
    blocks.push_back({role.offset, role.bytes});
  return context.driver->bindVariables(context.variableArena.data(), context.layout.bytes, blocks);
}

mpc_rt_status_t create(mpc_rt_model_t *model, const mpc_rt_context_options_t &options,
                       std::unique_ptr<mpc_rt_context_t> &created) {
  const char *device = options.device ? options.device : "cpu";
  if (auto status = mpc_rt_device_check(device))
    return status;
  const mpc_rt_cuda_program_t *program = nullptr;
  if (std::strncmp(device, "cuda", 4) == 0)
    if (auto status = cudaProgram(*model, program))
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
  context.kernels = executable.kernel_count ? executable.kernels[context.isa] : nullptr;
  if (auto status = makeDriver(context, device, program, threads))
    return status;
  context.services = makeServices();
  if (auto status = allocateVariables(context))
    return status;
  if (auto status = placeVariables(context))
    return status;
  if (auto status = initializeVariables(context, options.seed, /*fresh=*/true))
    return status;
  return mpc_rt_context_variables_changed(&context);
}

// Options of the first headers end before `allocator`.
constexpr size_t firstOptionsSize = offsetof(mpc_rt_context_options_t, allocator);

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
// What programs know whose header has no `allocator`.
MPC_RT_API void
initFirstOptions(mpc_rt_context_options_t *options) __asm__("mpc_rt_context_options_init");
void initFirstOptions(mpc_rt_context_options_t *options) { setDefaults(options, firstOptionsSize); }

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
  memory->arena_planned_bytes = context->arenaPlanned;
  memory->arena_allocated_bytes =
      context->arena.size() + (context->trainLoop ? context->trainLoop->bytes() : 0);
  memory->library_bytes = context->driver->libraryBytes();
  return MPC_RT_OK;
}

} // extern "C"
