// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Session: one compiled model, loaded, with a context to run it. What every command starts from.
#ifndef MPC_RUNTIME_TRAINING_SESSION_H
#define MPC_RUNTIME_TRAINING_SESSION_H

#include "mpc-rt/model.h"
#include "runtime/data/bind.h"

namespace mpc::training {

/// Which kernels compute products and convolutions.
struct TuningOptions {
  enum class Way {
    automatic, ///< rules; a long training measures where no rules were measured
    off,       ///< rules
    measure,   ///< those that are measured to be the fastest
    file       ///< those of a file
  } way = Way::automatic;
  std::string file;
};

struct SessionOptions {
  std::string library; // libNAME.so, its folder, or an archive
  std::string device = "cpu";
  uint32_t threads = 0;    // 0 = all
  uint64_t seed = 0;       // of random layers and, without weights, of the initializers
  std::string weights;     // a safetensors file; "" = NAME.safetensors beside the library
  bool initialize = false; // ignore stored weights: every variable from its initializer
  uint64_t initializeSeed = 0;
  bool verify = false; // NAME.safetensors against the hash that the library has
  TuningOptions tuning;
};

/// Which of how many ranks a process is.
struct RankPlace {
  unsigned rank = 0, ranks = 1;
};

/// Owns model and context. Failures carry the runtime's message and the library's path.
class Session {
public:
  ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  /// Loads the library and its weights.
  static data::Result<std::unique_ptr<Session>> open(const SessionOptions &options);
  /// Loads the library, without its weights: for what does not depend on them.
  static data::Result<std::unique_ptr<Session>> openContext(const SessionOptions &options);
  /// Loads the library's tables alone: for inspect.
  static data::Result<std::unique_ptr<Session>> openTables(const std::string &library);

  /// Whether the weights beside the library are those that mpcc wrote.
  data::Status verifyWeights();
  const mpc_rt_executable_t &executable() const { return *mpc_rt_model_executable(model_); }
  const mpc_rt_model_t *model() const { return model_; }
  mpc_rt_context_t *context() { return context_; }
  const std::string &path() const { return path_; }
  /// Notes for the user about the loading ("3 variables came from their initializers").
  const std::vector<std::string> &notes() const { return notes_; }

  /// Null if the model has no entry of that name.
  const mpc_rt_entry_info_t *findEntry(const char *name) const;
  /// A Failure that says how to compile the model so that it has the entry.
  data::Result<const mpc_rt_entry_info_t *> requireEntry(const char *name) const;
  /// The tensors that `entry` takes: inputs with aliases x0, x1, ..; targets with the outputs'
  /// names.
  data::Signature signature(const mpc_rt_entry_info_t &entry) const;
  /// 0 when the batch is free, else the batch that the model was compiled for. Inputs without rows
  /// (scalars, and those of known first extents beside others) have no part in it.
  int64_t fixedBatch(const mpc_rt_entry_info_t &entry) const;
  /// The model's own names of its outputs, from the manifest; "" where it has none.
  std::vector<std::string> outputNames() const;

  void *variable(uint32_t index) { return mpc_rt_context_variable(context_, index, nullptr); }
  const mpc_rt_variable_info_t &variableInfo(uint32_t index) const {
    return executable().variables[index];
  }
  /// A copy of a variable with its shape.
  data::Array variableArray(uint32_t index);

  /// The memory that the process had resident before the context's.
  uint64_t residentWhenOpened() const { return residentWhenOpened_; }

  /// This process is one of several ranks: entries that reduce over them take its rows alone.
  void setPlace(RankPlace place) { place_ = place; }
  RankPlace place() const { return place_; }

  /// A Failure from the runtime's last error, naming the library.
  data::Failure runtimeFailure(mpc_rt_status_t status) const;

private:
  Session() = default;
  void noteDevice(const std::string &device);
  data::Status loadWeights(const SessionOptions &options);
  data::Status loadInitialWeights();

  mpc_rt_model_t *model_ = nullptr;
  mpc_rt_context_t *context_ = nullptr;
  uint64_t residentWhenOpened_ = 0;
  RankPlace place_;
  std::string path_;
  std::vector<std::string> notes_;
};

} // namespace mpc::training
#endif
