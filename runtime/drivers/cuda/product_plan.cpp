// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How cuBLASLt is to multiply: descriptions, the choice of an algorithm, and what of the epilogue
// it does.
#include "runtime/base/dtype.h"
#include "runtime/base/element.h"
#include "runtime/drivers/cuda/multiplier.h"

#include <algorithm>
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
static std::string keyOf(const Contraction &c, const std::array<uint32_t, 3> &alignments,
                         uint32_t epilogue, bool tf32, uint64_t workspaceBytes) {
  std::string key;
  const auto operands = static_cast<int64_t>(c.lhs == c.rhs ? c.lhs : c.lhs << 8 | c.rhs);
  for (int64_t number :
       {c.batch, c.m, c.n, c.k, operands, static_cast<int64_t>(c.out), int64_t{c.transposeLhs},
        int64_t{c.transposeRhs}, int64_t{c.accumulate}, int64_t{epilogue}, int64_t{tf32},
        int64_t{alignments[0]}, int64_t{alignments[1]}, int64_t{alignments[2]},
        static_cast<int64_t>(workspaceBytes)})
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
  const std::string key = keyOf(c, plan.alignments, plan.epilogue, tf32, workspace.size());
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

mpc_rt_status_t Multiplier::describe(Plan &plan, const char *layer) const {
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

mpc_rt_status_t Multiplier::makePlan(Plan &plan, const Operands &operands, const char *layer) {
  auto status = describe(plan, layer);
  return status ? status : placeEpilogue(plan, operands, layer);
}

mpc_rt_status_t Multiplier::setBits(const Plan &plan, const ReluBits &bits,
                                    const char *layer) const {
  const void *address = bits.mask ? bits.mask : bits.where;
  int64_t leading = plan.shape.maskRowBytes() * 8;
  int code = blas->descSet(plan.desc, lt::auxPointer, &address, sizeof address);
  code = code ? code : blas->descSet(plan.desc, lt::auxLeading, &leading, sizeof leading);
  return check(code, layer, "setting the bits of relu");
}

mpc_rt_status_t Multiplier::setEpilogue(Plan &plan, uint32_t epilogue, const Operands &operands,
                                        const char *layer) const {
  epilogue |= plan.shape.hasBias ? lt::epilogueBias : 0u;
  plan.epilogue = epilogue ? epilogue : uint32_t{lt::epilogueDefault};
  if (auto status =
          check(blas->descSet(plan.desc, lt::epilogue, &plan.epilogue, sizeof plan.epilogue), layer,
                "describing the product"))
    return status;
  // The heuristic takes the alignment from the address.
  return operands.bits.mask || operands.bits.where ? setBits(plan, operands.bits, layer)
                                                   : MPC_RT_OK;
}

bool Multiplier::readBack(void *host, const void *device, uint64_t bytes) {
  return !session.cuda.memcpyToHost(host, reinterpret_cast<DevicePointer>(device), bytes,
                                    session.stream) &&
         !session.synchronize();
}

// The product of an operand of NaN.
bool Multiplier::keepsNaN(const Plan &plan, Operands operands) {
  const Contraction &c = plan.shape;
  Memory operand(session, Memory::Kind::device);
  bool grew = false;
  const size_t bytes = c.lhsElements() * dtypeSize(c.lhs);
  const size_t results = c.outElements();
  // All bits set are NaN in every floating dtype.
  if (operand.reserve(bytes, "a check of relu", grew) ||
      session.cuda.memsetBytes(operand.address(), 0xFF, bytes, session.stream))
    return false;
  operands.lhs = operand.data();
  std::vector<uint8_t> host(results * dtypeSize(c.out));
  if (issue(plan, operands, "a check of relu") || !readBack(host.data(), operands.out, host.size()))
    return false;
  for (size_t i = 0; i < results; ++i)
    if (!std::isnan(loadElement(c.out, host.data(), static_cast<int64_t>(i))))
      return false;
  return true;
}

// Numbers without an order that a wrong layout would keep.
static uint32_t scatter(uint64_t i) { return static_cast<uint32_t>(i * 0x9E3779B97F4A7C15 >> 40); }

// Of an operand of zeros and a bias of the numbers that matter: every row has the bits of the bias.
// Without a bias nothing is known.
bool Multiplier::makesBits(const Plan &plan, Operands operands) {
  const Contraction &c = plan.shape;
  if (!c.hasBias)
    return false;
  const double values[] = {1.0, -1.0, 0.0, -0.0, std::nan("")};
  const size_t lhsBytes = c.lhsElements() * dtypeSize(c.lhs);
  const auto rowBytes = static_cast<size_t>(c.maskRowBytes());
  std::vector<uint8_t> bias(static_cast<size_t>(c.n) * dtypeSize(c.out)), row(rowBytes);
  for (int64_t i = 0; i < c.n; ++i) {
    const double value = values[scatter(static_cast<uint64_t>(i)) % 5];
    storeElement(c.out, bias.data(), i, value);
    row[static_cast<size_t>(i / 8)] |= static_cast<uint8_t>((value > 0) << i % 8);
  }
  Memory zeros(session, Memory::Kind::device), added(session, Memory::Kind::device);
  bool grew = false;
  if (zeros.reserve(lhsBytes, "a check of relu", grew) ||
      added.reserve(bias.size(), "a check of relu", grew) ||
      session.cuda.memsetBytes(zeros.address(), 0, lhsBytes, session.stream) ||
      session.cuda.memcpyToDevice(added.address(), bias.data(), bias.size(), session.stream))
    return false;
  operands.lhs = zeros.data();
  operands.bias = added.data();
  std::vector<uint8_t> mask(static_cast<size_t>(c.maskBytes()));
  if (issue(plan, operands, "a check of relu") ||
      !readBack(mask.data(), operands.bits.mask, mask.size()))
    return false;
  const auto whole = static_cast<size_t>(c.n / 8); // bytes without padding
  for (size_t at = 0; at < mask.size(); at += rowBytes) {
    const int last = c.n % 8 ? (mask[at + whole] ^ row[whole]) & ((1 << c.n % 8) - 1) : 0;
    if (last || !std::equal(row.begin(), row.begin() + c.n / 8, mask.begin() + at))
      return false;
  }
  return true;
}

// The product of an operand of NaN: what the bits leave is NaN, everything else 0.
bool Multiplier::followsBits(const Plan &plan, Operands operands) {
  const Contraction &c = plan.shape;
  const size_t lhsBytes = c.lhsElements() * dtypeSize(c.lhs);
  std::vector<uint8_t> bits(static_cast<size_t>(c.maskBytes()));
  for (size_t i = 0; i < bits.size(); ++i)
    bits[i] = static_cast<uint8_t>(scatter(i));
  Memory operand(session, Memory::Kind::device), where(session, Memory::Kind::device);
  bool grew = false;
  if (operand.reserve(lhsBytes, "a check of relu", grew) ||
      where.reserve(bits.size(), "a check of relu", grew) ||
      session.cuda.memsetBytes(operand.address(), 0xFF, lhsBytes, session.stream) ||
      session.cuda.memcpyToDevice(where.address(), bits.data(), bits.size(), session.stream))
    return false;
  operands.lhs = operand.data();
  operands.bits.where = where.data();
  std::vector<uint8_t> host(c.outElements() * dtypeSize(c.out));
  if (issue(plan, operands, "a check of relu") || !readBack(host.data(), operands.out, host.size()))
    return false;
  for (int64_t row = 0; row < c.m; ++row)
    for (int64_t i = 0; i < c.n; ++i) {
      const bool isKept = bits[static_cast<size_t>(row * c.maskRowBytes() + i / 8)] >> i % 8 & 1;
      const double value = loadElement(c.out, host.data(), row * c.n + i);
      if (isKept ? !std::isnan(value) : value != 0)
        return false;
    }
  return true;
}

mpc_rt_status_t Multiplier::placeEpilogue(Plan &plan, const Operands &operands, const char *layer) {
  const Contraction &c = plan.shape;
  auto has = [&](lt::Epilogue epilogue) {
    return setEpilogue(plan, epilogue, operands, layer) == MPC_RT_OK &&
           choose(plan, layer) == MPC_RT_OK;
  };
  if (c.makesMask && has(lt::epilogueReluMask) && keepsNaN(plan, operands) &&
      makesBits(plan, operands))
    return MPC_RT_OK;
  if (c.relu && has(lt::epilogueRelu) && keepsNaN(plan, operands))
    return MPC_RT_OK;
  if (c.readsMask && has(lt::epilogueReluDerivative) && followsBits(plan, operands))
    return MPC_RT_OK;
  // Kernels of the artifact do the rest afterwards.
  if (auto status = setEpilogue(plan, 0, operands, layer))
    return status;
  return choose(plan, layer);
}

} // namespace mpc::rt::cuda
