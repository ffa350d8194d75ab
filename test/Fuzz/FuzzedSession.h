// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A session of the library FuzzedModel.c, opened once: the loader keeps every name that it has ever
// opened a library by.
#ifndef MPC_TEST_FUZZ_FUZZEDSESSION_H
#define MPC_TEST_FUZZ_FUZZEDSESSION_H

#include "runtime/training/session.h"

#include <cstdlib>
#include <unistd.h>

/// The library lies beside the target's program.
inline std::unique_ptr<mpc::training::Session> openFuzzedSession() {
  char program[4096];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program);
  mpc::training::SessionOptions options;
  options.library.assign(program, length > 0 ? static_cast<size_t>(length) : 0);
  options.library.resize(options.library.rfind('/') + 1);
  options.library += "libFuzzedModel.so";
  options.initialize = true;
  options.threads = 1;
  auto session = mpc::training::Session::open(options);
  if (!session)
    std::abort();
  return std::move(*session);
}

/// The tables of such a session, which FuzzedModel.c has in memory that can be written.
inline mpc_rt_executable_t &tablesOf(const mpc::training::Session &session) {
  return const_cast<mpc_rt_executable_t &>(session.executable());
}

#endif
