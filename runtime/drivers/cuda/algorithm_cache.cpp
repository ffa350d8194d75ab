// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One line per product: its key, the algorithm, and a checksum of both.
#include "runtime/drivers/cuda/algorithm_cache.h"
#include "runtime/drivers/cuda/algorithm_text.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace mpc::rt::cuda {
namespace {

constexpr size_t mostBytes = size_t{4} << 20; // of a file; more is no cache of ours

std::string lineOf(const std::string &key, const lt::Algorithm &algorithm) {
  std::string line = key + " " + hexOf(algorithm);
  return line + " " + checksumOf(line) + "\n";
}

// The entry of a line, if it is one that lineOf() wrote.
void readLine(const std::string &line, std::map<std::string, lt::Algorithm> &entries) {
  const size_t space = line.find(' '), end = line.rfind(' ');
  lt::Algorithm algorithm = {};
  if (space == std::string::npos || end == space ||
      !algorithmOf(line.substr(space + 1, end - space - 1), algorithm))
    return;
  const std::string key = line.substr(0, space);
  if (lineOf(key, algorithm) == line + "\n")
    entries[key] = algorithm;
}

std::map<std::string, lt::Algorithm> readFile(const std::string &path) {
  std::map<std::string, lt::Algorithm> entries;
  struct stat about = {};
  if (stat(path.c_str(), &about) || static_cast<size_t>(about.st_size) > mostBytes)
    return entries;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    readLine(line, entries);
  return entries;
}

std::string folder() {
  auto variable = [](const char *name) { return std::getenv(name); };
  if (const char *own = variable("MPC_CACHE"))
    return own;
  if (const char *cache = variable("XDG_CACHE_HOME"); cache && *cache)
    return std::string(cache) + "/mpc";
  const char *home = variable("HOME");
  return home && *home ? std::string(home) + "/.cache/mpc" : "";
}

void makeFolders(const std::string &path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1))
    mkdir(path.substr(0, slash).c_str(), 0700);
}

// The whole file or none of it.
void writeFile(const std::string &path, const std::string &text) {
  makeFolders(path);
  const std::string temporary = path + "." + std::to_string(getpid());
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0)
    return;
  bool good = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  good &= fsync(file) == 0;
  good &= close(file) == 0;
  if (!good || std::rename(temporary.c_str(), path.c_str()))
    unlink(temporary.c_str());
}

} // namespace

void AlgorithmCache::open(const std::string &name) {
  const std::string where = folder();
  if (where.empty())
    return;
  path = where + "/" + asWord(name);
  known = readFile(path);
}

AlgorithmCache::~AlgorithmCache() {
  if (path.empty() || added.empty())
    return;
  try {
    auto all = readFile(path);
    for (auto &[key, algorithm] : added)
      all[key] = algorithm;
    std::string text;
    for (auto &[key, algorithm] : all)
      text += lineOf(key, algorithm);
    if (text.size() <= mostBytes)
      writeFile(path, text);
  } catch (const std::exception &) {
    // No memory: nothing is kept.
  }
}

bool AlgorithmCache::find(const std::string &key, lt::Algorithm &algorithm) const {
  for (const auto *entries : {&added, &known})
    if (auto found = entries->find(key); found != entries->end()) {
      algorithm = found->second;
      return true;
    }
  return false;
}

void AlgorithmCache::add(const std::string &key, const lt::Algorithm &algorithm) {
  if (!path.empty())
    added[key] = algorithm;
}

} // namespace mpc::rt::cuda
