// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A value or an error: what the functions of mpc/model.hpp return instead of throwing.
#ifndef MPC_RESULT_HPP
#define MPC_RESULT_HPP

#include "mpc-rt/status.h"

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace mpc {

/// Why a call failed: a status code of the C ABI and its message, which says what to do.
struct Error {
  mpc_rt_status_t status;
  std::string message;
};

/// A value or the error that kept it from being made. Reading the one that is not there is a defect
/// of the caller (asserted).
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::move(value)) {}
  Result(Error error) : state(std::move(error)) {}

  bool ok() const { return std::holds_alternative<T>(state); }
  explicit operator bool() const { return ok(); }

  T &operator*() & { return value(); }
  const T &operator*() const & { return value(); }
  T &&operator*() && { return std::move(value()); }
  T *operator->() { return &value(); }
  const T *operator->() const { return &value(); }
  T &value() {
    assert(ok());
    return *std::get_if<T>(&state);
  }
  const T &value() const {
    assert(ok());
    return *std::get_if<T>(&state);
  }
  const Error &error() const {
    assert(!ok());
    return *std::get_if<Error>(&state);
  }

private:
  std::variant<T, Error> state;
};

/// Success, or an error.
using Status = Result<std::monostate>;

namespace detail {
inline Error lastError(mpc_rt_status_t status) { return {status, mpc_rt_last_error()}; }
inline Status toStatus(mpc_rt_status_t status) {
  if (status == MPC_RT_OK)
    return std::monostate();
  return lastError(status);
}
} // namespace detail

} // namespace mpc

#endif // MPC_RESULT_HPP
