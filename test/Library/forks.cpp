// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// forks FOLDER: a process that forks before it uses a model, after it did, and while another thread
// runs one: children compute the same, or are told what to do. None may hang.
#include "generic.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace {

constexpr int64_t batch = 64;
constexpr unsigned secondsUntilHung = 120;

const char *folder;

mpc_rt_context_t *open() {
  mpc_rt_model_t *model = nullptr;
  mpc_rt_context_t *context = nullptr;
  mpc_rt_context_options_t options;
  mpc_rt_context_options_init(&options);
  options.threads = 4;
  if (mpc_rt_model_load(folder, &model) || mpc_rt_context_create(model, &options, &context) ||
      mpc_rt_context_load_initial(context, nullptr)) {
    std::fprintf(stderr, "error: %s\n", mpc_rt_last_error());
    std::exit(1);
  }
  mpc_rt_model_release(model);
  return context;
}

// A prediction, a step, another prediction.
std::string life(mpc_rt_context_t *context) {
  std::string before, loss, after;
  if (generic::run(context, "predict", batch, before) ||
      generic::run(context, "train_step", batch, loss) ||
      generic::run(context, "predict", batch, after)) {
    std::fprintf(stderr, "error: %s\n", mpc_rt_last_error());
    return "";
  }
  return before + loss + after;
}

std::string freshLife() {
  mpc_rt_context_t *context = open();
  std::string result = life(context);
  mpc_rt_context_release(context);
  return result;
}

// Sums may be split in another way among fewer threads: floats of a short life stay close.
bool isLike(const std::string &one, const std::string &other) {
  if (one.size() != other.size() || one.empty())
    return false;
  for (size_t i = 0; i + 4 <= one.size(); i += 4) {
    float a, b;
    std::memcpy(&a, &one[i], 4);
    std::memcpy(&b, &other[i], 4);
    const float difference = a > b ? a - b : b - a;
    if (!(difference <= 2e-2f))
      return false;
  }
  return true;
}

bool succeedsInChild(const char *what, const std::function<bool()> &body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(secondsUntilHung);
    const bool good = body();
    std::fflush(nullptr);
    _exit(good ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  const bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  std::printf("%s  %s%s\n", good ? "ok  " : "FAIL", what,
              WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? ": hangs" : "");
  return good;
}

bool inThread(const std::function<bool()> &body) {
  bool good = false;
  std::thread thread([&] { good = body(); });
  thread.join();
  return good;
}

bool isRefused(mpc_rt_context_t *context) {
  std::string result;
  if (generic::run(context, "predict", batch, result) != MPC_RT_FAILED_PRECONDITION ||
      !std::strstr(mpc_rt_last_error(), "make a new context after fork")) {
    std::fprintf(stderr, "error: not refused: %s\n", mpc_rt_last_error());
    return false;
  }
  return true;
}

// Forks while the thread is inside a run (tried until it is), with a new context in the child.
bool forkDuringRuns(const std::string &expected) {
  mpc_rt_context_t *context = open();
  std::atomic<bool> stop{false};
  std::atomic<long> runs{0};
  std::thread thread([&] {
    std::string result;
    while (!stop) {
      (void)generic::run(context, "train_step", batch, result);
      runs++;
    }
  });
  while (runs < 3)
    std::this_thread::yield();
  bool good = true;
  for (int i = 0; i < 20; ++i) {
    usleep(1000 * (i % 7));
    good &= succeedsInChild("a new context while the parent's runs in a thread", [&] {
      std::string result;
      const mpc_rt_status_t status = generic::run(context, "predict", batch, result);
      return (status == MPC_RT_OK || isRefused(context)) && isLike(freshLife(), expected);
    });
  }
  stop = true;
  thread.join();
  mpc_rt_context_release(context);
  return good;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  folder = argv[1];
  bool good = succeedsInChild("before the first use", [] { return !freshLife().empty(); });
  mpc_rt_context_t *unused = open();
  good &= succeedsInChild("a context that has not run", [&] { return !life(unused).empty(); });
  const std::string expected = life(unused);
  mpc_rt_context_t *used = open();
  std::string prediction;
  if (expected.empty() || generic::run(used, "predict", batch, prediction))
    return 1;
  good &= succeedsInChild("the parent's context", [&] { return isLike(life(used), expected); });
  good &= succeedsInChild("a new context", [&] { return isLike(freshLife(), expected); });
  good &= succeedsInChild("a thread, then the thread that forked", [&] {
    return inThread([&] { return isLike(freshLife(), expected); }) && isLike(life(used), expected);
  });
  good &= succeedsInChild("the thread that forked, then a thread", [&] {
    std::string result;
    return generic::run(used, "predict", batch, result) == MPC_RT_OK &&
           inThread([&] { return isLike(life(used), expected); });
  });
  good &= succeedsInChild("a child of a child", [&] {
    return isLike(freshLife(), expected) &&
           succeedsInChild("its child", [&] { return isLike(life(used), expected); });
  });
  good &= forkDuringRuns(expected);
  good &= isLike(life(used), expected); // nothing has changed for the parent
  mpc_rt_context_release(used);
  mpc_rt_context_release(unused);
  return good ? 0 : 1;
}
