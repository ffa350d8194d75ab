// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls without the interpreter's lock.
#ifndef MPC_PYTHON_UNLOCKED_H
#define MPC_PYTHON_UNLOCKED_H

#include "python/src/exit_gate.h"

#include <cxxabi.h>
#include <nanobind/nanobind.h>
#include <unistd.h>

namespace mpc::python {

/// Gives the interpreter's lock away for its lifetime. A daemon thread that wants the lock back
/// when the interpreter ends gets pthread_exit instead before Python 3.14: unwinding C++ that must
/// not throw, which would abort the process. It waits here for the process to end, as from 3.14 on.
class Unlocked {
public:
  Unlocked() : state(PyEval_SaveThread()) { ExitGate::instance().enter(); }
  ~Unlocked() {
    ExitGate::instance().leave();
    try {
      PyEval_RestoreThread(state);
    } catch (abi::__forced_unwind &) {
      for (;;)
        ::pause();
    }
  }
  Unlocked(const Unlocked &) = delete;
  Unlocked &operator=(const Unlocked &) = delete;

private:
  PyThreadState *state;
};

} // namespace mpc::python
#endif
