// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts of a batch have a thread and a driver each: libraries of the software device serve several
// threads at once, as the real ones do when each has handles of its own.
#include "runtime/drivers/cuda/cudnn_descriptions.h"
#include "test/FakeCuda/open_device.h"

#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace {

using namespace mpc::rt;

constexpr int threads = 4, rounds = 5000;

// How many calls failed.
template <typename Body> int failuresOnThreads(Body body) {
  std::vector<int> failures(threads, 0);
  std::vector<std::thread> running;
  for (int thread = 0; thread < threads; ++thread)
    running.emplace_back([&, thread] {
      fake::OpenBlas device;
      for (int round = 0; round < rounds; ++round)
        failures[thread] += body(device) ? 0 : 1;
    });
  int sum = 0;
  for (int thread = 0; thread < threads; ++thread) {
    running[thread].join();
    sum += failures[thread];
  }
  return sum;
}

TEST(FakeCudaThreads, MakeDescriptorsOfCudnnAtOnce) {
  const char *problem = nullptr;
  const cuda::dnn::Api *library = cuda::dnn::api(problem);
  ASSERT_NE(library, nullptr) << problem;
  EXPECT_EQ(failuresOnThreads([&](fake::OpenDevice &device) {
              cuda::dnn::Handle handle = nullptr;
              cuda::dnn::Descriptor descriptor = nullptr;
              return library->create(&handle) == 0 &&
                     library->setStream(handle, device.stream) == 0 &&
                     library->createDescriptor(cuda::dnn::tensorDescriptor, &descriptor) == 0 &&
                     library->destroyDescriptor(descriptor) == 0 && library->destroy(handle) == 0;
            }),
            0);
}

// A look-alike that has counted wrong ends the process of the tests.
TEST(FakeCudaThreads, MakeDescriptionsOfCublasltAtOnce) {
  EXPECT_EQ(failuresOnThreads([](fake::OpenBlas &device) {
              cuda::lt::MatmulDesc description = nullptr;
              return device.lt->descCreate(&description, cuda::lt::compute32f, cuda::lt::r32f) ==
                         0 &&
                     device.lt->descDestroy(description) == 0;
            }),
            0);
}

} // namespace
