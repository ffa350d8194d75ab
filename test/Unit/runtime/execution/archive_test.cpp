// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models that are one file: what is accepted, and what each refusal of a hostile one says.
#include "runtime/untrusted/zip_records.h"
#include "test/Unit/runtime/execution/fake_model.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

using Members = std::vector<std::pair<std::string, std::string>>;

std::string contentOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The CRC-32 of members is not looked at: the library has its seal.
std::string toArchive(const Members &members) {
  std::string archive;
  std::vector<mpc::untrusted::StoredMember> records;
  for (const auto &[name, content] : members) {
    mpc::untrusted::StoredMember record;
    record.name = name;
    record.size = content.size();
    record.offset = archive.size();
    archive += mpc::untrusted::zipLocalHeader(record) + content;
    records.push_back(record);
  }
  return archive + mpc::untrusted::zipEnd(records, archive.size());
}

class Archive : public ::testing::Test {
protected:
  Archive() {
    char name[] = "/tmp/mpcrt-archive-XXXXXX";
    folder = mkdtemp(name);
    path = folder + "/fake.mpc";
    library = contentOf(FAKE_MODEL_FOLDER "/libfake.so");
  }
  ~Archive() override {
    for (mpc_rt_model_t *model : models)
      mpc_rt_model_release(model);
    unlink(path.c_str());
    rmdir(folder.c_str());
  }
  mpc_rt_status_t load(const std::string &archive) {
    std::ofstream(path, std::ios::binary) << archive;
    return load();
  }
  mpc_rt_status_t load() {
    models.push_back(nullptr);
    return mpc_rt_model_load(path.c_str(), &models.back());
  }
  mpc_rt_status_t load(const Members &members) { return load(toArchive(members)); }
  Members sound() const {
    return {{"libfake.so", library}, {"fake.h", "/* */"}, {"fake.json", "{}"}};
  }
  // Refuses with `code`, in a message that begins with the archive's path.
  void refuses(mpc_rt_status_t status, mpc_rt_status_code_t code, const std::string &text) {
    EXPECT_EQ(status, code);
    EXPECT_EQ(std::string(mpc_rt_last_error()).find(path + text), 0u) << mpc_rt_last_error();
    EXPECT_EQ(models.back(), nullptr);
  }
  std::string folder, path, library;
  std::vector<mpc_rt_model_t *> models;
};

TEST_F(Archive, IsAModel) {
  ASSERT_EQ(load(sound()), MPC_RT_OK) << mpc_rt_last_error();
  EXPECT_STREQ(mpc_rt_model_path(models[0]), path.c_str());
  EXPECT_STREQ(mpc_rt_model_executable(models[0])->model_name, "fake");
  EXPECT_EQ(mpc_rt_model_verify_weights(models[0]), MPC_RT_OK) << mpc_rt_last_error();
  mpc_rt_context_t *context = nullptr;
  ASSERT_EQ(mpc_rt_context_create(models[0], nullptr, &context), MPC_RT_OK);
  EXPECT_EQ(mpc_rt_context_run(context, fake::trainStep, nullptr, nullptr, 1), MPC_RT_OK);
  mpc_rt_context_release(context);
}

TEST_F(Archive, HoldsOneLibraryForAllThatOpenIt) {
  ASSERT_EQ(load(sound()), MPC_RT_OK) << mpc_rt_last_error();
  ASSERT_EQ(load(), MPC_RT_OK) << mpc_rt_last_error();
  EXPECT_EQ(mpc_rt_model_executable(models[0]), mpc_rt_model_executable(models[1]));
  // Another file of the same content at the same path is another model.
  ASSERT_EQ(unlink(path.c_str()), 0);
  ASSERT_EQ(load(sound()), MPC_RT_OK) << mpc_rt_last_error();
  EXPECT_NE(mpc_rt_model_executable(models[0]), mpc_rt_model_executable(models[2]));
}

TEST_F(Archive, MayHoldFilesOfTheUser) {
  Members members = sound();
  members.insert(members.begin(), {"labels.txt", "cat\ndog\n"});
  members.push_back({"notes/libother.so", "in a folder"});
  EXPECT_EQ(load(members), MPC_RT_OK) << mpc_rt_last_error();
}

TEST_F(Archive, CutOffAnywhereIsRefused) {
  const std::string whole = toArchive(sound());
  for (size_t size = 4; size < whole.size(); size += std::max<size_t>(1, whole.size() / 61)) {
    refuses(load(whole.substr(0, size)), MPC_RT_DATA_LOSS, ": is no sound archive: it has no ");
    ASSERT_EQ(unlink(path.c_str()), 0);
  }
}

TEST_F(Archive, WithoutALibraryIsRefused) {
  refuses(load(Members{{"config.json", "{}"}, {"fake.json", "{}"}}), MPC_RT_FAILED_PRECONDITION,
          ": is a zip archive such as Keras's .keras, no compiled model");
}

TEST_F(Archive, OfTwoLibrariesIsRefused) {
  Members members = sound();
  members.push_back({"libother.so", library});
  refuses(load(members), MPC_RT_FAILED_PRECONDITION,
          ": holds the libraries of the models 'fake' and 'other'; expected one");
}

