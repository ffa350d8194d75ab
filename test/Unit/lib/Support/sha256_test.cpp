// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The examples of FIPS 180-4, as NIST publishes them with the standard.
#include "mpc/Support/Sha256.h"
#include "gtest/gtest.h"

using mpc::Sha256;

TEST(Sha256, IsTheStandards) {
  EXPECT_EQ(Sha256::of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256::of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256::of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256, PiecesAreOneContent) {
  Sha256 hash;
  const std::string piece(1000, 'a');
  for (int i = 0; i < 1000; ++i)
    hash.update(piece);
  EXPECT_EQ(hash.finish(), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
