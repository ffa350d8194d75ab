// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where unit tests find the fixtures: $MPC_SHARED, or shared/ beside the repository. A test that
// needs a missing file must fail, never skip.
#ifndef MPC_TEST_UNIT_SHARED_H
#define MPC_TEST_UNIT_SHARED_H

#include <cstdlib>
#include <string>

namespace mpc::test {

inline std::string sharedPath(const std::string &below) {
  const char *folder = std::getenv("MPC_SHARED");
  std::string root = folder && *folder ? folder : MPC_SOURCE_DIR "/../shared";
  return root + "/" + below;
}

} // namespace mpc::test

#endif // MPC_TEST_UNIT_SHARED_H
