// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// TensorBoard event files: TFRecord framing (tensorflow/core/lib/io/record_writer.h: length, masked
// CRC-32C of it, data, masked CRC-32C of that) around Event messages (tensorflow/core/util/
// event.proto), of which three fields and one kind of summary are written.
#include "runtime/data/crc32c.h"
#include "runtime/training/epoch_log.h"
#include "runtime/untrusted/outlets.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace mpc::training {

using data::Failure;
using data::Status;

namespace {

void putFixed(std::string &out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i)
    out += static_cast<char>(value >> (8 * i));
}

void putVarint(std::string &out, uint64_t value) {
  for (; value >= 128; value >>= 7)
    out += static_cast<char>(value | 128);
  out += static_cast<char>(value);
}

/// Protocol buffer field of wire type 2.
void putBytes(std::string &out, int field, const std::string &bytes) {
  putVarint(out, static_cast<uint64_t>(field) << 3 | 2);
  putVarint(out, bytes.size());
  out += bytes;
}

void putFloat64(std::string &out, int field, double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, 8);
  putVarint(out, static_cast<uint64_t>(field) << 3 | 1);
  putFixed(out, bits, 8);
}

uint32_t maskedCrc(const std::string &bytes) {
  uint32_t crc = data::crc32c(0, bytes.data(), bytes.size());
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

std::string record(const std::string &event) {
  std::string length, framed;
  putFixed(length, event.size(), 8);
  framed = length;
  putFixed(framed, maskedCrc(length), 4);
  framed += event;
  putFixed(framed, maskedCrc(event), 4);
  return framed;
}

double wallTime() {
  using namespace std::chrono;
  return duration<double>(system_clock::now().time_since_epoch()).count();
}

/// Event{wall_time = 1, step = 2, summary = 5 {value = 1 {tag = 1, simple_value = 2}}}
std::string scalarEvent(int64_t step, const std::string &tag, double value) {
  std::string scalar, summary, event;
  putBytes(scalar, 1, tag);
  float narrow = static_cast<float>(value);
  uint32_t bits;
  std::memcpy(&bits, &narrow, 4);
  putVarint(scalar, 2 << 3 | 5);
  putFixed(scalar, bits, 4);
  putBytes(summary, 1, scalar);
  putFloat64(event, 1, wallTime());
  putVarint(event, 2 << 3);
  putVarint(event, static_cast<uint64_t>(step));
  putBytes(event, 5, summary);
  return event;
}

/// errno says why not: of the outermost folder that could not be made, where one could not.
bool makeFolder(const std::string &path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1))
    if (::mkdir(path.substr(0, slash).c_str(), 0777) != 0 && errno != EEXIST)
      return false;
  return ::mkdir(path.c_str(), 0777) == 0 || errno == EEXIST;
}

} // namespace

TensorBoardLog::TensorBoardLog(std::string folder, std::function<void(const std::string &)> warn)
    : folder_(std::move(folder)), checked_(std::move(warn)) {}

TensorBoardLog::~TensorBoardLog() {
  for (const Events *events : {&train_, &validation_})
    if (events->descriptor >= 0)
      ::close(events->descriptor);
}

std::string TensorBoardLog::folderOf(const Events &events) const {
  return folder_ + (events.areOfValidation ? "/validation" : "/train");
}

Status TensorBoardLog::prepare(bool withValidation) {
  for (const char *part : {"/train", "/validation"}) {
    const std::string folder = folder_ + part;
    if (part == std::string("/validation") && !withValidation)
      continue;
    if (!makeFolder(folder) || ::access((folder + "/.").c_str(), W_OK | X_OK) != 0)
      return Failure(folder + ": cannot be written: " + std::strerror(errno) +
                     "; expected a folder for TensorBoard's event files");
  }
  return Status();
}

/// Half a record would hide all that come after it: what was not written whole is taken away.
Status TensorBoardLog::append(Events &events, const std::string &records) {
  const off_t end = ::lseek(events.descriptor, 0, SEEK_END);
  for (size_t done = 0; done < records.size();) {
    const ssize_t count = ::write(events.descriptor, records.data() + done, records.size() - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0) {
      const int reason = count == 0 ? EIO : errno;
      if (end < 0 || ::ftruncate(events.descriptor, end) != 0) {
        ::close(events.descriptor); // the next epoch begins another file
        events.descriptor = -1;
        events.hasVersion = false;
      }
      return Failure(folderOf(events) + ": cannot write an event: " + std::strerror(reason) +
                     "; expected a folder that can be written");
    }
    done += static_cast<size_t>(count);
  }
  return Status();
}

Status TensorBoardLog::open(Events &events) {
  char host[256] = "localhost";
  ::gethostname(host, sizeof host - 1);
  const std::string folder = folderOf(events),
                    path = folder + "/events.out.tfevents." +
                           std::to_string(static_cast<int64_t>(wallTime())) + "." + host + "." +
                           std::to_string(::getpid()) + ".mpc";
  if (makeFolder(folder))
    events.descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (events.descriptor < 0)
    return Failure(path + ": cannot create: " + std::strerror(errno) +
                   "; expected a folder that can be written");
  return Status();
}

Status TensorBoardLog::write(Events &events, const std::vector<Logs> &history) {
  std::string records;
  for (size_t epoch = events.epochs; epoch < history.size(); ++epoch) {
    std::set<std::string> taken;
    for (const auto &[name, value] : history[epoch]) {
      const std::string tag = untrusted::makeDistinct(untrusted::forLine(name), taken);
      if ((name.compare(0, 4, "val_") == 0) == events.areOfValidation)
        records +=
            record(scalarEvent(static_cast<int64_t>(epoch),
                               "epoch_" + (events.areOfValidation ? tag.substr(4) : tag), value));
    }
  }
  if (records.empty())
    return Status();
  if (events.descriptor < 0)
    if (Status status = open(events); !status)
      return status;
  if (!events.hasVersion) {
    std::string version;
    putFloat64(version, 1, wallTime());
    putBytes(version, 3, "brain.Event:2"); // file_version
    records = record(version) + records;
  }
  if (Status status = append(events, records); !status)
    return status;
  events.hasVersion = true;
  events.epochs = history.size();
  return Status();
}

Status TensorBoardLog::historyChanged(const std::vector<Logs> &history) {
  if (!hasBegun_)
    train_.epochs = validation_.epochs = history.size() - 1; // those before are in other files
  hasBegun_ = true;
  for (Events *events : {&train_, &validation_})
    (void)static_cast<bool>(checked_(write(*events, history)));
  return Status();
}

} // namespace mpc::training
