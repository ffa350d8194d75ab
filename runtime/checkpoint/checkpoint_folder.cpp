// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbering, keeping and finding checkpoints.
#include "runtime/checkpoint/checkpoint_folder.h"

#include "runtime/data/atomic_file.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mpc::checkpoint {

using data::Failure;
using data::Result;
using data::Status;

static const std::string prefix = "checkpoint-", suffix = ".safetensors";

static std::vector<std::string> filesIn(const std::string &folder) {
  std::vector<std::string> names;
  if (DIR *directory = ::opendir(folder.c_str())) {
    while (const dirent *entry = ::readdir(directory))
      names.push_back(entry->d_name);
    ::closedir(directory);
  }
  return names;
}

/// Names that save() gives: what a user calls `checkpoint-best.safetensors` is not ours to remove.
static bool isCheckpoint(const std::string &name) {
  if (name.size() <= prefix.size() + suffix.size() || name.compare(0, prefix.size(), prefix) != 0 ||
      name.compare(name.size() - suffix.size(), suffix.size(), suffix) != 0)
    return false;
  return std::all_of(name.begin() + static_cast<ptrdiff_t>(prefix.size()),
                     name.end() - static_cast<ptrdiff_t>(suffix.size()),
                     [](char c) { return c >= '0' && c <= '9'; });
}

std::vector<std::string> CheckpointFolder::list() const {
  std::vector<std::string> names;
  for (const std::string &name : filesIn(path_))
    if (isCheckpoint(name))
      names.push_back(name);
  // Longer numbers are larger; the usual ones are all of the same length.
  std::sort(names.begin(), names.end(), [](const std::string &a, const std::string &b) {
    return a.size() != b.size() ? a.size() > b.size() : a > b;
  });
  for (std::string &name : names)
    name = path_ + "/" + name;
  return names;
}

/// The steps in a checkpoint's name.
static int64_t stepsOf(const std::string &path) {
  return std::strtoll(path.c_str() + path.rfind(prefix) + prefix.size(), nullptr, 10);
}

CheckpointFolder::~CheckpointFolder() {
  if (lock_ >= 0)
    ::close(lock_);
}

Status CheckpointFolder::prepare() {
  for (size_t slash = path_.find('/', 1); slash != std::string::npos;
       slash = path_.find('/', slash + 1))
    ::mkdir(path_.substr(0, slash).c_str(), 0777);
  if (::mkdir(path_.c_str(), 0777) != 0 && errno != EEXIST)
    return Failure(path_ + ": cannot be made: " + std::strerror(errno) +
                   "; expected a folder for checkpoints");
  // The path may be that of a file.
  if (::access((path_ + "/.").c_str(), W_OK | X_OK) != 0)
    return Failure(path_ + ": cannot be written: " + std::strerror(errno) +
                   "; expected a folder for checkpoints");
  // Two runs would remove each other's checkpoints. The lock ends with the process, however that
  // does; file systems without locks are taken as they are.
  lock_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ >= 0 && ::flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return Failure(path_ + ": another run writes its checkpoints there; expected a folder of its "
                           "own; wait for that run, or name another folder");
  for (const std::string &name : filesIn(path_)) {
    if (name.compare(0, std::strlen(data::atomicFilePrefix), data::atomicFilePrefix) != 0)
      continue;
    long process = std::strtol(name.c_str() + std::strlen(data::atomicFilePrefix), nullptr, 10);
    if (process > 0 && ::kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH)
      ::unlink((path_ + "/" + name).c_str());
  }
  return Status();
}

size_t CheckpointFolder::supersede(int64_t step) {
  superseded_ = list();
  superseded_.erase(std::remove_if(superseded_.begin(), superseded_.end(),
                                   [&](const std::string &path) { return stepsOf(path) <= step; }),
                    superseded_.end());
  return superseded_.size();
}

Status CheckpointFolder::save(training::Session &session, const RunIdentity &identity,
                              const training::FitState &state,
                              const training::CallbackState &callbacks) {
  std::string number = std::to_string(state.globalStep);
  number.insert(0, number.size() < 12 ? 12 - number.size() : 0, '0');
  std::string path = path_ + "/" + prefix + number + suffix;
  if (Status status = writeCheckpoint(path, session, identity, state, callbacks); !status)
    return status;
  for (const std::string &other : superseded_)
    if (other != path)
      ::unlink(other.c_str());
  superseded_.clear();
  std::vector<std::string> paths = list();
  for (size_t i = static_cast<size_t>(keep_); i < paths.size(); ++i)
    ::unlink(paths[i].c_str());
  return Status();
}

Result<std::string> CheckpointFolder::findNewest(std::vector<std::string> &notes) const {
  Failure damaged;
  for (const std::string &path : list()) {
    Status whole = verifyCheckpoint(path);
    if (whole)
      return path;
    damaged.append(whole.failure());
    notes.push_back(whole.failure().messages[0]);
  }
  if (!damaged.empty())
    return damaged;
  return Failure(path_ + ": has no checkpoint; expected " + prefix + "*" + suffix +
                 " that mpc-run train --checkpoint wrote; check the path");
}

Status CheckpointFolder::resume(training::Session &session, const RunIdentity &identity,
                                training::FitState &state, training::CallbackState &callbacks,
                                std::vector<std::string> &notes) {
  Result<std::string> path = findNewest(notes);
  if (!path)
    return path.failure();
  Status status = readCheckpoint(*path, session, identity, state, callbacks, notes);
  if (status)
    notes.push_back("resumed from " + *path);
  return status;
}

Result<KernelRecord> CheckpointFolder::readKernels(const training::Session &session,
                                                   std::vector<std::string> &notes) const {
  Result<std::string> path = findNewest(notes);
  if (!path)
    return path.failure();
  Result<KernelRecord> record = checkpoint::readKernels(*path, session);
  if (record)
    notes.push_back("kernels of " + *path);
  return record;
}

} // namespace mpc::checkpoint
