// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a function that a driver declares takes what the library's own header says.
#ifndef MPC_TEST_FAKECUDA_ALIKE_FUNCTIONS_H
#define MPC_TEST_FAKECUDA_ALIKE_FUNCTIONS_H

#include <type_traits>

namespace mpc::test {

// As many parameters of the same sizes: enumerations and opaque pointers stand for each other.
template <typename Ours, typename Theirs> struct IsAlike : std::false_type {};
template <typename R1, typename... P1, typename R2, typename... P2>
struct IsAlike<R1 (*)(P1...), R2 (*)(P2...)> {
  static constexpr bool value = [] {
    if constexpr (sizeof...(P1) == sizeof...(P2))
      return sizeof(R1) == sizeof(R2) && ((sizeof(P1) == sizeof(P2)) && ...);
    else
      return false;
  }();
};

} // namespace mpc::test

#endif
