// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of forms: what the runtime takes, and what a damaged or newer library says.
#include "test/Unit/runtime/execution/fake_model.h"

#include <string>

namespace {

int32_t succeed(const mpc_rt_call_t *) { return MPC_RT_OK; }

// A library of one entry: boxes of at most 8 rows with their count, and texts.
struct Forms : testing::Test {
  Forms() {
    entry = {"predict", succeed, 1, 3, inputs, outputs, 0, 0};
    executable.entries = &entry;
    executable.entry_count = 1;
    executable.metric_count = 0;
    executable.forms = forms;
    executable.form_count = 2;
  }
  mpc_rt_status_t load() {
    mpc_rt_model_t *model = nullptr;
    const mpc_rt_status_t status = mpc_rt_model_from_executable(&executable, &model);
    mpc_rt_model_release(model);
    return status;
  }
  void refuses(const char *why, mpc_rt_status_t status = MPC_RT_DATA_LOSS) {
    EXPECT_EQ(load(), status);
    EXPECT_NE(std::string(mpc_rt_last_error()).find(why), std::string::npos) << mpc_rt_last_error();
    forms[0] = bounded;
    forms[1] = text;
  }

  const int64_t rows[2] = {8, 4}, letters[2] = {MPC_RT_DYNAMIC, 16};
  mpc_rt_tensor_info_t inputs[1] = {{"x", MPC_RT_INT32, 2, letters, 0}};
  mpc_rt_tensor_info_t outputs[3] = {{"out0", MPC_RT_FLOAT32, 2, rows, 0},
                                     {"out1", MPC_RT_INT64, 0, nullptr, 0},
                                     {"out2", MPC_RT_INT32, 0, nullptr, 0}};
  const mpc_rt_tensor_form_t bounded = {0, 1, 0, MPC_RT_FORM_BOUNDED, 0, 1};
  const mpc_rt_tensor_form_t text = {0, 0, 0, MPC_RT_FORM_TEXT, 1, -1};
  mpc_rt_tensor_form_t forms[2] = {bounded, text};
  mpc_rt_entry_info_t entry;
  mpc_rt_executable_t executable = *mpc_rt_executable_query(MPC_RT_ABI_VERSION);
};

TEST_F(Forms, AreFoundByTensorAndKind) {
  ASSERT_EQ(load(), MPC_RT_OK) << mpc_rt_last_error();
  EXPECT_EQ(mpc_rt_find_form(&executable, 0, 1, 0, MPC_RT_FORM_BOUNDED), &forms[0]);
  EXPECT_EQ(mpc_rt_find_form(&executable, 0, 0, 0, MPC_RT_FORM_TEXT), &forms[1]);
  EXPECT_EQ(mpc_rt_find_form(&executable, 0, 1, 0, MPC_RT_FORM_TEXT), nullptr);
  EXPECT_EQ(mpc_rt_find_form(&executable, 0, 1, 1, MPC_RT_FORM_BOUNDED), nullptr);
  EXPECT_EQ(mpc_rt_find_form(&executable, 1, 1, 0, MPC_RT_FORM_BOUNDED), nullptr);
}

TEST_F(Forms, ALibraryWithoutThemHasNone) {
  executable.struct_size = offsetof(mpc_rt_executable_t, forms);
  executable.form_count = 1u << 31;
  EXPECT_EQ(load(), MPC_RT_OK) << mpc_rt_last_error();
  EXPECT_EQ(mpc_rt_find_form(&executable, 0, 1, 0, MPC_RT_FORM_BOUNDED), nullptr);
}

TEST_F(Forms, OfNoTensorAreRefused) {
  forms[0].entry = 1;
  refuses("form 0 is of no entry");
  forms[0].is_output = 2;
  refuses("form 0 is of no entry");
  forms[0].tensor = 3;
  refuses("form 0 is of no input or output");
  forms[1].tensor = 1;
  refuses("form 1 is of no input or output");
  forms[0].axis = 2;
  refuses("form 0 is of no dimension with an extent");
  forms[1].axis = 0; // the batch
  refuses("form 1 is of no dimension with an extent");
  EXPECT_EQ(load(), MPC_RT_OK) << mpc_rt_last_error();
}

TEST_F(Forms, WithoutAnExtentAreRefused) {
  for (const int32_t extent : {-1, 3, 0}) { // none, none of the entry, itself
    forms[0].extent_output = extent;
    refuses("form 0 has no extent");
  }
  forms[0].extent_output = 2; // of int32
  refuses("form 0 has no extent of int64");
  forms[1].kind = MPC_RT_FORM_BOUNDED; // of an input
  refuses("form 1 has no extent");
}

TEST_F(Forms, OfTextNeedCodePoints) {
  forms[0].kind = MPC_RT_FORM_TEXT; // of float32
  refuses("form 0 says text of what is none");
  forms[1].extent_output = 1;
  refuses("form 1 says text of what is none");
}

TEST_F(Forms, AreThereOnceAndOfAKnownKind) {
  forms[1] = bounded;
  refuses("form 1 is there twice");
  forms[1].kind = 2;
  refuses("of a kind that this runtime does not know; update libmpcrt", MPC_RT_FAILED_PRECONDITION);
  executable.form_count = 1u << 31;
  refuses("table of forms 0 is missing or too large");
  executable.form_count = 2;
  executable.forms = nullptr;
  refuses("table of forms 0 is missing or too large");
}

} // namespace
