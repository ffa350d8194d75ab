// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How cuBLASLt is to multiply: descriptions, the choice of an algorithm, and what of the epilogue
// it does.
#include "runtime/base/dtype.h"
#include "runtime/drivers/cuda/contractor.h"

#include <cstdlib>
#include <cstring>

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
  case MPC_RT_FLOAT8_E4M3FN:
    type = lt::r8fE4M3;
    return true;
  case MPC_RT_FLOAT8_E5M2:
    type = lt::r8fE5M2;
    return true;
  default:
    return false;
  }
}

// Everything that the choice depends on.
std::string Contractor::keyOf(const Plan &plan) const {
  const Contraction &c = plan.shape;
  std::string key;
  const auto operands = static_cast<int64_t>(c.lhs == c.rhs ? c.lhs : c.lhs << 8 | c.rhs);
  for (int64_t number :
       {c.batch, c.m, c.n, c.k, operands, static_cast<int64_t>(c.out), int64_t{c.transposeLhs},
        int64_t{c.transposeRhs}, int64_t{c.accumulate}, int64_t{plan.epilogue}, int64_t{tf32},
        int64_t{plan.alignments[0]}, int64_t{plan.alignments[1]}, int64_t{plan.alignments[2]},
        int64_t{plan.alignments[3]}, static_cast<int64_t>(workspace.size())})
    key += (key.empty() ? "" : ",") + std::to_string(number);
  return key;
}

bool Contractor::chooseKnown(Plan &plan, const std::string &key) const {
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

int Contractor::askHeuristic(Plan &plan, int &found) const {
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

mpc_rt_status_t Contractor::choose(Plan &plan, const char *layer) {
  const Contraction &c = plan.shape;
  const std::string key = keyOf(plan);
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

mpc_rt_status_t Contractor::describe(Plan &plan, const char *layer) const {
  const Contraction &c = plan.shape;
  release(plan);
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
  return check(code, layer, "describing an operand");
}

mpc_rt_status_t Contractor::setBeside(const Plan &plan, const Operands &operands,
                                      const char *layer) const {
  const Contraction &c = plan.shape;
  const bool areBits = c.makesMask || c.readsMask;
  const void *address = c.makesMask       ? operands.bits.mask
                        : c.readsMask     ? operands.bits.where
                        : c.keepsArgument ? operands.gelu.kept
                                          : operands.gelu.at;
  int64_t leading = areBits ? c.maskRowBytes() * 8 : c.n;
  int code = blas->descSet(plan.desc, lt::auxPointer, &address, sizeof address);
  code = code ? code : blas->descSet(plan.desc, lt::auxLeading, &leading, sizeof leading);
  return check(code, layer, "setting what the epilogue reads or writes");
}

mpc_rt_status_t Contractor::setSums(const Plan &plan, const Operands &operands,
                                    const char *layer) const {
  return check(blas->descSet(plan.desc, lt::biasPointer, &operands.sums, sizeof operands.sums),
               layer, "setting the sums of columns");
}

mpc_rt_status_t Contractor::setEpilogue(Plan &plan, uint32_t epilogue, const Operands &operands,
                                        const char *layer) const {
  epilogue |= plan.shape.hasBias ? lt::epilogueBias : 0u;
  plan.epilogue = epilogue ? epilogue : uint32_t{lt::epilogueDefault};
  if (auto status =
          check(blas->descSet(plan.desc, lt::epilogue, &plan.epilogue, sizeof plan.epilogue), layer,
                "describing the product"))
    return status;
  // The heuristic takes the alignment from the address.
  return epilogue & lt::epilogueBeside       ? setBeside(plan, operands, layer)
         : epilogue & lt::epilogueColumnSums ? setSums(plan, operands, layer)
                                             : MPC_RT_OK;
}

// MPC_CUBLASLT_GELU=off: kernels of the artifact apply gelu, to compare.
static bool usesGelu() {
  const char *choice = std::getenv("MPC_CUBLASLT_GELU");
  return !choice || std::strcmp(choice, "off") != 0;
}

mpc_rt_status_t Contractor::chooseEpilogue(Plan &plan, const Operands &operands,
                                           const char *layer) {
  const Contraction &c = plan.shape;
  // The description starts anew, so that nothing is left of the epilogue before, as memory for
  // bits.
  auto has = [&](lt::Epilogue epilogue) {
    return describe(plan, layer) == MPC_RT_OK &&
           setEpilogue(plan, epilogue, operands, layer) == MPC_RT_OK &&
           choose(plan, layer) == MPC_RT_OK;
  };
  if (c.makesMask && has(lt::epilogueReluMask) && keepsNaN(plan, operands) &&
      makesBits(plan, operands))
    return MPC_RT_OK;
  if (c.relu && has(lt::epilogueRelu) && keepsNaN(plan, operands))
    return MPC_RT_OK;
  // The library has no bias in front of these.
  if (c.readsMask && !c.hasBias && has(lt::epilogueReluDerivative) && followsBits(plan, operands) &&
      isWorthwhile(plan, operands, layer))
    return MPC_RT_OK;
  // In columns a row's arguments follow each other: whole packs of 8.
  const bool hasGeluRows = !(c.keepsArgument || c.geluGradient) || c.n % 8 == 0;
  const bool triesGelu = (c.gelu || c.geluGradient) && hasGeluRows && usesGelu();
  if (triesGelu && c.gelu && has(c.keepsArgument ? lt::epilogueGeluKept : lt::epilogueGelu) &&
      appliesGelu(plan, operands))
    return MPC_RT_OK;
  if (triesGelu && c.geluGradient && !c.hasBias && has(lt::epilogueGeluDerivative) &&
      appliesGeluGradient(plan, operands))
    return MPC_RT_OK;
  // The library's sums have the type of the result.
  if (c.sumsColumns && !c.accumulate && !c.hasBias && c.sumsDtype() == c.out &&
      has(lt::epilogueColumnSums) && sumsColumns(plan, operands))
    return MPC_RT_OK;
  // Kernels of the artifact do the rest afterwards.
  if (auto status = describe(plan, layer))
    return status;
  if (auto status = setEpilogue(plan, 0, operands, layer))
    return status;
  return choose(plan, layer);
}

} // namespace mpc::rt::cuda
