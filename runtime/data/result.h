// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Result: a value, or the messages that say why there is none. The data library reports every error
// this way, because a caller may be built without exceptions.
#ifndef MPC_RUNTIME_DATA_RESULT_H
#define MPC_RUNTIME_DATA_RESULT_H

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mpc::data {

/// Why something failed. One message per fault, each of the form
/// `FILE[:PLACE]: what is wrong; what was expected; what to do` without a leading `error: `.
struct Failure {
  std::vector<std::string> messages;
  bool internal = false; // a fault of mpc, not of its input: exit code 3
  bool memory = false;   // there was none

  Failure() = default;
  explicit Failure(std::string message) { messages.push_back(std::move(message)); }
  void append(Failure other) {
    internal |= other.internal;
    memory |= other.memory;
    for (std::string &message : other.messages)
      messages.push_back(std::move(message));
  }
  bool empty() const { return messages.empty(); }
  /// The same failure at `place`; `advice` says what to do there.
  Failure within(const std::string &place, const std::string &advice = "") const {
    Failure failure = *this;
    for (std::string &message : failure.messages)
      message = place + ": " + message + (advice.empty() ? "" : "; ") + advice;
    return failure;
  }
};

/// Success, or a Failure.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Failure failure) : failure_(std::move(failure)) {}
  explicit operator bool() const { return failure_.empty(); }
  const Failure &failure() const { return failure_; }

private:
  Failure failure_;
};

/// A T, or a Failure.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : value_(std::move(value)) {}
  Result(Failure failure) : failure_(std::move(failure)) {}
  explicit operator bool() const { return value_.has_value(); }
  T &operator*() { return *value_; }
  const T &operator*() const { return *value_; }
  T *operator->() { return &*value_; }
  const T *operator->() const { return &*value_; }
  const Failure &failure() const { return failure_; }

private:
  std::optional<T> value_;
  Failure failure_;
};

} // namespace mpc::data
#endif
