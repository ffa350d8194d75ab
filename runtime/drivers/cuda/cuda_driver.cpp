// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CUDA driver: what a call needs goes to the GPU, the call is issued or replayed, its results
// come back.
#include "runtime/base/dtype.h"
#include "runtime/drivers/cuda/attender.h"
#include "runtime/drivers/cuda/call_tensors.h"
#include "runtime/drivers/cuda/convolver.h"
#include "runtime/drivers/cuda/float8_contractor.h"
#include "runtime/drivers/cuda/next_inputs.h"
#include "runtime/drivers/cuda/prepared_weights.h"
#include "runtime/drivers/cuda/step_graphs.h"
#include "runtime/drivers/cuda/variable_mirror.h"
#include "runtime/drivers/driver.h"

#include <cstring>

namespace mpc::rt {
namespace cuda {
namespace {

mpc_rt_status_t failForOtherTarget(const mpc_rt_contract_t &descriptor) {
  return fail(MPC_RT_FAILED_PRECONDITION,
              "%s: the model was not compiled for CUDA; compile it with --target=cuda",
              descriptor.layer ? descriptor.layer : "contraction");
}

class CudaDriver final : public Driver {
public:
  CudaDriver(const DriverOptions &options, std::unique_ptr<DeviceSession> opened,
             const mpc_rt_cuda_program_t &program)
      : options(options), session(std::move(opened)), kernels(*session, program),
        contractor(*session, kernels, log, program.tf32 != 0),
        float8(*session, kernels, contractor, log), cudnn(*session),
        convolver(*session, kernels, contractor, cudnn, log, program.tf32 != 0),
        attender(*session, kernels, contractor, cudnn, log), variables(*session),
        prepared(*session), arena(*session, Memory::Kind::device), tensors(*session),
        nextInputs(*session), graphs(*session) {}

  mpc_rt_status_t open() {
    if (auto status = kernels.load())
      return status;
    return contractor.open();
  }

  const char *name() const noexcept override { return "cuda"; }
  bool computes() const noexcept override { return true; }
  unsigned threads() const noexcept override { return options.threads; }
  bool allocate(uint64_t bytes, Buffer &buffer) noexcept override { return buffer.allocate(bytes); }

  mpc_rt_status_t begin(WeightUse use) override {
    weightUse = use;
    return session->makeCurrent();
  }
  void end() noexcept override {}

  void parallelFor(mpc_rt_kernel_fn kernel, void *const *arguments, int64_t count,
                   int64_t) override {
    kernels.launch(kernel, arguments, count);
  }
  mpc_rt_status_t convolve(const mpc_rt_convolution_t &descriptor,
                           const mpc_rt_convolve_call_t &call) override {
    if (auto status = kernels.flush())
      return status;
    return convolver.convolve(descriptor, call.lhs, call.rhs, call.bias, call.out, call.batch);
  }
  mpc_rt_status_t attend(const mpc_rt_attention_t &descriptor,
                         const mpc_rt_attend_call_t &call) override {
    if (auto status = kernels.flush())
      return status;
    return attender.attend(descriptor, call);
  }

  mpc_rt_status_t bindVariables(uint8_t *host, uint64_t bytes,
                                const std::vector<MemoryBlock> &blocks) override {
    graphs.forget();
    prepared.variablesChanged();
    return variables.bind(host, bytes, blocks);
  }
  mpc_rt_status_t fetchVariables(uint64_t offset, uint64_t bytes) override {
    return variables.fetch(offset, bytes);
  }
  mpc_rt_status_t storeVariables(uint64_t offset, uint64_t bytes) override {
    prepared.variablesChanged();
    return variables.store(offset, bytes);
  }
  mpc_rt_status_t storeFetchedVariables() override {
    prepared.variablesChanged();
    return variables.storeAll();
  }
  mpc_rt_status_t prepare(const mpc_rt_call_t &call, mpc_rt_prepare_fn fill, uint64_t bytes,
                          void *&memory) override {
    if (auto status = kernels.flush())
      return status;
    if (auto status = prepared.prepare(call, fill, bytes, memory))
      return status;
    return kernels.flush();
  }

  mpc_rt_status_t copyFromDevice(void *to, const void *from, uint64_t bytes) override {
    if (auto status = session->makeCurrent())
      return status;
    if (auto status = waitForCaller())
      return status;
    auto status =
        session->check(session->cuda.memcpyToHost(to, reinterpret_cast<DevicePointer>(from), bytes,
                                                  session->stream),
                       "reading a tensor of the caller");
    return status ? status : session->synchronize();
  }

  mpc_rt_status_t prefetch(const mpc_rt_entry_info_t &entry, int64_t batch,
                           mpc_rt_fill_inputs_fn fill, void *user) override {
    CallTensors::Layout layout = CallTensors::layOut(entry, batch);
    layout.offsets.resize(entry.input_count);
    nextInputs.request({&entry, batch, std::move(layout.offsets), layout.inputBytes, fill, user});
    return MPC_RT_OK;
  }
  bool hasInputs(const mpc_rt_entry_info_t &entry, int64_t batch) const noexcept override {
    return nextInputs.has(entry, batch);
  }

  bool ownsMemory() const noexcept override { return true; }
  mpc_rt_status_t run(const mpc_rt_entry_info_t &entry, const mpc_rt_call_t &call,
                      uint32_t variableCount, uint64_t arenaBytes,
                      const DeviceTensors *onDevice) override;

  void recordKernels() noexcept override { log.start(); }
  std::string usedKernels() const override { return log.text(); }

