// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A contraction descriptor with its extents evaluated for one batch, checked.
#ifndef MPC_RUNTIME_DRIVERS_CONTRACTION_H
#define MPC_RUNTIME_DRIVERS_CONTRACTION_H

#include "mpc-rt/executable.h"
#include "mpc-rt/status.h"

#include <tuple>

namespace mpc::rt {

struct Contraction {
  int64_t batch = 0, m = 0, n = 0, k = 0;
  mpc_rt_dtype_t lhs = 0, rhs = 0, out = 0, bias = 0;
  bool transposeLhs = false, transposeRhs = false, accumulate = false, relu = false;
  bool hasBias = false;
  bool roundsLhs = false; // which is float32 in memory, and `lhs` what is multiplied
  bool packedRhs = false; // two numbers per byte
  // The numbers are gptq's: one per byte, from 0 on. With packedRhs they have 4 bits all the same.
  bool unsignedRhs = false;
  bool makesMask = false, readsMask = false;                      // of ReluBits
  bool gelu = false, keepsArgument = false, geluGradient = false; // of GeluArguments
  bool sumsColumns = false, roundsSums = false;                   // of rhs; to the out dtype
  bool rhsStays = false; // how it is packed may pay over many calls; nothing that is computed

  bool operator==(const Contraction &other) const {
    auto fields = [](const Contraction &c) {
      return std::tie(c.batch, c.m, c.n, c.k, c.lhs, c.rhs, c.out, c.bias, c.transposeLhs,
                      c.transposeRhs, c.accumulate, c.relu, c.hasBias, c.packedRhs, c.unsignedRhs,
                      c.makesMask, c.readsMask, c.roundsLhs, c.gelu, c.keepsArgument,
                      c.geluGradient, c.sumsColumns, c.roundsSums);
    };
    return fields(*this) == fields(other);
  }

  uint64_t lhsElements() const { return static_cast<uint64_t>(batch * m * k); }
  uint64_t rhsElements() const { return static_cast<uint64_t>(batch * k * n); }
  uint64_t outElements() const { return static_cast<uint64_t>(batch * m * n); }
  // The size of one row of bits, and of all rows.
  int64_t maskRowBytes() const { return (n + 127) / 128 * 16; }
  int64_t maskBytes() const { return m * maskRowBytes(); }
  mpc_rt_dtype_t sumsDtype() const { return roundsSums ? out : MPC_RT_FLOAT32; }
};

// A bit per element of the result, as mpc_rt_contract_call_t has them; one is null at least.
struct ReluBits {
  const uint8_t *where = nullptr; // 0 is written where a bit is not set
  uint8_t *mask = nullptr;        // receives which results are positive
};

// Matrices like the result, as mpc_rt_contract_call_t has them. Without the first, gelu is applied;
// the second may be null.
struct GeluArguments {
  const void *at = nullptr; // where the derivative is taken
  void *kept = nullptr;     // receives what gelu is applied to
};

struct ResultKernel;

// The parts of mpc_rt_contract_call_t beside the product and its epilogue; null: not asked for.
struct ContractionExtras {
  void *largest = nullptr;
  const ResultKernel *kernel = nullptr; // runs on the result
  ReluBits bits = {};
  void *rhsSums = nullptr; // of sumsDtype()
};

// The number at (k, n) of an int8 rhs, where it is stored. Those of gptq and awq, transposed, are
// less than they count, by 8 those of 4 bits, so that they have the range of the others.
inline int8_t weightAt(const Contraction &c, const int8_t *rhs, int64_t k, int64_t n) {
  if (c.unsignedRhs)
    return static_cast<int8_t>(static_cast<uint8_t>(rhs[n * c.k + k]) - (c.packedRhs ? 8 : 128));
  if (!c.packedRhs)
    return c.transposeRhs ? rhs[n * c.k + k] : rhs[k * c.n + n];
  const int byte = c.transposeRhs ? rhs[n / 2 * c.k + k] : rhs[k * ((c.n + 1) / 2) + n / 2];
  const int half = (n % 2 ? byte >> 4 : byte) & 15;
  return static_cast<int8_t>(c.transposeRhs ? half - 8 : (half ^ 8) - 8);
}

// Scales of packed weights: (weight - zero) * scale, rounded to the lhs dtype, of the block that
// each row is in; that by what divides the row, rounded again.
struct BlockScales {
  const void *scale = nullptr;   // [count, n] of the lhs dtype
  const void *zero = nullptr;    // [count, n] of int8
  const float *places = nullptr; // [k]: block of each row
  int64_t count = 0;
  bool areGroups = false;          // scale and zero are [n, count], zeros and weights unsigned
  const float *divisors = nullptr; // [k], of what the lhs dtype holds; null: none

  int64_t blockOf(int64_t row) const { return static_cast<int64_t>(places[row]); }
  int64_t indexOf(const Contraction &c, int64_t block, int64_t n) const {
    return areGroups ? n * count + block : block * c.n + n;
  }
  // The number that is subtracted from weightAt().
  int zeroAt(const Contraction &c, int64_t index) const {
    const int less = c.packedRhs ? 8 : 128;
    return areGroups ? static_cast<const uint8_t *>(zero)[index] - less
                     : static_cast<const int8_t *>(zero)[index];
  }
};

// A call of the product alone.
inline mpc_rt_contract_call_t contractCall(const void *lhs, const void *rhs, const void *bias,
                                           void *out, int64_t batch) {
  mpc_rt_contract_call_t call = {};
  call.struct_size = sizeof call;
  call.batch = batch;
  call.lhs = lhs, call.rhs = rhs, call.bias = bias, call.out = out;
  return call;
}
inline ReluBits bitsOf(const mpc_rt_contract_call_t &call) { return {call.where, call.mask}; }
inline GeluArguments geluArgumentsOf(const mpc_rt_contract_call_t &call) {
  return {call.gelu_at, call.kept};
}
inline BlockScales scalesOf(const Contraction &c, const mpc_rt_contract_call_t &call) {
  return {call.scale, call.zero, call.places, call.blocks, c.transposeRhs, call.divisors};
}

// INVALID_ARGUMENT, naming the layer, for a call that no driver could do: unknown dtypes or flags,
// negative or overflowing extents, missing operands, parts that contradict each other. `call` has
// all fields.
mpc_rt_status_t resolveContraction(const mpc_rt_contract_t &descriptor,
                                   const mpc_rt_contract_call_t &call,
                                   Contraction &result) noexcept;
// The same of the product alone.
mpc_rt_status_t resolveContraction(const mpc_rt_contract_t &descriptor, const void *lhs,
                                   const void *rhs, const void *bias, const void *out,
                                   int64_t batch, Contraction &result) noexcept;

} // namespace mpc::rt

#endif
