// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuBLASLt counts columns first: a row-major product L R is the column-major product of R and L,
// taken as they lie in memory.
#include "runtime/drivers/cuda/blas_products.h"
#include "runtime/base/dtype.h"

#include <algorithm>

namespace mpc::rt::cuda {
namespace {

// NVIDIA recommends this for Hopper; earlier GPUs need less.
constexpr uint64_t workspaceBytes = uint64_t{32} << 20;

// cuBLASLt's number of a dtype; false when it has none.
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

} // namespace

BlasProducts::~BlasProducts() {
  session.makeCurrent();
  if (handle)
    blas->destroy(handle);
}

void BlasProducts::release(ProductPlan &plan) const {
  if (plan.desc)
    blas->descDestroy(plan.desc);
  plan.desc = nullptr;
  for (lt::Layout *layout : {&plan.a, &plan.b, &plan.d}) {
    if (*layout)
      blas->layoutDestroy(*layout);
    *layout = nullptr;
  }
}

mpc_rt_status_t BlasProducts::check(int result, const char *layer, const char *what) const {
  if (result == 0)
    return MPC_RT_OK;
  return fail(MPC_RT_INTERNAL, "%s: cuBLASLt: %s failed with status %d", layer, what, result);
}

mpc_rt_status_t BlasProducts::open() {
  const char *problem = nullptr;
  blas = lt::api(problem);
  if (!blas)
    return fail(MPC_RT_UNAVAILABLE, "matrix products on the GPU: %s", problem);
  if (auto status = check(blas->create(&handle), "matrix products on the GPU", "opening it"))
    return status;
  int version[] = {0, 0, 0};
  for (int part : {lt::majorVersion, lt::minorVersion, lt::patchLevel})
    blas->property(static_cast<lt::LibraryProperty>(part), &version[part]);
  const std::string name = "cublaslt-" + std::to_string(version[0]) + "." +
                           std::to_string(version[1]) + "." + std::to_string(version[2]) + "-sm_" +
                           std::to_string(session.architecture) + "-" +
                           std::to_string(session.multiprocessors) + "-" + session.name;
  algorithms.open(name);
  choices.open(name);
  bool grew = false;
  return workspace.reserve(workspaceBytes, "workspace of cuBLASLt", grew);
}

std::string BlasProducts::keyOf(const ProductPlan &plan) const {
  const Contraction &c = plan.shape;
  std::string key;
  const auto operands = static_cast<int64_t>(c.lhs == c.rhs ? c.lhs : c.lhs << 8 | c.rhs);
  for (int64_t number : {c.batch, c.m, c.n, c.k, operands, static_cast<int64_t>(c.out),
                         int64_t{c.transposeLhs}, int64_t{c.transposeRhs}, int64_t{c.accumulate},
                         int64_t{plan.epilogue}, int64_t{plan.inTf32}, int64_t{plan.alignments[0]},
                         int64_t{plan.alignments[1]}, int64_t{plan.alignments[2]},
                         int64_t{plan.alignments[3]}, static_cast<int64_t>(workspace.size())})
    key += (key.empty() ? "" : ",") + std::to_string(number);
  return key;
}

bool BlasProducts::chooseKnown(ProductPlan &plan, const std::string &key) const {
  lt::Algorithm algorithm;
  return algorithms.find(key, algorithm) && isTaken(plan, algorithm, plan.choice);
}

bool BlasProducts::isTaken(const ProductPlan &plan, const lt::Algorithm &algorithm,
                           lt::Heuristic &result) const {
  lt::Heuristic checked = {};
  if (blas->algorithmCheck(handle, plan.desc, plan.a, plan.b, plan.d, plan.d, &algorithm,
                           &checked) ||
      checked.state || checked.workspaceBytes > workspace.size())
    return false;
  result = checked;
  result.algorithm = algorithm;
  return true;
}

mpc_rt_status_t BlasProducts::takeMeasured(ProductPlan &plan, const AlgorithmChoice &choice,
                                           const std::string &key, const char *layer) const {
  if (isTaken(plan, choice.algorithm, plan.choice) && sumsInOrder(choice.algorithm))
    return MPC_RT_OK;
  choices.refuse(key);
  return choices.checkRefused(layer);
}

int BlasProducts::askHeuristic(const ProductPlan &plan, size_t wanted,
                               std::vector<lt::Heuristic> &found) const {
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
  int count = 0;
  found.resize(wanted);
  int code = blas->heuristic(handle, plan.desc, plan.a, plan.b, plan.d, plan.d, preference,
                             static_cast<int>(wanted), found.data(), &count);
  found.resize(code || count < 0 ? 0 : std::min(wanted, static_cast<size_t>(count)));
  blas->preferenceDestroy(preference);
  return code;
}

mpc_rt_status_t BlasProducts::choose(ProductPlan &plan, const ProductOperands &operands,
                                     const char *layer) {
  const Contraction &c = plan.shape;
  const std::string key = keyOf(plan);
  if (const AlgorithmChoice *choice = choices.find(key))
    return takeMeasured(plan, *choice, key, layer);
  if (choices.toBeMeasured(key)) {
    if (measure(plan, operands, key, layer))
      return MPC_RT_OK;
    choices.leave(key);
  }
  if (chooseKnown(plan, key))
    return MPC_RT_OK;
  std::vector<lt::Heuristic> found;
  int code = askHeuristic(plan, 1, found);
  if (code || found.empty() || found[0].state)
    return fail(MPC_RT_UNAVAILABLE,
                "%s: cuBLASLt has no algorithm for the product [%lld, %lld] x [%lld, %lld] of %s "
                "(status %d); use --device cpu",
                layer, static_cast<long long>(c.m), static_cast<long long>(c.k),
                static_cast<long long>(c.k), static_cast<long long>(c.n), dtypeName(c.lhs), code);
  plan.choice = found[0];
  algorithms.add(key, plan.choice.algorithm);
  return MPC_RT_OK;
}

mpc_rt_status_t BlasProducts::describe(ProductPlan &plan, const char *layer) const {
  const Contraction &c = plan.shape;
  release(plan);
  lt::DataType lhs, rhs, out;
  dataType(c.lhs, lhs), dataType(c.rhs, rhs),
      dataType(c.out, out); // rules::BlasProduct looked at them
  // The factors of the sums are of the type that sums.
  plan.factors = out == lt::r64f || out == lt::r32i ? out : lt::r32f;
  lt::ComputeType compute = out == lt::r64f                  ? lt::compute64f
                            : out == lt::r32i                ? lt::compute32i
                            : plan.inTf32 && lhs == lt::r32f ? lt::compute32fTf32
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

mpc_rt_status_t BlasProducts::setBeside(const ProductPlan &plan, const ProductOperands &operands,
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

mpc_rt_status_t BlasProducts::setSums(const ProductPlan &plan, const ProductOperands &operands,
                                      const char *layer) const {
  return check(blas->descSet(plan.desc, lt::biasPointer, &operands.sums, sizeof operands.sums),
               layer, "setting the sums of columns");
}

mpc_rt_status_t BlasProducts::setEpilogue(ProductPlan &plan, uint32_t epilogue,
                                          const ProductOperands &operands,
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

mpc_rt_status_t BlasProducts::issue(const ProductPlan &plan, const ProductOperands &operands,
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

} // namespace mpc::rt::cuda
