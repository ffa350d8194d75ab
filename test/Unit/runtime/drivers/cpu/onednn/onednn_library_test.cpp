// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// oneDNN is opened when it is wanted, and what we say about this CPU without it is what it says.
#include "runtime/base/status.h"
#include "runtime/drivers/cpu/onednn/onednn_library.h"

#include <cstdlib>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using mpc::rt::onednn::Isa;

bool isLoaded() {
  void *library = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_NOLOAD);
  if (library)
    dlclose(library);
  return library != nullptr;
}

std::string text(const Isa &isa) {
  return std::string(isa.avx512 ? "avx512 " : "") + (isa.vnni ? "vnni " : "") +
         (isa.bfloat16 ? "bfloat16 " : "") + (isa.amx ? "amx " : "");
}

// In a process of its own: the answer is found once.
std::string isaInChild(const char *limit) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (limit)
      setenv("DNNL_MAX_CPU_ISA", limit, 1);
    const std::string found = text(mpc::rt::onednn::isa());
    const std::string answer = (isLoaded() ? "asked: " : "known: ") + found;
    (void)!write(ends[1], answer.data(), answer.size());
    _exit(0);
  }
  close(ends[1]);
  char answer[100] = {};
  (void)!read(ends[0], answer, sizeof(answer) - 1);
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return answer;
}

TEST(OnednnLibrary, IsNotAskedWhatThisCpuHas) {
  const std::string known = isaInChild(nullptr), asked = isaInChild("ALL");
  ASSERT_EQ(known.substr(0, 7), "known: ");
  ASSERT_EQ(asked.substr(0, 7), "asked: ");
  EXPECT_EQ(known.substr(7), asked.substr(7));
}

TEST(OnednnLibrary, IsAskedWhatItMayUse) {
  EXPECT_EQ(isaInChild("AVX2"), "asked: ");
  EXPECT_EQ(isaInChild("AVX512_CORE").substr(0, 7), "asked: ");
}

TEST(OnednnLibrary, IsLoadedOnRequest) {
  EXPECT_FALSE(isLoaded());
  EXPECT_NO_THROW(mpc::rt::onednn::load());
  EXPECT_TRUE(isLoaded());
}

} // namespace
