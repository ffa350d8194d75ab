// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Faults, and which one is the first.
#include "runtime/reports/fault.h"

#include <gtest/gtest.h>

using namespace mpc::reports;

namespace {

/// 100 elements as the twin has them, up to a little error.
TracedValue sound(uint32_t slot, const char *op, std::vector<uint32_t> sources,
                  uint32_t direction = MPC_RT_TRACE_FORWARD) {
  TracedValue value;
  value.slot = slot;
  value.layer = "layer" + std::to_string(slot);
  value.op = op;
  value.direction = direction;
  value.dtype = MPC_RT_FLOAT16;
  value.sources = std::move(sources);
  value.counts.count = value.counts.compared = 100;
  value.counts.sum_of_squares = value.counts.kept_sum_of_squares = 100;
  value.counts.sum_of_squared_errors = 1e-5;
  value.counts.max_magnitude = 1;
  return value;
}

TracedValue overflowed(TracedValue value) {
  value.counts.infinite = value.counts.overflowed = 3;
  return value;
}

TracedValue lost(TracedValue value, uint64_t elements, double squares) {
  value.counts.zero = value.counts.lost = elements;
  value.counts.sum_of_squared_errors = squares;
  return value;
}

std::optional<Fault> find(const std::vector<TracedValue> &values, std::vector<double> noise = {}) {
  return findFault(values, [&] { return noise; });
}

} // namespace

TEST(Fault, NoneInSoundValues) {
  EXPECT_FALSE(find({sound(0, "input", {}), sound(1, "contract", {0}), sound(2, "add", {1})}));
}

TEST(Fault, TheFirstOne) {
  const auto fault = find({sound(0, "input", {}), overflowed(sound(1, "contract", {0})),
                           overflowed(sound(2, "add", {1}))});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::Overflow);
  EXPECT_EQ(fault->value, 1U);
  EXPECT_FALSE(fault->absorbedBy); // what is added to it ends infinite
}

TEST(Fault, AbsorbedByWhatIsSound) {
  const auto fault = find({sound(0, "input", {}), overflowed(sound(1, "contract", {0})),
                           overflowed(sound(2, "add", {1})), sound(3, "tanh", {2})});
  ASSERT_TRUE(fault && fault->absorbedBy);
  EXPECT_EQ(*fault->absorbedBy, 3U);
}

TEST(Fault, InfinitiesOfBoth) {
  // float32 overflows, too.
  TracedValue square = sound(1, "multiply", {0});
  square.counts.infinite = 2;
  const auto fault = find({sound(0, "input", {}), square});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::Overflow);
  // A mask of infinities is what was meant.
  square.op = "select";
  EXPECT_FALSE(find({sound(0, "input", {}), square}));
}

TEST(Fault, InheritedInfinitiesAreNone) {
  TracedValue input = sound(0, "input", {}), next = sound(1, "add", {0});
  input.counts.infinite = next.counts.infinite = 1;
  const auto fault = find({input, next});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->value, 0U);
}

TEST(Fault, Division) {
  TracedValue divisor = sound(0, "add", {}), quotient = overflowed(sound(1, "divide", {0}));
  EXPECT_EQ(find({divisor, quotient})->kind, FaultKind::Overflow);
  divisor.counts.zero = 1;
  EXPECT_EQ(find({divisor, quotient})->kind, FaultKind::Division);
}

TEST(Fault, NotANumber) {
  TracedValue root = sound(1, "sqrt", {0});
  root.counts.nan = root.counts.invalid = 1;
  EXPECT_EQ(find({sound(0, "input", {}), root})->kind, FaultKind::NotANumber);
}

TEST(Fault, LostValues) {
  EXPECT_EQ(find({lost(sound(0, "multiply", {}), 100, 100)})->kind, FaultKind::Underflow);
  // Many elements, but small ones.
  EXPECT_FALSE(find({lost(sound(0, "multiply", {}), 90, 1)}));
  // Few elements.
  EXPECT_FALSE(find({lost(sound(0, "multiply", {}), 10, 60)}));
}

TEST(Fault, UpdatesThatAreLeft) {
  EXPECT_TRUE(find({lost(sound(0, "update:kernel", {}, MPC_RT_TRACE_OPTIMIZER), 100, 100)}));
  EXPECT_FALSE(find({lost(sound(0, "update:kernel", {}, MPC_RT_TRACE_OPTIMIZER), 75, 70)}));
}

TEST(Fault, NoiseIsNotLost) {
  EXPECT_FALSE(find({lost(sound(0, "reduce", {}), 100, 100)}, {1.4}));
  EXPECT_TRUE(find({lost(sound(0, "reduce", {}), 100, 100)}, {1e-4}));
}

TEST(Fault, Cancellation) {
  TracedValue difference = sound(1, "subtract", {0});
  difference.counts.sum_of_squared_errors = 150;
  EXPECT_EQ(find({sound(0, "input", {}), difference})->kind, FaultKind::Cancellation);
  // Errors that the operand has already.
  TracedValue wrong = sound(0, "input", {});
  wrong.counts.sum_of_squared_errors = 40;
  EXPECT_FALSE(find({wrong, difference}));
}
