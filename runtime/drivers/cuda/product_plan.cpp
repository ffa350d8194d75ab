// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How cuBLASLt is to multiply: descriptions, the choice of an algorithm, and whether relu is part
// of it.
#include "runtime/base/dtype.h"
#include "runtime/base/element.h"
#include "runtime/drivers/cuda/multiplier.h"

#include <cmath>
#include <vector>

namespace mpc::rt::cuda {

bool dataType(mpc_rt_dtype_t dtype, lt::DataType &type) {
  switch (dtype) {
  case MPC_RT_FLOAT32:
    type = lt::r32f;
    return true;
  case MPC_RT_FLOAT64:
    type = lt::r64f;
    return true;
  case MPC_RT_FLOAT16:
    type = lt::r16f;
    return true;
  case MPC_RT_BFLOAT16:
    type = lt::r16bf;
    return true;
  case MPC_RT_INT8:
    type = lt::r8i;
    return true;
  case MPC_RT_INT32:
    type = lt::r32i;
    return true;
  default:
    return false;
  }
}

// Everything that the choice depends on.
static std::string keyOf(const Contraction &c, const std::array<uint32_t, 3> &alignments,
                         bool reluInside, bool tf32, uint64_t workspaceBytes) {
  std::string key;
  for (int64_t number :
       {c.batch, c.m, c.n, c.k, static_cast<int64_t>(c.lhs), static_cast<int64_t>(c.out),
        int64_t{c.transposeLhs}, int64_t{c.transposeRhs}, int64_t{c.accumulate}, int64_t{c.hasBias},
        int64_t{reluInside}, int64_t{tf32}, int64_t{alignments[0]}, int64_t{alignments[1]},
        int64_t{alignments[2]}, static_cast<int64_t>(workspaceBytes)})
    key += (key.empty() ? "" : ",") + std::to_string(number);
  return key;
}

bool Multiplier::chooseKnown(Plan &plan, const std::string &key) const {
  lt::Algorithm algorithm;
  lt::Heuristic result = {};
  if (!algorithms.find(key, algorithm) ||
      blas->algorithmCheck(handle, plan.desc, plan.a, plan.b, plan.d, plan.d, &algorithm,
                           &result) ||
      result.state || result.workspaceBytes > workspace.size())
    return false;
  plan.choice = result;
  plan.choice.algorithm = algorithm;
  return true;
}

int Multiplier::askHeuristic(Plan &plan, int &found) const {
  lt::Preference preference = nullptr;
  if (int code = blas->preferenceCreate(&preference))
    return code;
  uint64_t space = workspace.size();
  blas->preferenceSet(preference, lt::workspaceBytes, &space, sizeof space);
  uint32_t scheme = lt::reduceInComputeType;
  blas->preferenceSet(preference, lt::reductionSchemeMask, &scheme, sizeof scheme);
  for (auto [attribute, alignment] : {std::pair(lt::alignmentA, &plan.alignments[1]),
                                      {lt::alignmentB, &plan.alignments[0]},
                                      {lt::alignmentC, &plan.alignments[2]},
                                      {lt::alignmentD, &plan.alignments[2]}})
    blas->preferenceSet(preference, attribute, alignment, sizeof *alignment);
  int code = blas->heuristic(handle, plan.desc, plan.a, plan.b, plan.d, plan.d, preference, 1,
                             &plan.choice, &found);
  blas->preferenceDestroy(preference);
  return code;
}

mpc_rt_status_t Multiplier::choose(Plan &plan, const char *layer) {
  const Contraction &c = plan.shape;
  const std::string key = keyOf(c, plan.alignments, plan.reluInside, tf32, workspace.size());
  if (chooseKnown(plan, key))
    return MPC_RT_OK;
  int found = 0;
  int code = askHeuristic(plan, found);
  if (code || found == 0 || plan.choice.state)
    return fail(MPC_RT_UNAVAILABLE,
                "%s: cuBLASLt has no algorithm for the product [%lld, %lld] x [%lld, %lld] of %s "
                "(status %d); use --device cpu",
                layer, static_cast<long long>(c.m), static_cast<long long>(c.k),
                static_cast<long long>(c.k), static_cast<long long>(c.n), dtypeName(c.lhs), code);
  algorithms.add(key, plan.choice.algorithm);
  return MPC_RT_OK;
}

mpc_rt_status_t Multiplier::makePlan(Plan &plan, const char *layer) {
  const Contraction &c = plan.shape;
  lt::DataType lhs, rhs, out;
  dataType(c.lhs, lhs), dataType(c.rhs, rhs), dataType(c.out, out); // takes() looked at them
  // The factors of the sums are of the type that sums.
  plan.factors = out == lt::r64f || out == lt::r32i ? out : lt::r32f;
  lt::ComputeType compute = out == lt::r64f           ? lt::compute64f
                            : out == lt::r32i         ? lt::compute32i
                            : tf32 && lhs == lt::r32f ? lt::compute32fTf32
                                                      : lt::compute32f;
  if (auto status = check(blas->descCreate(&plan.desc, compute, plan.factors), layer,
                          "describing the product"))
    return status;
  int32_t transA = c.transposeRhs ? lt::transpose : lt::none;
  int32_t transB = c.transposeLhs ? lt::transpose : lt::none;
  if (auto status = setEpilogue(plan, /*relu=*/false, layer))
    return status;
  for (auto [attribute, value] :
       {std::pair(lt::transA, static_cast<const void *>(&transA)), {lt::transB, &transB}})
    if (auto status =
            check(blas->descSet(plan.desc, attribute, value, 4), layer, "describing the product"))
      return status;
  auto makeLayout = [&](lt::Layout &layout, lt::DataType type, int64_t rows, int64_t columns) {
    int32_t count = static_cast<int32_t>(c.batch);
    int64_t stride = rows * columns;
    if (int code = blas->layoutCreate(&layout, type, rows, columns, rows))
      return code;
    if (c.batch == 1)
      return 0;
    if (int code = blas->layoutSet(layout, lt::batchCount, &count, sizeof count))
      return code;
    return blas->layoutSet(layout, lt::batchStride, &stride, sizeof stride);
  };
  int code = makeLayout(plan.a, rhs, c.transposeRhs ? c.k : c.n, c.transposeRhs ? c.n : c.k);
  code =
      code ? code : makeLayout(plan.b, lhs, c.transposeLhs ? c.m : c.k, c.transposeLhs ? c.k : c.m);
  code = code ? code : makeLayout(plan.d, out, c.n, c.m);
  if (auto status = check(code, layer, "describing an operand"))
    return status;

  return choose(plan, layer);
}

mpc_rt_status_t Multiplier::setEpilogue(Plan &plan, bool relu, const char *layer) const {
  uint32_t epilogue = (relu ? lt::epilogueRelu : 0u) | (plan.shape.hasBias ? lt::epilogueBias : 0u);
  epilogue = epilogue ? epilogue : uint32_t{lt::epilogueDefault};
  plan.reluInside = relu;
  return check(blas->descSet(plan.desc, lt::epilogue, &epilogue, sizeof epilogue), layer,
               "describing the product");
}

// Whether the library's relu leaves NaN what it is, which nothing documents: the product itself, of
// an operand of NaN.
bool Multiplier::keepsNaN(const Plan &plan, const void *rhs, const void *bias, void *out) {
  const Contraction &c = plan.shape;
  Memory operand(session, Memory::Kind::device);
  bool grew = false;
  const size_t bytes = c.lhsElements() * dtypeSize(c.lhs);
  const size_t results = c.outElements();
  // All bits set are NaN in every floating dtype.
  if (operand.reserve(bytes, "a check of relu", grew) ||
      session.cuda.memsetBytes(operand.address(), 0xFF, bytes, session.stream) ||
      issue(plan, operand.data(), rhs, bias, out, "a check of relu"))
    return false;
  std::vector<uint8_t> host(results * dtypeSize(c.out));
  if (session.cuda.memcpyToHost(host.data(), reinterpret_cast<DevicePointer>(out), host.size(),
                                session.stream) ||
      session.synchronize())
    return false;
  for (size_t i = 0; i < results; ++i)
    if (!std::isnan(loadElement(c.out, host.data(), static_cast<int64_t>(i))))
      return false;
  return true;
}

mpc_rt_status_t Multiplier::placeRelu(Plan &plan, const void *rhs, const void *bias, void *out,
                                      const char *layer) {
  if (auto status = setEpilogue(plan, /*relu=*/true, layer))
    return status;
  if (choose(plan, layer) == MPC_RT_OK && keepsNaN(plan, rhs, bias, out))
    return MPC_RT_OK;
  // A kernel of the artifact does it afterwards.
  if (auto status = setEpilogue(plan, /*relu=*/false, layer))
    return status;
  return choose(plan, layer);
}

} // namespace mpc::rt::cuda
