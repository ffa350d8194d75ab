// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A folder that disappears with the test, and bytes to and from files.
#ifndef MPC_TEST_UNIT_RUNTIME_DATA_TEMPORARY_FOLDER_H
#define MPC_TEST_UNIT_RUNTIME_DATA_TEMPORARY_FOLDER_H

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "mpc-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(folder_); }
  std::string path(const std::string &name) const { return folder_ + "/" + name; }
  const std::string &folder() const { return folder_; }
  std::string write(const std::string &name, const std::string &bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  static std::string read(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    return bytes.str();
  }

private:
  std::string folder_;
};

#endif
