// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuBLASLt counts columns first: a row-major product L R is the column-major product of R and L,
// taken as they lie in memory.
#include "runtime/drivers/cuda/contractor.h"
#include "runtime/base/dtype.h"
#include "runtime/drivers/cuda/library_kernels.h"

#include <algorithm>
#include <array>

namespace mpc::rt::cuda {
namespace {

// NVIDIA recommends this for Hopper; earlier GPUs need less.
constexpr uint64_t workspaceBytes = uint64_t{32} << 20;
// More than this no algorithm asks for.
constexpr uintptr_t bestAlignment = 256;

uint32_t alignmentOf(const void *address) {
  auto bits = reinterpret_cast<uintptr_t>(address) | bestAlignment;
  return static_cast<uint32_t>(bits & -bits);
}

} // namespace

Contractor::~Contractor() {
  session.makeCurrent();
  session.cuda.streamSynchronize(session.stream);
  for (auto &[key, plan] : plans)
    release(plan);
  if (handle)
    blas->destroy(handle);
}

void Contractor::release(Plan &plan) const {
  if (plan.desc)
    blas->descDestroy(plan.desc);
  plan.desc = nullptr;
  for (lt::Layout *layout : {&plan.a, &plan.b, &plan.d}) {
    if (*layout)
      blas->layoutDestroy(*layout);
    *layout = nullptr;
  }
}

mpc_rt_status_t Contractor::check(int result, const char *layer, const char *what) const {
  if (result == 0)
    return MPC_RT_OK;
  return fail(MPC_RT_INTERNAL, "%s: cuBLASLt: %s failed with status %d", layer, what, result);
}

mpc_rt_status_t Contractor::open() {
  const char *problem = nullptr;
  blas = lt::api(problem);
  if (!blas)
    return fail(MPC_RT_UNAVAILABLE, "matrix products on the GPU: %s", problem);
  if (auto status = check(blas->create(&handle), "matrix products on the GPU", "opening it"))
    return status;
  int version[] = {0, 0, 0};
  for (int part : {lt::majorVersion, lt::minorVersion, lt::patchLevel})
    blas->property(static_cast<lt::LibraryProperty>(part), &version[part]);
  algorithms.open("cublaslt-" + std::to_string(version[0]) + "." + std::to_string(version[1]) +
                  "." + std::to_string(version[2]) + "-sm_" + std::to_string(session.architecture) +
                  "-" + std::to_string(session.multiprocessors) + "-" + session.name);
  bool grew = false;
  return workspace.reserve(workspaceBytes, "workspace of cuBLASLt", grew);
}

bool Contractor::takes(mpc_rt_dtype_t lhs, mpc_rt_dtype_t rhs, mpc_rt_dtype_t out,
                       mpc_rt_dtype_t bias) {
  return isFloating(lhs) && isFloating(out) && lhs == rhs && bias == out &&
         (lhs == out || (out == MPC_RT_FLOAT32 && lhs != MPC_RT_FLOAT64));
}

// cuBLAS guide, cublasLtMatmul(), on int8 into int32: only "TN", extents and leading dimensions
// that are multiples of 4. mpc-pad-dims makes them multiples of 16.
bool Contractor::takesIntegers(const Contraction &c) {
  return c.lhs == MPC_RT_INT8 && c.rhs == MPC_RT_INT8 && c.out == MPC_RT_INT32 && c.transposeRhs &&
         !c.transposeLhs && c.k % 4 == 0 && c.n % 4 == 0 && !c.hasBias && !c.relu && !c.accumulate;
}

// The same guide, "to use FP8 kernels": "TN" on compute capability 8.9, 9.0 and 12.x, rows of
// multiples of 16 bytes. The columns of the row-major left operand and of the result are free.
bool Contractor::takesFloat8(const Contraction &c) {
  return isFloat8(c.lhs) && isFloat8(c.rhs) && c.out == MPC_RT_FLOAT32 && c.transposeRhs &&
         !c.transposeLhs && c.k % 16 == 0 && c.n % 16 == 0;
}

bool Contractor::takesProduct(const Contraction &c) {
  const bool isFloating = takes(c.lhs, c.rhs, c.out, c.hasBias ? c.bias : c.out) &&
                          !(c.accumulate && (c.relu || c.hasBias));
  return c.k != 0 && (isFloating || takesIntegers(c) || takesFloat8(c));
}

mpc_rt_status_t Contractor::byKernel(const Contraction &shape, const Operands &operands) {
  Product product(shape);
  const void *added = shape.hasBias ? operands.bias : nullptr;
  const void *lhs = operands.lhs, *rhs = operands.rhs;
  void *out = operands.out;
  int64_t count = static_cast<int64_t>(shape.outElements());
  void *parameters[] = {&product, &lhs, &rhs, &added, &out, &count};
  bool inDouble = false;
  for (mpc_rt_dtype_t dtype : {shape.lhs, shape.rhs, shape.out})
    inDouble |= dtype == MPC_RT_FLOAT64;
  return kernels.launchNamed(shape.lhs == MPC_RT_INT8 ? "mpc_product_i32"
                             : inDouble               ? "mpc_product_f64"
                                                      : "mpc_product_f32",
                             parameters, count);
}

mpc_rt_status_t Contractor::issue(const Plan &plan, const Operands &operands,
                                  const char *layer) const {
  const Contraction &shape = plan.shape;
  if (shape.hasBias)
    if (auto status =
            check(blas->descSet(plan.desc, lt::biasPointer, &operands.bias, sizeof operands.bias),
                  layer, "setting the bias"))
      return status;
  if (plan.epilogue & lt::epilogueBeside)
    if (auto status = setBeside(plan, operands, layer))
      return status;
  if (plan.epilogue & lt::epilogueColumnSums)
    if (auto status = setSums(plan, operands, layer))
      return status;
  const float one = 1;
  const double one64 = 1;
  const int32_t one32 = 1;
  const void *alpha = plan.factors == lt::r64f   ? static_cast<const void *>(&one64)
                      : plan.factors == lt::r32i ? static_cast<const void *>(&one32)
                                                 : &one;
  const double none64 = 0; // the same bytes are 0 in every type
  const void *none = &none64;
  return check(blas->matmul(handle, plan.desc, alpha, operands.rhs, plan.a, operands.lhs, plan.b,
                            shape.accumulate ? alpha : none, operands.out, plan.d, operands.out,
                            plan.d, &plan.choice.algorithm, workspace.data(), workspace.size(),
                            session.stream),
               layer, "the product");
}

namespace {
bool does(uint32_t epilogue, lt::Epilogue part) { return (epilogue & part) == part; }

// The name in the log of kernels.
const char *nameOf(const Contraction &c, uint32_t epilogue) {
  if (!Contractor::takesProduct(c))
    return "direct";
  if (c.gelu && does(epilogue, lt::epilogueGelu))
    return "cublaslt:gelu";
  if (c.geluGradient && does(epilogue, lt::epilogueGeluDerivative))
    return "cublaslt:gelu_gradient";
  return c.sumsColumns && does(epilogue, lt::epilogueColumnSums) ? "cublaslt:bias_gradient"
                                                                 : "cublaslt";
}
} // namespace

mpc_rt_status_t Contractor::contract(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                                     const mpc_rt_contract_call_t &call) {
  const char *layer = descriptor.layer ? descriptor.layer : "contraction";
  const Operands operands{
      call.lhs, call.rhs, call.bias, call.out, bitsOf(call), geluArgumentsOf(call), call.sums};
  uint32_t epilogue = lt::epilogueDefault;
  if (shape.outElements() != 0) {
    if (auto status = product({ProductKind::contraction, descriptor.id, call.batch, 0}, shape,
                              operands, epilogue, layer))
      return status;
    if (auto status = finish(shape, operands, epilogue))
      return status;
  }
  log.note(descriptor.id, call.batch, layer, shape, nameOf(shape, epilogue));
  return shape.sumsColumns && !does(epilogue, lt::epilogueColumnSums)
             ? kernels.launchColumnSums(shape, call.rhs, call.sums)
             : MPC_RT_OK;
}

mpc_rt_status_t Contractor::multiply(const ProductKey &key, const Contraction &shape,
                                     const void *lhs, const void *rhs, const void *bias, void *out,
                                     const char *layer) {
  if (shape.outElements() == 0)
    return MPC_RT_OK;
  const Operands operands{lhs, rhs, bias, out, /*bits=*/{}};
  uint32_t epilogue = lt::epilogueDefault;
  auto status = product(key, shape, operands, epilogue, layer);
  return status ? status : finish(shape, operands, epilogue);
}

mpc_rt_status_t Contractor::finish(const Contraction &shape, const Operands &operands,
                                   uint32_t epilogue) {
  const auto count = static_cast<int64_t>(shape.outElements());
  const auto isLeft = [&](lt::Epilogue part) { return !does(epilogue, part); };
  void *out = operands.out;
  if (shape.makesMask && isLeft(lt::epilogueReluMask))
    return kernels.launchReluMask(shape, out, operands.bits.mask);
  if (shape.relu && isLeft(lt::epilogueRelu))
    return kernels.launchRelu(shape.out, out, count);
  if (shape.readsMask && isLeft(lt::epilogueReluDerivative))
    return kernels.launchWhere(shape, out, operands.bits.where);
  if (shape.gelu && isLeft(lt::epilogueGelu))
    return kernels.launchGelu(shape.out, out, shape.keepsArgument ? operands.gelu.kept : out,
                              count);
  if (shape.geluGradient && isLeft(lt::epilogueGeluDerivative))
    return kernels.launchGeluGradient(shape.out, out, operands.gelu.at, count);
  return MPC_RT_OK;
}

mpc_rt_status_t Contractor::product(const ProductKey &key, const Contraction &shape,
                                    const Operands &given, uint32_t &epilogue, const char *layer) {
  // The library is not needed here: zeros are the same with relu, and the kernel applies it.
  epilogue = lt::epilogueRelu;
  Operands operands = given;
  if (shape.keepsArgument)
    operands.out = given.gelu.kept;
  if (shape.k == 0 && !shape.hasBias)
    return shape.accumulate
               ? MPC_RT_OK
               : session.check(session.cuda.memsetBytes(
                                   reinterpret_cast<DevicePointer>(operands.out), 0,
                                   shape.outElements() * dtypeSize(shape.out), session.stream),
                               layer);
  if (!takesProduct(shape))
    return byKernel(shape, operands);
  auto [found, isNew] = plans.try_emplace(key);
  Plan &plan = found->second;
  // Addresses in the arena move with the batch only, but the arena itself may be another one.
  std::array<uint32_t, 4> alignments = {alignmentOf(operands.lhs), alignmentOf(operands.rhs),
                                        std::min(alignmentOf(operands.out), alignmentOf(given.out)),
                                        alignmentOf(operands.sums)};
  bool isWorse = false;
  for (size_t i = 0; i < alignments.size(); ++i)
    isWorse |= alignments[i] < plan.alignments[i];
  if (isNew || isWorse || !(plan.shape == shape)) {
    release(plan);
    plan = Plan();
    plan.shape = shape;
    plan.alignments = alignments;
    if (auto status = chooseEpilogue(plan, given, layer)) {
      release(plan);
      plans.erase(found);
      return status;
    }
  }
  epilogue = plan.epilogue;
  return issue(plan, plan.does(lt::epilogueGelu) ? given : operands, layer);
}

} // namespace mpc::rt::cuda
