// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Views of the caller's memory, and the dtypes of C++ types.
#ifndef MPC_VIEW_HPP
#define MPC_VIEW_HPP

#include "mpc-rt/model.h"

#include <cassert>
#include <type_traits>
#include <vector>

namespace mpc {

/// Elements side by side in somebody else's memory.
template <typename T> class Span {
public:
  Span(T *data, size_t size) : first(data), count(size) {}
  T *data() const { return first; }
  size_t size() const { return count; }
  T *begin() const { return first; }
  T *end() const { return first + count; }
  T &operator[](size_t i) const {
    assert(i < count);
    return first[i];
  }

private:
  T *first;
  size_t count;
};

/// The dtype of elements of C++ type T; bfloat16 and float16 have none and are named explicitly.
template <typename T> struct DTypeOf;
template <> struct DTypeOf<float> {
  static constexpr mpc_rt_dtype_t value = MPC_RT_FLOAT32;
};
template <> struct DTypeOf<double> {
  static constexpr mpc_rt_dtype_t value = MPC_RT_FLOAT64;
};
template <> struct DTypeOf<bool> {
  static constexpr mpc_rt_dtype_t value = MPC_RT_BOOL;
};
template <> struct DTypeOf<int8_t> {
  static constexpr mpc_rt_dtype_t value = MPC_RT_INT8;
};
template <> struct DTypeOf<int16_t> {
  static constexpr mpc_rt_dtype_t value = MPC_RT_INT16;
};
template <> struct DTypeOf<int32_t> {
  static constexpr mpc_rt_dtype_t value = MPC_RT_INT32;
};
template <> struct DTypeOf<int64_t> {
  static constexpr mpc_rt_dtype_t value = MPC_RT_INT64;
};
template <> struct DTypeOf<uint8_t> {
  static constexpr mpc_rt_dtype_t value = MPC_RT_UINT8;
};
template <> struct DTypeOf<uint16_t> {
  static constexpr mpc_rt_dtype_t value = MPC_RT_UINT16;
};
template <> struct DTypeOf<uint32_t> {
  static constexpr mpc_rt_dtype_t value = MPC_RT_UINT32;
};
template <> struct DTypeOf<uint64_t> {
  static constexpr mpc_rt_dtype_t value = MPC_RT_UINT64;
};

/// Dense row-major memory of the caller. Inputs are only read, whatever the pointer says.
class View {
public:
  View(void *data, mpc_rt_dtype_t dtype, const std::vector<int64_t> &shape) {
    buffer.data = data;
    buffer.dtype = dtype;
    // A rank that the C ABI cannot express stays too large, and the call says so.
    buffer.rank = static_cast<uint32_t>(shape.size());
    for (size_t i = 0; i < shape.size() && i < MPC_RT_MAX_RANK; ++i)
      buffer.dims[i] = shape[i];
  }
  const mpc_rt_buffer_t &raw() const { return buffer; }

private:
  mpc_rt_buffer_t buffer{};
};

/// A view of `data`, which must hold as many elements as `shape` says.
template <typename T> View view(T *data, const std::vector<int64_t> &shape) {
  return View(const_cast<std::remove_const_t<T> *>(data), DTypeOf<std::remove_const_t<T>>::value,
              shape);
}
/// The same for containers with contiguous elements; their size is checked.
template <typename Container>
auto view(Container &elements, const std::vector<int64_t> &shape)
    -> decltype(view(elements.data(), shape)) {
  [[maybe_unused]] int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  assert(count == static_cast<int64_t>(elements.size()) && "shape and size of the container");
  return view(elements.data(), shape);
}

/// A scalar.
template <typename T> View scalar(T &value) { return view(&value, {}); }

} // namespace mpc

#endif // MPC_VIEW_HPP
