// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The examples of FIPS 180-4, as NIST publishes them with the standard, by both ways of computing.
#include "runtime/base/sha256.h"
#include "gtest/gtest.h"

using mpc::rt::sha256;
using mpc::rt::sha256Portably;

TEST(RuntimeSha256, IsTheStandards) {
  const std::string million(1000000, 'a');
  const std::pair<std::string, const char *> examples[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {million, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"}};
  for (const auto &[text, hash] : examples) {
    EXPECT_EQ(sha256(text.data(), text.size()), hash);
    EXPECT_EQ(sha256Portably(text.data(), text.size()), hash);
  }
}

TEST(RuntimeSha256, BothWaysAgreeOnEveryLength) {
  std::string text;
  for (int length = 0; length < 300; ++length) {
    EXPECT_EQ(sha256(text.data(), text.size()), sha256Portably(text.data(), text.size())) << length;
    text += static_cast<char>(length * 37 + 11);
  }
}
