// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plays slow calls, so that something else is worth taking.
#ifndef MPC_TEST_FAKECUDA_LOST_TIME_H
#define MPC_TEST_FAKECUDA_LOST_TIME_H

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>

namespace fake {

// 80 ms where the environment variable holds this number among others, with commas between them.
inline void loseTime(const char *variable, int64_t number) {
  const char *slow = std::getenv(variable);
  if (slow &&
      ("," + std::string(slow) + ",").find("," + std::to_string(number) + ",") != std::string::npos)
    std::this_thread::sleep_for(std::chrono::milliseconds(80));
}

} // namespace fake

#endif
