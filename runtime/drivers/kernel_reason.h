// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Why a kernel is taken, or is not: what `inspect --kernels` prints beside it.
#ifndef MPC_RUNTIME_DRIVERS_KERNEL_REASON_H
#define MPC_RUNTIME_DRIVERS_KERNEL_REASON_H

#include <string>

namespace mpc::rt {

// Texts are literals: a reason is made for every call, and read when somebody asks.
struct Reason {
  const char *condition = ""; // "few rows of kept weights"
  const char *measured = "";  // where: "Zen 4"; "" if nobody did
  bool isBorrowed = false;    // nobody measured CPUs of this one's kind

  std::string text() const {
    if (!*measured)
      return condition;
    return std::string(condition) + "; measured on " + measured +
           (isBorrowed ? ", not on this kind of CPU" : "");
  }
};

struct Verdict {
  bool isTaken = false;
  Reason reason = {};
};

inline Verdict taken(const char *condition, const char *measured = "") {
  return {true, {condition, measured}};
}
inline Verdict refused(const char *condition, const char *measured = "") {
  return {false, {condition, measured}};
}

} // namespace mpc::rt

#endif
