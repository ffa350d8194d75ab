// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Orders of rows that depend on seed and epoch alone, so that a resumed run sees the same ones.
#ifndef MPC_RUNTIME_TRAINING_SHUFFLE_H
#define MPC_RUNTIME_TRAINING_SHUFFLE_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mpc::training {

/// A permutation of 0 .. rows-1: Fisher and Yates's shuffle in Durstenfeld's form, driven by
/// Philox4x32-10 with the seed as key and (draw, epoch) as counter. Uniform: draws that would
/// favour small numbers are rejected (Lemire, "Fast random integer generation in an interval",
/// 2019).
std::vector<int64_t> shuffledRows(int64_t rows, uint64_t seed, uint64_t epoch);

/// Which order the passes over the rows take.
enum class Shuffle {
  Off,      ///< as in the data
  EachPass, ///< a new permutation for each pass
  Once,     ///< one permutation for all passes, as Keras's fit under `set_random_seed`
};

/// The name of an order in checkpoints and messages: "off", "each-pass", "once".
const char *shuffleName(Shuffle shuffle);

/// The rows of each step. With --steps (mpc-run train) step i takes positions i*batch .. and
/// goes around: position p is row p mod rows of pass p / rows.
class RowOrder {
public:
  RowOrder(int64_t rows, Shuffle shuffle, uint64_t seed)
      : rows_(rows), shuffle_(shuffle), seed_(seed) {}
  /// The row at `position` of pass `pass`.
  int64_t at(int64_t pass, int64_t position);

private:
  int64_t rows_;
  Shuffle shuffle_;
  uint64_t seed_;
  int64_t pass_ = -1;
  std::vector<int64_t> order_;
};

} // namespace mpc::training
#endif
