// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/data/cut.h"

#include <gtest/gtest.h>

using namespace mpc::data;

namespace {

Array counted(std::vector<int64_t> dims) {
  Result<Array> array = Array::allocate(MPC_RT_INT32, std::move(dims));
  for (int64_t i = 0; i < array->elements(); ++i)
    array->as<int32_t>()[i] = int32_t(i);
  return *array;
}

std::vector<int32_t> elementsOf(const Array &array) {
  return {array.as<int32_t>(), array.as<int32_t>() + array.elements()};
}

TEST(Cut, KeepsTheFirstPlacesOfAnyDimension) {
  const Array array = counted({2, 3, 2});
  Result<Array> first = cut(array, 0, 1), middle = cut(array, 1, 2), last = cut(array, 2, 1);
  ASSERT_TRUE(first && middle && last);
  EXPECT_EQ(first->dims(), (std::vector<int64_t>{1, 3, 2}));
  EXPECT_EQ(elementsOf(*first), (std::vector<int32_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(middle->dims(), (std::vector<int64_t>{2, 2, 2}));
  EXPECT_EQ(elementsOf(*middle), (std::vector<int32_t>{0, 1, 2, 3, 6, 7, 8, 9}));
  EXPECT_EQ(elementsOf(*last), (std::vector<int32_t>{0, 2, 4, 6, 8, 10}));
}

TEST(Cut, OfNothingAndOfAllIsTheSame) {
  const Array array = counted({2, 3});
  Result<Array> none = cut(array, 1, 0), all = cut(array, 1, 3);
  ASSERT_TRUE(none && all);
  EXPECT_EQ(none->dims(), (std::vector<int64_t>{2, 0}));
  EXPECT_EQ(none->elements(), 0);
  EXPECT_EQ(elementsOf(*all), elementsOf(array));
}

} // namespace
