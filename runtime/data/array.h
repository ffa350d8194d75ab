// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Array: a dense, row-major, little-endian tensor in memory, and the names of its element type in
// each file format.
#ifndef MPC_RUNTIME_DATA_ARRAY_H
#define MPC_RUNTIME_DATA_ARRAY_H

#include "mpc-rt/dtype.h"
#include "runtime/data/result.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mpc::data {

/// Names and size of one element type; one row of mpc-rt/dtype.inc.
struct DtypeInfo {
  mpc_rt_dtype_t dtype;
  size_t bytes;
  const char *keras;
  const char *safetensors;
  const char *numpy;
};

/// Null for a value that is not in the table.
const DtypeInfo *dtypeInfo(mpc_rt_dtype_t dtype);
const DtypeInfo *dtypeFromKeras(const std::string &name);
const DtypeInfo *dtypeFromSafetensors(const std::string &name);
bool isFloating(mpc_rt_dtype_t dtype);

/// count(dims) * bytes, or nothing when a dimension is negative or the product overflows.
std::optional<uint64_t> byteSize(const std::vector<int64_t> &dims, size_t bytesPerElement);

/// `[3, 4]`, as messages show shapes.
std::string formatShape(const std::vector<int64_t> &dims);

class Array {
public:
  Array() = default;
  /// Zero-filled. The caller has checked the size with byteSize; fails only for lack of memory.
  static Result<Array> allocate(mpc_rt_dtype_t dtype, std::vector<int64_t> dims);
  /// A copy of `data`, which holds the elements of `dims`.
  static Array copyOf(mpc_rt_dtype_t dtype, std::vector<int64_t> dims, const void *data);
  static Array scalar(float value);
  /// `data` itself, which `owner` keeps alive and which is aligned as the dtype wants.
  static Array view(mpc_rt_dtype_t dtype, std::vector<int64_t> dims, uint64_t bytes,
                    const std::shared_ptr<void> &owner, uint8_t *data);

  mpc_rt_dtype_t dtype() const { return dtype_; }
  const std::vector<int64_t> &dims() const { return dims_; }
  int64_t rank() const { return static_cast<int64_t>(dims_.size()); }
  /// First dimension; 1 for a scalar.
  int64_t rows() const { return dims_.empty() ? 1 : dims_[0]; }
  int64_t elements() const;
  size_t bytes() const { return bytes_; }
  uint8_t *data() { return storage_.get(); }
  const uint8_t *data() const { return storage_.get(); }
  template <typename T> T *as() { return reinterpret_cast<T *>(storage_.get()); }
  template <typename T> const T *as() const { return reinterpret_cast<const T *>(storage_.get()); }

  /// Elements are texts: the last dimension has the code points of one, in int32, with zeros behind
  /// its end.
  bool isText() const { return isText_; }
  void setText() { isText_ = true; }
  /// The dimensions, without those of code points.
  std::vector<int64_t> shape() const { return {dims_.begin(), dims_.end() - (isText_ ? 1 : 0)}; }

  /// Keeps the memory alive.
  std::shared_ptr<void> owner() const { return storage_; }

  /// The same elements (shared, not copied) under other dimensions of the same count.
  Array reshaped(std::vector<int64_t> dims) const;

private:
  mpc_rt_dtype_t dtype_ = MPC_RT_FLOAT32;
  std::vector<int64_t> dims_;
  size_t bytes_ = 0;
  bool isText_ = false;
  std::shared_ptr<uint8_t> storage_;
};

/// Arrays by name, in name order so that whatever is written from them is deterministic.
using NamedArrays = std::map<std::string, Array>;

} // namespace mpc::data
#endif
