// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// JsonNumbers: the elements of a tensor as JSON has them, flat or nested, nine bytes for each.
#ifndef MPC_RUNTIME_SERVING_JSON_NUMBERS_H
#define MPC_RUNTIME_SERVING_JSON_NUMBERS_H

#include "runtime/data/array.h"

namespace mpc::serving {

/// Fed by a reader of JSON, in order. Every function but toArray() says whether the structure is
/// still that of a tensor.
class JsonNumbers {
public:
  bool openArray();
  bool closeArray();
  bool add(double value) { return add(Kind::Real, bitsOf(value)); }
  bool add(int64_t value) { return add(Kind::Signed, static_cast<uint64_t>(value)); }
  bool add(uint64_t value) { return add(Kind::Unsigned, value); }
  bool add(bool value) { return add(Kind::Truth, value ? 1 : 0); }

  /// The elements as `dtype`: integers must be integers that it holds, floating values are rounded
  /// once, and must stay finite. The extents are `shape`, or one with all elements.
  data::Result<data::Array> toArray(mpc_rt_dtype_t dtype, const std::vector<int64_t> &shape) const;

private:
  enum class Kind : uint8_t { Unsigned, Signed, Real, Truth };
  static uint64_t bitsOf(double value);
  bool add(Kind kind, uint64_t bits);
  double asDouble(size_t index) const;
  std::string shown(size_t index) const;
  bool putInteger(size_t index, mpc_rt_dtype_t dtype, uint8_t *out) const;

  std::vector<uint64_t> bits_;
  std::vector<Kind> kinds_;
  std::vector<int64_t> counts_;  // of the arrays that are open, from outside in
  std::vector<int64_t> extents_; // by depth; -1: no array of it was closed yet
  size_t leafDepth_ = 0;         // at which numbers are; 0: none yet
};

} // namespace mpc::serving
#endif
