// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CUDA driver: what a call needs goes to the GPU, the call is issued or replayed, its results
// come back.
#include "runtime/base/dtype.h"
#include "runtime/drivers/cuda/attender.h"
#include "runtime/drivers/cuda/call_tensors.h"
#include "runtime/drivers/cuda/convolver.h"
#include "runtime/drivers/cuda/cuda_memory.h"
#include "runtime/drivers/cuda/float8_contractor.h"
#include "runtime/drivers/cuda/value_counter.h"
#include "runtime/drivers/driver.h"

#include <cstring>
#include <utility>

namespace mpc::rt {
namespace cuda {
namespace {

mpc_rt_status_t failForOtherTarget(const mpc_rt_contract_t &descriptor) {
  return fail(MPC_RT_FAILED_PRECONDITION,
              "%s: the model was not compiled for CUDA; compile it with --target=cuda",
              descriptor.layer ? descriptor.layer : "contraction");
}

class PreparedOnDevice final : public PreparedMemory {
public:
  explicit PreparedOnDevice(DeviceSession &session) : memory(session, Memory::Kind::device) {}
  mpc_rt_status_t reserve(uint64_t bytes, bool &grew) override {
    return memory.reserve(bytes, "prepared weights", grew);
  }
  void *data() const noexcept override { return memory.data(); }
  uint64_t size() const noexcept override { return memory.size(); }

private:
  Memory memory;
};

class CudaDriver final : public Driver {
public:
  CudaDriver(const DriverOptions &options, std::unique_ptr<DeviceSession> opened,
             const mpc_rt_cuda_program_t &program)
      : options(options), session(std::move(opened)), table(*session, program),
        contractor(*session, table, selection, program.fp32_precision),
        float8(*session, table, contractor, selection.log), cudnn(*session),
        convolver(*session, table, contractor, cudnn, selection.log,
                  program.fp32_precision == MPC_RT_FP32_TF32),
        attender(*session, table, contractor, cudnn, selection.log), variables(*session),
        prepared([this] { return std::make_unique<PreparedOnDevice>(*session); }),
        arena(*session, Memory::Kind::device), tensors(*session), nextInputs(*session),
        graphs(*session), counts(*session, table),
        copies(*session, table, variables, prepared, nextInputs, graphs, counts) {}

  mpc_rt_status_t open() {
    if (auto status = table.load())
      return status;
    return contractor.open();
  }

  const char *name() const noexcept override { return "cuda"; }
  bool computes() const noexcept override { return true; }
  unsigned threads() const noexcept override { return options.threads; }

  mpc_rt_status_t begin(WeightUse use) override {
    weightUse = use;
    return session->makeCurrent();
  }
  void end() noexcept override {}

  void parallelFor(mpc_rt_kernel_fn kernel, void *const *arguments, int64_t count,
                   int64_t) override {
    table.launch(kernel, arguments, count);
  }
  void parallelForAll(const mpc_rt_launch_t *launches, uint32_t count) override {
    for (const mpc_rt_launch_t *launch = launches; launch != launches + count; ++launch)
      table.launch(launch->kernel, launch->arguments, launch->count, /*waits=*/launch == launches);
  }
  mpc_rt_status_t convolve(const mpc_rt_convolution_t &descriptor,
                           const mpc_rt_convolve_call_t &call) override {
    if (call.kernel)
      return fail(
          MPC_RT_FAILED_PRECONDITION,
          "%s: a kernel on the result of a convolution on a GPU; compile the model for CUDA",
          descriptor.layer ? descriptor.layer : "convolution");
    if (auto status = table.flush())
      return status;
    return convolver.convolve(descriptor, call.lhs, call.rhs, call.bias, call.out, call.batch);
  }
  mpc_rt_status_t attend(const mpc_rt_attention_t &descriptor,
                         const mpc_rt_attend_call_t &call) override {
    if (auto status = table.flush())
      return status;
    return attender.attend(descriptor, call);
  }

  DeviceMemory &deviceMemory() noexcept override { return copies; }
  KernelSelection &kernels() noexcept override { return selection; }

  mpc_rt_status_t prepare(const mpc_rt_call_t &call, mpc_rt_prepare_fn fill, uint64_t bytes,
                          void *&memory) override {
    if (auto status = table.flush())
      return status;
    if (auto status = prepared.prepare(call, fill, bytes, /*keeps=*/true, memory))
      return status;
    return table.flush();
  }

  mpc_rt_status_t run(const mpc_rt_entry_info_t &entry, const mpc_rt_call_t &call,
                      uint32_t variableCount, uint64_t arenaBytes,
                      const DeviceTensors *onDevice) override;

  void variablesChanged() noexcept override { prepared.variablesChanged(); }
  uint64_t libraryBytes() const noexcept override {
    return contractor.bytes() + float8.bytes() + convolver.bytes() + attender.bytes() +
           prepared.bytes() + counts.bytes();
  }

protected:
  mpc_rt_status_t multiply(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                           const mpc_rt_contract_call_t &call) override {
    const bool addsMore = shape.accumulate &&
                          (shape.makesMask || shape.readsMask || shape.gelu || shape.geluGradient);
    if (call.largest || call.kernel || call.scale || shape.roundsLhs || addsMore)
      return failForOtherTarget(descriptor);
    if (auto status = table.flush())
      return status;
    return isFloat8(shape.lhs)
               ? float8.contract(descriptor, call.lhs, call.rhs, call.out, call.batch)
               : contractor.contract(descriptor, shape, call);
  }
  bool takes(const Contraction &, const mpc_rt_contract_call_t &) const override { return true; }

private:
  mpc_rt_status_t reserve(const CallTensors::Layout &layout, uint64_t arenaBytes);

  DriverOptions options;
  std::unique_ptr<DeviceSession> session;
  KernelTable table;
  AlgorithmChoices selection;
  unsigned selectionVersion = 0; // that plans and recorded steps are of
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
  StepGraphs graphs; // recorded steps hold addresses of the above
  CountsOnDevice counts;
  CudaMemory copies;
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
  if (std::exchange(selectionVersion, selection.version()) != selection.version()) {
    contractor.forgetPlans();
    graphs.forget();
  }
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
  there.kernels = table.handles();

  if (onDevice && onDevice->any())
    if (auto status = copies.waitForCaller())
      return status;
  if (auto status = !call.inputs && entry.input_count
                        ? nextInputs.take(tensors.address())
                        : tensors.copyInputs(entry, call, layout, onDevice))
    return status;
  prepared.begin(&entry);
  if (auto status = prepared.refresh(there))
    return status;
  if (auto status = table.flush())
    return status;
  auto status = graphs.run(&entry, call.batch, [&]() -> mpc_rt_status_t {
    mpc_rt_status_t issued = entry.fn(&there);
    issued = issued ? issued : table.flush();
    table.discard();
    return issued;
  });
  // All: each forgets that it moved.
  const bool convolverMoved = convolver.takeMoved(), attenderMoved = attender.takeMoved(),
             float8Moved = float8.takeMoved(), contractorMoved = contractor.takeMoved();
  if (convolverMoved || attenderMoved || float8Moved || contractorMoved)
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
