// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans per descriptor and batch; kernels do what cuBLASLt leaves.
#include "runtime/drivers/cuda/contractor.h"
#include "runtime/base/dtype.h"
#include "runtime/drivers/cuda/library_kernels.h"
#include "runtime/rules/split_products.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

namespace mpc::rt::cuda {
namespace {

// More than this no algorithm asks for.
constexpr uintptr_t bestAlignment = 256;

uint32_t alignmentOf(const void *address) {
  auto bits = reinterpret_cast<uintptr_t>(address) | bestAlignment;
  return static_cast<uint32_t>(bits & -bits);
}

bool isSetTo(const char *variable, const char *wanted) {
  const char *value = std::getenv(variable);
  return value && std::strcmp(value, wanted) == 0;
}

Contraction withoutEpilogue(Contraction c) {
  c.hasBias = c.relu = c.makesMask = c.readsMask = false;
  c.gelu = c.keepsArgument = c.geluGradient = false;
  return c;
}

} // namespace

Contractor::Contractor(DeviceSession &session, KernelTable &kernels, AlgorithmChoices &choices,
                       uint32_t fp32Precision)
    : session(session), kernels(kernels), choices(choices), log(choices.log),
      fp32Precision(fp32Precision), splitsAll(isSetTo("MPC_CUDA_TF32X3", "all")),
      products(session, choices), trials(session, kernels, products), splitter(session, kernels) {}

Contractor::~Contractor() {
  session.makeCurrent();
  session.cuda.streamSynchronize(session.stream);
  forgetPlans();
}

void Contractor::forgetPlans() {
  for (auto &[key, plan] : plans)
    products.release(plan);
  plans.clear();
}

rules::BlasProduct Contractor::ruleOf(const Contraction &c) {
  rules::BlasProduct product;
  product.lhs = c.lhs, product.rhs = c.rhs, product.out = c.out;
  product.bias = c.hasBias ? c.bias : c.out;
  product.n = c.n, product.k = c.k;
  product.transposeLhs = c.transposeLhs, product.transposeRhs = c.transposeRhs;
  product.accumulate = c.accumulate, product.relu = c.relu, product.hasBias = c.hasBias;
  return product;
}

mpc_rt_status_t Contractor::byKernel(const Contraction &shape, const ProductOperands &operands) {
  ProductArguments product = argumentsOf(shape);
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

const char *Contractor::nameOf(const Contraction &c, uint32_t epilogue) const {
  if (!ruleOf(c).isTaken())
    return "direct";
  if (splits(c))
    return "cublaslt:tf32x3";
  if (c.gelu && does(epilogue, lt::epilogueGelu))
    return "cublaslt:gelu";
  if (c.geluGradient && does(epilogue, lt::epilogueGeluDerivative))
    return "cublaslt:gelu_gradient";
  return c.sumsColumns && does(epilogue, lt::epilogueColumnSums) ? "cublaslt:bias_gradient"
                                                                 : "cublaslt";
}

mpc_rt_status_t Contractor::contract(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                                     const mpc_rt_contract_call_t &call) {
  const char *layer = descriptor.layer ? descriptor.layer : "contraction";
  const ProductOperands operands{
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
  const ProductOperands operands{lhs, rhs, bias, out, /*bits=*/{}};
  uint32_t epilogue = lt::epilogueDefault;
  auto status = product(key, shape, operands, epilogue, layer);
  return status ? status : finish(shape, operands, epilogue);
}

mpc_rt_status_t Contractor::finish(const Contraction &shape, const ProductOperands &operands,
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
                                    const ProductOperands &given, uint32_t &epilogue,
                                    const char *layer) {
  // The library is not needed here: zeros are the same with relu, and the kernel applies it.
  epilogue = lt::epilogueRelu;
  ProductOperands operands = given;
  if (shape.keepsArgument)
    operands.out = given.gelu.kept;
  if (shape.k == 0 && !shape.hasBias)
    return shape.accumulate
               ? MPC_RT_OK
               : session.check(session.cuda.memsetBytes(
                                   reinterpret_cast<DevicePointer>(operands.out), 0,
                                   shape.outElements() * dtypeSize(shape.out), session.stream),
                               layer);
  if (!ruleOf(shape).isTaken())
    return byKernel(shape, operands);
  if (splits(shape))
    return productOfSplit(key, shape, given, operands, epilogue, layer);
  ProductPlan *plan = nullptr;
  if (auto status = planOf({key, Terms::all}, shape, given, operands, layer, plan))
    return status;
  epilogue = plan->epilogue;
  return products.issue(*plan, does(plan->epilogue, lt::epilogueGelu) ? given : operands, layer);
}

mpc_rt_status_t Contractor::planOf(const std::pair<ProductKey, Terms> &key,
                                   const Contraction &shape, const ProductOperands &given,
                                   const ProductOperands &operands, const char *layer,
                                   ProductPlan *&plan) {
  auto [found, isNew] = plans.try_emplace(key);
  plan = &found->second;
  // Addresses in the arena move with the batch only, but the arena itself may be another one.
  std::array<uint32_t, 4> alignments = {alignmentOf(operands.lhs), alignmentOf(operands.rhs),
                                        std::min(alignmentOf(operands.out), alignmentOf(given.out)),
                                        alignmentOf(operands.sums)};
  bool isWorse = false;
  for (size_t i = 0; i < alignments.size(); ++i)
    isWorse |= alignments[i] < plan->alignments[i];
  if (!isNew && !isWorse && plan->shape == shape)
    return MPC_RT_OK;
  products.release(*plan);
  *plan = ProductPlan();
  plan->shape = shape;
  plan->inTf32 = fp32Precision == MPC_RT_FP32_TF32 || key.second != Terms::all;
  plan->alignments = alignments;
  ProductOperands tried = given;
  tried.lhs = operands.lhs, tried.rhs = operands.rhs;
  auto status = trials.choose(*plan, tried, layer);
  // Also where a part of the epilogue was left out instead.
  if (auto refused = choices.checkRefused(layer))
    status = refused;
  if (status) {
    products.release(*plan);
    plans.erase(found);
  }
  return status;
}

bool Contractor::splits(const Contraction &c) const {
  if (fp32Precision != MPC_RT_FP32_TF32X3 || c.lhs != MPC_RT_FLOAT32 || c.rhs != MPC_RT_FLOAT32 ||
      c.out != MPC_RT_FLOAT32)
    return false;
  return splitsAll || rules::SplitProduct{c.batch, c.m, c.n, c.k}.isWorthwhile();
}

mpc_rt_status_t Contractor::productOfSplit(const ProductKey &key, const Contraction &shape,
                                           const ProductOperands &given,
                                           const ProductOperands &operands, uint32_t &epilogue,
                                           const char *layer) {
  struct Part {
    int64_t first, terms;
    ProductPlan *plan;
  };
  const int64_t most = rules::SplitProduct{shape.batch, shape.m, shape.n, shape.k}.termsOfPart();
  ProductOperands split = operands;
  if (auto status = splitter.reserve(shape, most, split, layer))
    return status;
  std::vector<Part> parts;
  // All plans come before the first product: a trial writes over the result.
  for (int64_t first = 0; first < shape.k; first += most) {
    Part part{first, std::min(most, shape.k - first), nullptr};
    const bool isLast = first + part.terms == shape.k;
    Contraction product = isLast ? shape : withoutEpilogue(shape);
    product.k = 3 * part.terms;
    product.accumulate |= first > 0;
    product.sumsColumns = false; // each of them would be a sum of parts of numbers
    const Terms terms = isLast ? Terms::last : first == 0 ? Terms::first : Terms::middle;
    // A trial multiplies what is there, which must be numbers.
    if (isLast && plans.find({key, terms}) == plans.end())
      if (auto status = splitter.split(shape, first, part.terms, operands, split))
        return status;
    if (auto status = planOf({key, terms}, product, given, split, layer, part.plan))
      return status;
    parts.push_back(part);
  }
  for (const Part &part : parts) {
    if (auto status = splitter.split(shape, part.first, part.terms, operands, split))
      return status;
    if (auto status = products.issue(*part.plan, split, layer))
      return status;
  }
  epilogue = parts.back().plan->epilogue;
  return MPC_RT_OK;
}

} // namespace mpc::rt::cuda
