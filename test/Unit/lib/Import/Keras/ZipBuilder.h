// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Small zip archives for tests, written byte by byte so that they can be wrong.
#ifndef MPC_TEST_UNIT_LIB_IMPORT_KERAS_ZIPBUILDER_H
#define MPC_TEST_UNIT_LIB_IMPORT_KERAS_ZIPBUILDER_H

#include <string>
#include <utility>
#include <vector>

namespace mpc::test {

/// An archive of stored (uncompressed) members, in this order; names may repeat.
std::string buildZip(const std::vector<std::pair<std::string, std::string>> &members);

/// An archive whose one member of `size` zero bytes is deflated.
std::string buildDeflatedZeros(const std::string &name, size_t size);

} // namespace mpc::test

#endif