  void variablesChanged() noexcept override { prepared.variablesChanged(); }
  uint64_t libraryBytes() const noexcept override {
    return contractor.bytes() + float8.bytes() + convolver.bytes() + attender.bytes() +
           prepared.bytes();
  }

protected:
  mpc_rt_status_t multiply(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                           const mpc_rt_contract_call_t &call) override {
    const bool addsMore = shape.accumulate &&
                          (shape.makesMask || shape.readsMask || shape.gelu || shape.geluGradient);
    if (call.largest || call.kernel || call.scale || shape.roundsLhs || addsMore)
      return failForOtherTarget(descriptor);
    if (auto status = kernels.flush())
      return status;
    return isFloat8(shape.lhs)
               ? float8.contract(descriptor, call.lhs, call.rhs, call.out, call.batch)
               : contractor.contract(descriptor, shape, call);
  }
  bool takes(const Contraction &, const mpc_rt_contract_call_t &) const override { return true; }

private:
  mpc_rt_status_t reserve(const CallTensors::Layout &layout, uint64_t arenaBytes);
  // Our stream does not wait for what the caller queued on the default stream.
  mpc_rt_status_t waitForCaller() {
    return session->check(session->cuda.streamSynchronize(nullptr), "the default stream");
  }

  DriverOptions options;
  std::unique_ptr<DeviceSession> session;
  KernelTable kernels;
  KernelLog log;
  Contractor contractor;
  Float8Contractor float8;
  dnn::SessionHandle cudnn; // before those whose plans it runs
  Convolver convolver;
  Attender attender;
  VariableMirror variables;
  PreparedWeights prepared;
  Memory arena;
  CallTensors tensors;
  NextInputs nextInputs;
  StepGraphs graphs; // last: recorded steps hold addresses of the above
  WeightUse weightUse = WeightUse::updated;
};

mpc_rt_status_t CudaDriver::reserve(const CallTensors::Layout &layout, uint64_t arenaBytes) {
  bool arenaMoved = false, tensorsMoved = false;
  if (auto status = arena.reserve(arenaBytes, "scratch memory of the step", arenaMoved))
    return status;
  if (auto status = tensors.reserve(layout, tensorsMoved))
    return status;
  if (arenaMoved || tensorsMoved)
    graphs.forget();
  return MPC_RT_OK;
}

mpc_rt_status_t CudaDriver::run(const mpc_rt_entry_info_t &entry, const mpc_rt_call_t &call,
                                uint32_t variableCount, uint64_t arenaBytes,
                                const DeviceTensors *onDevice) {
  const CallTensors::Layout layout = CallTensors::layOut(entry, call.batch);
  if (auto status = reserve(layout, arenaBytes))
    return status;
  std::vector<const void *> inputs(entry.input_count);
  std::vector<void *> outputs(entry.output_count), variablesThere(variableCount);
  for (uint32_t i = 0; i < entry.input_count; ++i)
    inputs[i] = tensors.data() + layout.offsets[i];
  for (uint32_t i = 0; i < entry.output_count; ++i)
    outputs[i] = tensors.data() + layout.offsets[entry.input_count + i];
  for (uint32_t i = 0; i < variableCount; ++i)
    variablesThere[i] = variables.onDevice(call.variables[i]);
  mpc_rt_call_t there = call;
  there.inputs = inputs.data();
  there.outputs = outputs.data();
  there.variables = variablesThere.data();
  there.arena = arena.data();
  there.kernels = kernels.handles();

  if (onDevice && onDevice->any())
    if (auto status = waitForCaller())
      return status;
  if (auto status = !call.inputs && entry.input_count
                        ? nextInputs.take(tensors.address())
                        : tensors.copyInputs(entry, call, layout, onDevice))
    return status;
  if (auto status = prepared.begin(&entry, there))
    return status;
  if (auto status = kernels.flush())
    return status;
  auto status = graphs.run(&entry, call.batch, [&]() -> mpc_rt_status_t {
    mpc_rt_status_t issued = entry.fn(&there);
    issued = issued ? issued : kernels.flush();
    kernels.discard();
    return issued;
  });
  // All: each forgets that it moved.
  const bool convolverMoved = convolver.takeMoved(), attenderMoved = attender.takeMoved(),
             float8Moved = float8.takeMoved();
  if (convolverMoved || attenderMoved || float8Moved)
    graphs.forget();
  if (weightUse == WeightUse::updated || std::strcmp(entry.name, "evaluate") == 0) {
    variables.deviceChanged();
    prepared.entryChangedVariables();
  }
  if (status)
    return status;
  if (auto copied = tensors.copyOutputs(entry, call, layout, onDevice))
    return copied;
  // While the GPU computes.
  const mpc_rt_status_t fetched = nextInputs.isRequested() ? nextInputs.fetch() : MPC_RT_OK;
  if (auto waited = session->synchronize())
    return waited;
  if (fetched)
    return fetched;
  tensors.deliverOutputs(entry, call, layout, onDevice);
  return MPC_RT_OK;
}

} // namespace
} // namespace cuda

mpc_rt_status_t makeCudaDriver(const DriverOptions &options, int ordinal,
                               const mpc_rt_cuda_program_t &program,
                               std::unique_ptr<Driver> &driver) {
  std::unique_ptr<cuda::DeviceSession> session;
  if (auto status = cuda::DeviceSession::open(ordinal, session))
    return status;
  auto made = std::make_unique<cuda::CudaDriver>(options, std::move(session), program);
  if (auto status = made->open())
    return status;
  driver = std::move(made);
  return MPC_RT_OK;
}

} // namespace mpc::rt
