// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Epoch logs as files: CSV as Keras's CSVLogger writes it, JSON lines, TensorBoard events.
#ifndef MPC_RUNTIME_TRAINING_EPOCH_LOG_H
#define MPC_RUNTIME_TRAINING_EPOCH_LOG_H

#include "training/callback.h"

#include <cstdio>

namespace mpc::training {

/// keras.callbacks.CSVLogger: `epoch` and the metrics in alphabetical order. The file is written
/// anew, atomically, after each epoch, so that it always agrees with the history, resumed or not.
class CsvLog : public Callback {
public:
  explicit CsvLog(std::string path) : path_(std::move(path)) {}
  data::Status historyChanged(const std::vector<Logs> &history) override;

private:
  std::string path_;
};

/// One JSON object per epoch; NaN and infinities as strings.
class JsonLog : public Callback {
public:
  explicit JsonLog(std::string path) : path_(std::move(path)) {}
  data::Status historyChanged(const std::vector<Logs> &history) override;

private:
  std::string path_;
};

/// The text of one JSON log line, without the newline.
std::string jsonLine(int64_t epoch, const Logs &logs);

/// Event files in DIR/train and DIR/validation with the scalars that Keras's TensorBoard callback
/// writes: epoch_loss, epoch_<metric>.
class TensorBoardLog : public Callback {
public:
  explicit TensorBoardLog(std::string folder);
  ~TensorBoardLog() override;
  /// Makes the folders, so that one that cannot be written is known before training.
  data::Status prepare(bool withValidation);
  data::Status historyChanged(const std::vector<Logs> &history) override;

private:
  data::Status open(FILE *&file, const std::string &folder);
  data::Status append(FILE *file, const std::string &folder, const std::string &event);
  std::string folder_;
  FILE *train_ = nullptr, *validation_ = nullptr;
};

} // namespace mpc::training
#endif