TEST_F(Archive, OfMembersOfOneNameIsRefused) {
  for (const char *name : {"libfake.so", "fake.json", "anything"}) {
    Members members = sound();
    members.push_back({name, "{}"});
    members.push_back({name, "{}"});
    refuses(load(members), MPC_RT_DATA_LOSS, ":" + std::string(name) + ": is there twice");
  }
}

TEST_F(Archive, WithoutItsManifestIsRefused) {
  refuses(load(Members{{"libfake.so", library}}), MPC_RT_FAILED_PRECONDITION,
          ": lacks fake.json, the manifest");
}

TEST_F(Archive, OfAnotherLibraryIsRefused) {
  Members members = sound();
  members[0].second = contentOf(VARIANTS_FOLDER "/newer.mpc/libfake.so");
  members[2].second = "{ }";
  refuses(load(members), MPC_RT_FAILED_PRECONDITION,
          ":fake.json: is not the manifest of the library in the archive");
  members[2].second = "{";
  refuses(load(members), MPC_RT_FAILED_PRECONDITION, ":fake.json: is not the manifest");
  refuses(load(Members{{"libnet.so", library}, {"net.json", "{}"}}), MPC_RT_FAILED_PRECONDITION,
          ":libnet.so: is the library of the model 'fake'; expected that of 'net'");
}

TEST_F(Archive, OfNoLibraryIsRefused) {
  Members members = sound();
  members[0].second = "not a library";
  refuses(load(members), MPC_RT_FAILED_PRECONDITION, ":libfake.so: not a loadable library");
  members[0].second = "";
  refuses(load(members), MPC_RT_FAILED_PRECONDITION, ":libfake.so: not a loadable library");
  members[0].second = library.substr(0, library.size() / 2);
  refuses(load(members), MPC_RT_DATA_LOSS, ":libfake.so: is damaged: it ends too early");
  members[0].second = contentOf("/lib/x86_64-linux-gnu/libm.so.6");
  refuses(load(members), MPC_RT_FAILED_PRECONDITION, ":libfake.so: not a compiled model");
}

// The place of a number in the only central header of libfake.so.
size_t centralOf(const std::string &archive, const std::string &name) {
  size_t at = archive.rfind(name, archive.rfind("PK\5\6"));
  return archive.rfind("PK\1\2", at);
}

TEST_F(Archive, ThatLiesAboutSizesIsRefused) {
  const std::string whole = toArchive(sound());
  for (int field : {20, 24, 42}) { // compressed size, size, offset
    std::string archive = whole;
    archive[centralOf(archive, "libfake.so") + static_cast<size_t>(field) + 2] ^= 1;
    refuses(load(archive), MPC_RT_DATA_LOSS, ":libfake.so: is no sound archive: it ");
  }
}

TEST_F(Archive, OfCompressedMembersIsRefused) {
  std::string archive = toArchive(sound());
  archive[centralOf(archive, "libfake.so") + 10] = 8;
  archive[archive.find("PK\3\4") + 8] = 8;
  refuses(load(archive), MPC_RT_FAILED_PRECONDITION,
          ":libfake.so: is compressed; expected it stored");
}

TEST_F(Archive, OfEncryptedMembersIsRefused) {
  std::string archive = toArchive(sound());
  archive[centralOf(archive, "fake.json") + 8] |= 1;
  refuses(load(archive), MPC_RT_DATA_LOSS, ":fake.json: is no sound archive: it is encrypted");
}

TEST_F(Archive, WhoseMembersShareBytesIsRefused) {
  // The library of the directory lies inside of another member.
  mpc::untrusted::StoredMember inner, outer;
  inner.name = "libfake.so";
  inner.size = library.size();
  outer.name = "notes";
  const std::string within = mpc::untrusted::zipLocalHeader(inner) + library;
  outer.size = within.size();
  const std::string header = mpc::untrusted::zipLocalHeader(outer);
  inner.offset = header.size();
  const std::string members = header + within;
  refuses(load(members + mpc::untrusted::zipEnd({outer, inner}, members.size())), MPC_RT_DATA_LOSS,
          "");
  EXPECT_NE(std::string(mpc_rt_last_error()).find("overlaps"), std::string::npos)
      << mpc_rt_last_error();
}

TEST_F(Archive, NamesInMessagesActOnNoTerminal) {
  const std::string name = "lib\33[2Jfake.so";
  EXPECT_EQ(load(Members{{name, library}, {"\33[2Jfake.json", "{}"}}), MPC_RT_FAILED_PRECONDITION);
  EXPECT_EQ(std::string(mpc_rt_last_error()).find('\33'), std::string::npos);
}

TEST_F(Archive, OfMoreMembersThanAnyModelHasIsRefused) {
  Members members = sound();
  for (int i = 0; i < 1100; ++i)
    members.push_back({"file" + std::to_string(i), ""});
  refuses(load(members), MPC_RT_DATA_LOSS,
          ": is no sound archive: it has 1103 members; at most 1024 are accepted");
}

} // namespace
