// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Choice of an image, and launches.
#include "runtime/drivers/cuda/kernel_table.h"
#include "runtime/base/dtype.h"

#include <algorithm>
#include <cstring>

namespace mpc::rt::cuda {

// A cubin for the same major number and at most this minor one; else the newest PTX that is not
// newer than the device, which its driver compiles.
const mpc_rt_cuda_image_t *KernelTable::chooseImage() const {
  const mpc_rt_cuda_image_t *best = nullptr;
  for (uint32_t i = 0; i < program.image_count; ++i) {
    const mpc_rt_cuda_image_t &image = program.images[i];
    int offered = static_cast<int>(image.architecture);
    if (offered > session.architecture ||
        (!image.is_ptx && offered / 10 != session.architecture / 10))
      continue;
    bool better = !best || (best->is_ptx && !image.is_ptx) ||
                  (best->is_ptx == image.is_ptx && best->architecture < image.architecture);
    if (better)
      best = &image;
  }
  return best;
}

KernelTable::~KernelTable() {
  if (!module)
    return;
  session.makeCurrent();
  session.cuda.streamSynchronize(session.stream);
  session.cuda.moduleUnload(module);
}

mpc_rt_status_t KernelTable::load() {
  const mpc_rt_cuda_image_t *image = chooseImage();
  if (!image)
    return fail(MPC_RT_FAILED_PRECONDITION,
                "the model has no kernels for this GPU (compute capability %d.%d); compile it with "
                "--target=cuda:sm_%d",
                session.architecture / 10, session.architecture % 10, session.architecture);
  if (auto status =
          session.check(session.cuda.moduleLoadData(&module, image->data), "loading the kernels"))
    return status;
  kernels.resize(program.kernel_count);
  // A model without kernels has a table all the same: null would be no table.
  handleTable.resize(std::max<size_t>(1, kernels.size()));
  for (uint32_t i = 0; i < program.kernel_count; ++i) {
    kernels[i].info = &program.kernels[i];
    handleTable[i] = reinterpret_cast<mpc_rt_kernel_fn>(&kernels[i]);
    if (program.kernels[i].is_stage)
      continue;
    if (auto status = session.check(
            session.cuda.moduleGetFunction(&kernels[i].function, module, program.kernels[i].name),
            program.kernels[i].name))
      return status;
  }
  return loadGroups();
}

mpc_rt_status_t KernelTable::loadGroups() {
  groups.resize(program.group_count);
  for (uint32_t i = 0; i < program.group_count; ++i) {
    Group &group = groups[i];
    group.info = &program.groups[i];
    if (auto status =
            session.check(session.cuda.moduleGetFunction(&group.function, module, group.info->name),
                          group.info->name))
      return status;
  }
  return MPC_RT_OK;
}

mpc_rt_status_t KernelTable::launch(Function function, unsigned threads, void **parameters,
                                    int64_t wanted, const char *name) {
  // Enough blocks to fill the GPU several times over; a thread then takes more than one iteration.
  constexpr int64_t blocksPerMultiprocessor = 32;
  int64_t blocks = (wanted + threads - 1) / threads;
  blocks = std::min<int64_t>(blocks, session.multiprocessors * blocksPerMultiprocessor);
  return session.check(session.cuda.launchKernel(function, static_cast<unsigned>(blocks), 1, 1,
                                                 threads, 1, 1, 0, session.stream, parameters,
                                                 nullptr),
                       name);
}

void KernelTable::launch(mpc_rt_kernel_fn handle, void *const *arguments, int64_t count,
                         bool waits) {
  auto *kernel = reinterpret_cast<const Kernel *>(handle);
  const char *sizes = kernel->info->arguments;
  Launch launch{
      static_cast<uint32_t>(kernel - kernels.data()), {}, std::max<int64_t>(0, count), waits};
  for (size_t i = 0; sizes[i]; ++i) {
    // A buffer's parameter is its address; a scalar stands where the array points.
    uint64_t word = 0;
    if (sizes[i] == 'p')
      word = reinterpret_cast<uintptr_t>(arguments[i]);
    else
      std::memcpy(&word, arguments[i], static_cast<size_t>(sizes[i] - '0'));
    launch.words.push_back(word);
  }
  waiting.push_back(std::move(launch));
}

// A launch that fills the GPU has a grid of its own.
bool KernelTable::isAlone(const Launch &launch) const {
  const Kernel &kernel = kernels[launch.kernel];
  return kernel.function && launch.count >= MPC_RT_CUDA_WIDE_THREADS / int64_t{kernel.info->lanes};
}

size_t KernelTable::matchLaunches(const Group &group, size_t stage, size_t first,
                                  size_t &waits) const {
  size_t length = 0;
  for (; first + length < waiting.size() && stage + length < group.info->kernel_count; ++length) {
    const Launch &launch = waiting[first + length];
    const bool stageWaits = length == 0 || group.info->waits[stage + length];
    if (group.info->kernels[stage + length] != launch.kernel || isAlone(launch) ||
        (length != 0 && launch.waits && !stageWaits))
      break;
    waits += stageWaits;
  }
  return length;
}

KernelTable::Piece KernelTable::pieceFrom(size_t first) const {
  Piece best{first};
  if (isAlone(waiting[first]))
    return best;
  size_t most = kernels[waiting[first].kernel].function ? 1 : 0, fewest = 0;
  for (const Group &group : groups)
    for (size_t stage = 0; stage < group.info->kernel_count; ++stage) {
      size_t waits = 0;
      const size_t length = matchLaunches(group, stage, first, waits);
      if (length > most || (length == most && best.group && waits < fewest)) {
        most = length;
        fewest = waits;
        best = {first, length, &group, stage};
      }
    }
  return best;
}

mpc_rt_status_t KernelTable::launchAlone(Launch &launch) {
  if (launch.count == 0)
    return MPC_RT_OK;
  const Kernel &kernel = kernels[launch.kernel];
  std::vector<void *> parameters;
  for (uint64_t &word : launch.words)
    parameters.push_back(&word);
  parameters.push_back(&launch.count);
  return this->launch(kernel.function, kernel.info->block_threads, parameters.data(),
                      launch.count * kernel.info->lanes, kernel.info->name);
}

mpc_rt_status_t KernelTable::launchTogether(const Piece &piece) {
  const mpc_rt_cuda_group_t &info = *piece.group->info;
  std::vector<void *> parameters;
  uint64_t none = 0; // of stages that do not run
  // Blocks of a fork's stages stand beside each other.
  int64_t most = 0, threads = info.block_threads, beside = 0;
  for (size_t stage = 0; stage < info.kernel_count; ++stage) {
    const mpc_rt_cuda_kernel_t &kernel = *kernels[info.kernels[stage]].info;
    if (stage < piece.stage || stage >= piece.stage + piece.length) {
      parameters.insert(parameters.end(), std::strlen(kernel.arguments) + 1, &none);
      continue;
    }
    Launch &launch = waiting[piece.first + stage - piece.stage];
    for (uint64_t &word : launch.words)
      parameters.push_back(&word);
    parameters.push_back(&launch.count);
    const int64_t blocks = (launch.count * kernel.lanes + threads - 1) / threads;
    beside = info.waits[stage] ? blocks : beside + blocks;
    most = std::max(most, beside);
  }
  if (most == 0)
    return MPC_RT_OK;
  auto firstStage = static_cast<int>(piece.stage),
       endStage = static_cast<int>(piece.stage + piece.length);
  parameters.push_back(&firstStage);
  parameters.push_back(&endStage);
  auto blocks = static_cast<unsigned>(std::min(most, int64_t{session.multiprocessors}));
  return session.check(session.cuda.launchCooperative(piece.group->function, blocks, 1, 1,
                                                      static_cast<unsigned>(threads), 1, 1, 0,
                                                      session.stream, parameters.data()),
                       info.name);
}

mpc_rt_status_t KernelTable::flush() {
  mpc_rt_status_t status = MPC_RT_OK;
  for (size_t first = 0; !status && first < waiting.size();) {
    const Piece piece = pieceFrom(first);
    first += piece.length;
    Launch &launch = waiting[piece.first];
    const Kernel &kernel = kernels[launch.kernel];
    status = piece.group ? launchTogether(piece)
             : kernel.function
                 ? launchAlone(launch)
                 : fail(MPC_RT_DATA_LOSS,
                        "kernel %s is launched in an order that the model's tables do "
                        "not know; compile the model again",
                        kernel.info->name);
  }
  waiting.clear();
  return status;
}

mpc_rt_status_t KernelTable::launchNamed(const char *name, void **parameters, int64_t count) {
  if (count <= 0)
    return MPC_RT_OK;
  Function &function = named[name];
  if (!function && session.cuda.moduleGetFunction(&function, module, name))
    return fail(MPC_RT_FAILED_PRECONDITION,
                "the model's library has no kernel %s, which this runtime needs; compile the model "
                "again with this version",
                name);
  constexpr unsigned threads = 256;
  return launch(function, threads, parameters, count, name);
}

static std::string nameFor(const char *kernel, mpc_rt_dtype_t dtype) {
  return std::string(kernel) + (dtype == MPC_RT_FLOAT32    ? "f32"
                                : dtype == MPC_RT_FLOAT64  ? "f64"
                                : dtype == MPC_RT_BFLOAT16 ? "bf16"
                                                           : "f16");
}

mpc_rt_status_t KernelTable::launchRelu(mpc_rt_dtype_t dtype, void *values, int64_t count) {
  void *parameters[] = {&values, &count};
  return launchNamed(nameFor("mpc_relu_", dtype).c_str(), parameters, count);
}

// A thread per byte of bits.
mpc_rt_status_t KernelTable::launchReluMask(const Contraction &shape, void *values, uint8_t *mask) {
  int64_t columns = shape.n, count = shape.maskBytes();
  void *parameters[] = {&values, &mask, &columns, &count};
  return launchNamed(nameFor("mpc_relu_mask_", shape.out).c_str(), parameters, count);
}

mpc_rt_status_t KernelTable::launchWhere(const Contraction &shape, void *values,
                                         const uint8_t *where) {
  int64_t columns = shape.n, count = shape.maskBytes();
  void *parameters[] = {&values, &where, &columns, &count};
  return launchNamed(nameFor("mpc_where_", shape.out).c_str(), parameters, count);
}

mpc_rt_status_t KernelTable::launchGelu(mpc_rt_dtype_t dtype, void *y, const void *x,
                                        int64_t count) {
  void *parameters[] = {&y, &x, &count};
  return launchNamed(nameFor("mpc_gelu_", dtype).c_str(), parameters, count);
}

mpc_rt_status_t KernelTable::launchGeluGradient(mpc_rt_dtype_t dtype, void *y, const void *x,
                                                int64_t count) {
  void *parameters[] = {&y, &x, &count};
  return launchNamed(nameFor("mpc_gelu_gradient_", dtype).c_str(), parameters, count);
}

// A warp takes two packs of 16 bytes of columns.
mpc_rt_status_t KernelTable::launchColumnSums(const Contraction &shape, const void *rhs,
                                              void *sums) {
  constexpr int64_t lanes = 32;
  const int64_t columnsOfWarp = 2 * (16 / static_cast<int64_t>(dtypeSize(shape.rhs)));
  int32_t dtype = static_cast<int32_t>(shape.sumsDtype());
  int64_t rows = shape.k, columns = shape.n;
  int64_t count = (columns + columnsOfWarp - 1) / columnsOfWarp * lanes;
  void *parameters[] = {&rhs, &sums, &dtype, &rows, &columns, &count};
  return launchNamed(nameFor("mpc_column_sums_", shape.rhs).c_str(), parameters, count);
}

} // namespace mpc::rt::cuda
