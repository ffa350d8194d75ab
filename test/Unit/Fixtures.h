// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where unit tests find the fixtures: $MPC_FIXTURES, or fixtures/ in the build folder in whose
// test/bin this program lies. A test that needs a missing file must fail, never skip.
#ifndef MPC_TEST_UNIT_FIXTURES_H
#define MPC_TEST_UNIT_FIXTURES_H

#include <cstdlib>
#include <filesystem>
#include <string>

namespace mpc::test {

inline std::string fixturePath(const std::string &below) {
  if (const char *folder = std::getenv("MPC_FIXTURES"); folder && *folder)
    return std::string(folder) + "/" + below;
  std::error_code error;
  std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return (program.parent_path() / "../../fixtures" / below).lexically_normal().string();
}

} // namespace mpc::test

#endif // MPC_TEST_UNIT_FIXTURES_H
