// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EventFile: an event file of TensorBoard, and the records in it.
#ifndef MPC_RUNTIME_TRAINING_EVENT_FILE_H
#define MPC_RUNTIME_TRAINING_EVENT_FILE_H

#include "runtime/data/result.h"

#include <string>
#include <vector>

namespace mpc::training {

/// Each bucket begins where the one before it ends.
struct Histogram {
  struct Bucket {
    double limit, count;
  };
  double smallest = 0, largest = 0; ///< of what is counted
  std::vector<Bucket> buckets;
};

std::string scalarRecord(int64_t step, const std::string &tag, double value);
std::string histogramRecord(int64_t step, const std::string &tag, const Histogram &histogram);

/// The file of this run in a folder; it is made with the first records.
class EventFile {
public:
  explicit EventFile(std::string folder);
  ~EventFile();
  EventFile(const EventFile &) = delete;
  EventFile &operator=(const EventFile &) = delete;

  /// Makes the folder, so that one that cannot be written is known before training.
  data::Status prepare() const;
  /// All of them, or none where there is no room.
  data::Status append(const std::string &records);

private:
  data::Status open();
  data::Status write(const std::string &records);

  std::string folder_;
  int descriptor_ = -1;
  bool hasVersion_ = false; ///< the first event is written
};

} // namespace mpc::training
#endif
