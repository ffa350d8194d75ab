// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two threads in one context, which is misuse: with MPC_RT_CHECKS=1 the second one gets a status.
//   overlap MODEL
// Without the variable it prints "unchecked" and computes nothing. One thread inside of its own
// calls, and two threads one after the other, are no misuse.
#include "generic.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

int main(int, char **arguments) {
  if (!std::getenv("MPC_RT_CHECKS")) {
    std::puts("unchecked");
    return 0;
  }
  mpc_rt_model_t *model = nullptr;
  mpc_rt_context_t *context = nullptr;
  if (mpc_rt_model_load(arguments[1], &model) || mpc_rt_context_create(model, nullptr, &context))
    return 1;
  std::string result;
  for (int turn = 0; turn < 3; ++turn) {
    std::thread other([&] { generic::run(context, "predict", 64, result); });
    other.join();
    if (generic::run(context, "predict", 64, result) != MPC_RT_OK)
      return 2;
  }
  std::atomic<unsigned> good{0}, refused{0}, other{0};
  auto work = [&] {
    std::string mine;
    // Until both have met: a prediction takes longer than the rest of a turn.
    for (int turn = 0; turn < 100000 && !(refused && good); ++turn) {
      const mpc_rt_status_t status = generic::run(context, "predict", 64, mine);
      if (status == MPC_RT_OK)
        ++good;
      else if (status == MPC_RT_FAILED_PRECONDITION &&
               std::strstr(mpc_rt_last_error(), "another thread is inside"))
        ++refused;
      else
        ++other;
    }
  };
  std::thread first(work), second(work);
  first.join();
  second.join();
  std::printf("good %d refused %d other %u\n", good > 0, refused > 0, other.load());
  mpc_rt_context_release(context);
  mpc_rt_model_release(model);
  return good && refused && !other ? 0 : 3;
}
