// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Handles of the C ABI that Python objects own.
#ifndef MPC_PYTHON_CONTEXT_H
#define MPC_PYTHON_CONTEXT_H

#include "mpc-rt/collectives.h"
#include "mpc-rt/training.h"
#include "python/src/tensor.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <nanobind/ndarray.h>
#include <string>
#include <sys/types.h>
#include <unistd.h>
#include <variant>
#include <vector>

namespace mpc::python {

/// Any array of the host, dense and row-major. Its dtype is not looked at: 16-bit floats that NumPy
/// does not know come as unsigned integers of their width.
using Input = nanobind::ndarray<nanobind::ro, nanobind::c_contig, nanobind::device::cpu>;
using Output = nanobind::ndarray<nanobind::c_contig, nanobind::device::cpu>;
/// A run reads and writes memory of the host, or of a GPU.
using AnyInput = std::variant<DeviceTensor, Input>;
using AnyOutput = std::variant<DeviceTensor, Output>;

struct Model {
  explicit Model(const std::string &path);
  ~Model() { mpc_rt_model_release(handle); }
  Model(const Model &) = delete;
  Model &operator=(const Model &) = delete;
  const mpc_rt_executable_t &tables() const { return *mpc_rt_model_executable(handle); }

  mpc_rt_model_t *handle = nullptr;
};

/// A mutex for which a forked child does not wait when a thread of its parent had it: that thread
/// does not exist there, and what it was at is half done.
class Turn {
public:
  void lock();
  void unlock() { mutex.unlock(); }

private:
  std::timed_mutex mutex;
  std::atomic<pid_t> holder{::getpid()}; // set a moment after the lock was taken
};

/// The ranks of a job.
struct Communicator {
  Communicator(double timeoutSeconds, uint64_t mpiCommunicator);
  ~Communicator() { mpc_rt_communicator_release(handle); }
  Communicator(const Communicator &) = delete;
  Communicator &operator=(const Communicator &) = delete;

  mpc_rt_communicator_t *handle = nullptr;
};

/// A context is used by one thread at a time. Runs give the interpreter's lock away, so that
/// another thread may come along: `busy` makes it wait.
struct Context {
  Context(std::shared_ptr<Model> model, const std::string &device, uint32_t threads, uint64_t seed,
          bool loadInitial);
  ~Context() { mpc_rt_context_release(handle); }
  Context(const Context &) = delete;
  Context &operator=(const Context &) = delete;

  void run(uint32_t entry, const std::vector<AnyInput> &inputs,
           const std::vector<AnyOutput> &outputs, int64_t batch);
  void get(uint32_t variable, const Output &target);
  void set(uint32_t variable, const Input &source);
  double metric(uint32_t index);
  /// With null it computes alone.
  void setRanks(std::shared_ptr<Communicator> communicator, uint32_t parts);
  /// Variables of which each rank has a part become whole.
  void gatherVariables(bool keep);

  std::shared_ptr<Model> model;
  std::shared_ptr<Communicator> ranks;
  mpc_rt_context_t *handle = nullptr;
  Turn busy;
};

} // namespace mpc::python
#endif
