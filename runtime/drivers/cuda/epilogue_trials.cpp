// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cuda/epilogue_trials.h"
#include "runtime/base/dtype.h"
#include "runtime/base/element.h"
#include "runtime/drivers/gelu.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

namespace mpc::rt::cuda {

bool EpilogueTrials::readBack(void *host, const void *device, uint64_t bytes) {
  return !session.cuda.memcpyToHost(host, reinterpret_cast<DevicePointer>(device), bytes,
                                    session.stream) &&
         !session.synchronize();
}

// The product for a trial of relu: where it is added to what is there, that is zeros.
mpc_rt_status_t EpilogueTrials::issueAlone(const ProductPlan &plan,
                                           const ProductOperands &operands) {
  constexpr const char *what = "a check of relu";
  const Contraction &c = plan.shape;
  if (c.accumulate)
    if (auto status = session.check(
            session.cuda.memsetBytes(reinterpret_cast<DevicePointer>(operands.out), 0,
                                     c.outElements() * dtypeSize(c.out), session.stream),
            what))
      return status;
  return products.issue(plan, operands, what);
}

// The product of an operand of NaN.
bool EpilogueTrials::keepsNaN(const ProductPlan &plan, ProductOperands operands) {
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
  if (issueAlone(plan, operands) || !readBack(host.data(), operands.out, host.size()))
    return false;
  for (size_t i = 0; i < results; ++i)
    if (!std::isnan(loadElement(c.out, host.data(), static_cast<int64_t>(i))))
      return false;
  return true;
}

// Numbers without an order that a wrong layout would keep.
static uint32_t scatter(uint64_t i) { return static_cast<uint32_t>(i * 0x9E3779B97F4A7C15 >> 40); }

// The trial has an operand of zeros and a bias of the numbers that matter, so that every row has
// the bits of the bias. Without a bias nothing is known.
bool EpilogueTrials::makesBits(const ProductPlan &plan, ProductOperands operands) {
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
  if (issueAlone(plan, operands) || !readBack(mask.data(), operands.bits.mask, mask.size()))
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
bool EpilogueTrials::followsBits(const ProductPlan &plan, ProductOperands operands) {
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
  if (issueAlone(plan, operands) || !readBack(host.data(), operands.out, host.size()))
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

namespace {

// Arguments where forms of gelu, approximations of tanh and their ways to cancel differ. The last
// ones are not finite, which only gelu itself is tried with, and NaN, which the derivative is tried
// with, too.
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double geluArguments[] = {
    0.0,      0.25,       -0.25,       0.5,
    -0.5,     0.75,       -0.75,       1.0,
    -1.0,     1.5,        -1.5,        2.0,
    -2.0,     2.5,        -2.5,        3.0,
    -3.0,     3.5,        -3.5,        4.0,
    -4.0,     5.5,        -5.5,        8.0,
    -8.0,     20.0,       -20.0,       100.0,
    -100.0,   0.00390625, -0.00390625, std::numeric_limits<double>::quiet_NaN(),
    infinity, -infinity};
constexpr size_t argumentCount = std::size(geluArguments), withoutInfinities = argumentCount - 2;

// A byte of which, repeated, a number of either 16-bit dtype near 1 consists.
constexpr uint8_t knownByte = 0x3F;

// The distance of numbers of a 16-bit dtype at `value`.
double unitAt(mpc_rt_dtype_t dtype, double value) {
  const bool isHalf = dtype == MPC_RT_FLOAT16;
  const int least = isHalf ? -14 : -126, bits = isHalf ? 10 : 7;
  const int exponent = value == 0 ? least : std::max(least, std::ilogb(value));
  return std::ldexp(1.0, exponent - bits);
}

// A result may lie between these; both are NaN where it must be NaN.
struct Bounds {
  double low, high;

  bool hold(double value) const {
    return std::isnan(low) ? std::isnan(value) : value >= low && value <= high;
  }
};

// Within a unit of the 16-bit dtype, and what float32 leaves where terms as large as `terms`
// cancel.
Bounds boundsAround(mpc_rt_dtype_t dtype, double value, double terms) {
  const double most = std::isfinite(value) ? unitAt(dtype, value) + std::ldexp(terms, -22) : 0;
  return {value - most, value + most};
}

// Whether each row of a result is within the bounds of its columns.
bool hasColumns(const Contraction &c, const std::vector<uint8_t> &result,
                const std::vector<Bounds> &columns) {
  for (int64_t row = 0; row < c.m; ++row)
    for (int64_t i = 0; i < c.n; ++i)
      if (!columns[static_cast<size_t>(i)].hold(loadElement(c.out, result.data(), row * c.n + i)))
        return false;
  return true;
}

// The left operand of the trials of gelu has this number throughout.
double knownNumber(const Contraction &c) {
  const uint8_t bytes[] = {knownByte, knownByte};
  return loadElement(c.lhs, bytes, 0);
}

} // namespace

// The product of that operand and of one with zeros behind its first row, the terms of a sum: each
// result is the sum of one term.
bool EpilogueTrials::issueKnown(const ProductPlan &plan, ProductOperands operands,
                                const std::vector<double> &first) {
  const Contraction &c = plan.shape;
  const size_t lhsBytes = c.lhsElements() * dtypeSize(c.lhs);
  std::vector<uint8_t> right(c.rhsElements() * dtypeSize(c.rhs));
  for (int64_t i = 0; i < c.n; ++i)
    storeElement(c.rhs, right.data(), c.transposeRhs ? i * c.k : i, first[static_cast<size_t>(i)]);
  Memory lhs(session, Memory::Kind::device), rhs(session, Memory::Kind::device);
  bool grew = false;
  if (lhs.reserve(lhsBytes, "a check of gelu", grew) ||
      rhs.reserve(right.size(), "a check of gelu", grew) ||
      session.cuda.memsetBytes(lhs.address(), knownByte, lhsBytes, session.stream) ||
      session.cuda.memcpyToDevice(rhs.address(), right.data(), right.size(), session.stream))
    return false;
  operands.lhs = lhs.data();
  operands.rhs = rhs.data();
  return products.issue(plan, operands, "a check of gelu") == MPC_RT_OK &&
         session.synchronize() == MPC_RT_OK;
}

// An argument for each column, in part by the bias. What is kept is the argument, rounded.
bool EpilogueTrials::appliesGelu(const ProductPlan &plan, ProductOperands operands) {
  const Contraction &c = plan.shape;
  if (c.out != c.lhs || dtypeSize(c.out) != 2)
    return false;
  constexpr double biases[] = {0.0, 0.5, -1.25};
  std::vector<uint8_t> added(static_cast<size_t>(c.n) * 2), host(c.outElements() * 2);
  std::vector<double> first;
  std::vector<Bounds> results, arguments;
  for (int64_t i = 0; i < c.n; ++i) {
    const size_t number = scatter(static_cast<uint64_t>(i));
    const double bias = c.hasBias ? biases[number / argumentCount % 3] : 0;
    storeElement(c.out, added.data(), i, bias);
    first.push_back(roundElement(c.rhs, geluArguments[number % argumentCount] / knownNumber(c)));
    const double x = first.back() * knownNumber(c) + bias, kept = roundElement(c.out, x);
    results.push_back(boundsAround(c.out, geluOf(x), 1 + std::fabs(x)));
    arguments.push_back({kept, kept});
  }
  Memory bias(session, Memory::Kind::device);
  bool grew = false;
  if (bias.reserve(added.size(), "a check of gelu", grew) ||
      session.cuda.memcpyToDevice(bias.address(), added.data(), added.size(), session.stream))
    return false;
  operands.bias = bias.data();
  if (!issueKnown(plan, operands, first) || !readBack(host.data(), operands.out, host.size()) ||
      !hasColumns(c, host, results))
    return false;
  return !c.keepsArgument ||
         (readBack(host.data(), operands.gelu.kept, host.size()) && hasColumns(c, host, arguments));
}

// The same sum everywhere, times the derivative at numbers that differ from element to element.
bool EpilogueTrials::appliesGeluGradient(const ProductPlan &plan, ProductOperands operands) {
  const Contraction &c = plan.shape;
  if (c.out != c.lhs || dtypeSize(c.out) != 2)
    return false;
  const double sum = knownNumber(c);
  const auto numberOf = [](size_t i) { return scatter(i) % withoutInfinities; };
  std::vector<Bounds> expected;
  for (size_t number = 0; number < withoutInfinities; ++number) {
    const double x = geluArguments[number], steepness = 1 + std::fabs(x) * (1 + x * x);
    expected.push_back(boundsAround(c.out, sum * geluSlopeOf(x), sum * steepness));
  }
  std::vector<uint8_t> host(c.outElements() * 2);
  for (size_t i = 0; i < c.outElements(); ++i)
    storeElement(c.out, host.data(), static_cast<int64_t>(i), geluArguments[numberOf(i)]);
  Memory at(session, Memory::Kind::device);
  bool grew = false;
  if (at.reserve(host.size(), "a check of gelu", grew) ||
      session.cuda.memcpyToDevice(at.address(), host.data(), host.size(), session.stream))
    return false;
  operands.gelu.at = at.data();
  const std::vector<double> ones(static_cast<size_t>(c.n), 1.0);
  if (!issueKnown(plan, operands, ones) || !readBack(host.data(), operands.out, host.size()))
    return false;
  for (size_t i = 0; i < c.outElements(); ++i)
    if (!expected[numberOf(i)].hold(loadElement(c.out, host.data(), static_cast<int64_t>(i))))
      return false;
  return true;
}

// MPC_CUBLASLT_GELU=off: kernels of the artifact apply gelu, to compare.
static bool usesGelu() {
  const char *choice = std::getenv("MPC_CUBLASLT_GELU");
  return !choice || std::strcmp(choice, "off") != 0;
}

mpc_rt_status_t EpilogueTrials::choose(ProductPlan &plan, const ProductOperands &operands,
                                       const char *layer) {
  const Contraction &c = plan.shape;
  // The description starts anew, so that nothing is left of the epilogue before, as memory for
  // bits.
  auto has = [&](lt::Epilogue epilogue) {
    return products.describe(plan, layer) == MPC_RT_OK &&
           products.setEpilogue(plan, epilogue, operands, layer) == MPC_RT_OK &&
           products.choose(plan, operands, layer) == MPC_RT_OK;
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
  if (auto status = products.describe(plan, layer))
    return status;
  if (auto status = products.setEpilogue(plan, 0, operands, layer))
    return status;
  return products.choose(plan, operands, layer);
}

} // namespace mpc::rt::cuda
