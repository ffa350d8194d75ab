// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Epoch logs as files: CSV as Keras's CSVLogger writes it, JSON lines, TensorBoard events.
#ifndef MPC_RUNTIME_TRAINING_EPOCH_LOG_H
#define MPC_RUNTIME_TRAINING_EPOCH_LOG_H

#include "runtime/training/callback.h"
#include "runtime/training/event_file.h"

#include <functional>

namespace mpc::training {

/// A log that cannot be written, as on a full disk, warns once, and training goes on. With the next
/// epoch it is tried again, and what is missing is written then.
class LogWarning {
public:
  explicit LogWarning(std::function<void(const std::string &)> warn) : warn_(std::move(warn)) {}
  data::Status operator()(const data::Status &written);

private:
  std::function<void(const std::string &)> warn_;
  bool hasWarned_ = false;
};

/// keras.callbacks.CSVLogger: `epoch` and the metrics in alphabetical order. The file is written
/// anew, atomically, after each epoch, so that it always agrees with the history, resumed or not.
class CsvLog : public Callback {
public:
  CsvLog(std::string path, std::function<void(const std::string &)> warn)
      : path_(std::move(path)), checked_(std::move(warn)) {}
  data::Status historyChanged(const std::vector<Logs> &history) override;

private:
  std::string path_;
  LogWarning checked_;
};

/// One JSON object per epoch; NaN and infinities as strings.
class JsonLog : public Callback {
public:
  JsonLog(std::string path, std::function<void(const std::string &)> warn)
      : path_(std::move(path)), checked_(std::move(warn)) {}
  data::Status historyChanged(const std::vector<Logs> &history) override;

private:
  std::string path_;
  LogWarning checked_;
};

/// The text of one JSON log line, without the newline.
std::string jsonLine(int64_t epoch, const Logs &logs);

/// Event files in DIR/train and DIR/validation with the scalars that Keras's TensorBoard callback
/// writes: epoch_loss, epoch_<metric>.
class TensorBoardLog : public Callback {
public:
  TensorBoardLog(const std::string &folder, std::function<void(const std::string &)> warn);
  /// Makes the folders, so that one that cannot be written is known before training.
  data::Status prepare(bool withValidation);
  data::Status historyChanged(const std::vector<Logs> &history) override;

private:
  /// The events of the metrics whose names begin with "val_", or of the others.
  struct Events {
    EventFile file;
    bool areOfValidation;
    size_t epochs = 0; ///< of the history, that are written, or by an earlier run
  };
  data::Status write(Events &events, const std::vector<Logs> &history);
  LogWarning checked_;
  Events train_, validation_;
  bool hasBegun_ = false;
};

} // namespace mpc::training
#endif
