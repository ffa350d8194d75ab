// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every map of maps.json: how it is filled, and what each path finds in it.
#include "test/Unit/lib/Policy/PolicyFixture.h"

using namespace mpc;
using namespace mpc::test;

static llvm::Expected<DTypePolicyMap> build(const llvm::json::Object &entry) {
  DTypePolicy global =
      llvm::cantFail(parsePolicyName(entry.getString("global_policy").value_or("float32")));
  llvm::Expected<DTypePolicyMap> map =
      DTypePolicyMap::withDefault(toIdentifier(*entry.get("default_policy")), global);
  if (!map)
    return map;
  bool converts = entry.getString("via").value_or("setitem") == "setitem";
  for (const llvm::json::Value &pair : *entry.getArray("entries")) {
    llvm::StringRef key = *(*pair.getAsArray())[0].getAsString();
    llvm::json::Value value = toIdentifier((*pair.getAsArray())[1]);
    llvm::Error error = !converts && value.getAsString()
                            ? map->setUnchecked(key, *value.getAsString())
                            : map->set(key, value, global);
    if (error)
      return error;
  }
  return map;
}

TEST(Maps, AgreeWithKeras) {
  llvm::json::Object fixture = readFixture("maps.json");
  int maps = 0, queries = 0;
  for (const llvm::json::Value &value : *fixture.getArray("maps")) {
    const llvm::json::Object &entry = *value.getAsObject();
    std::string id = entry.getString("id")->str();
    llvm::Expected<DTypePolicyMap> map = build(entry);
    ++maps;
    if (const llvm::json::Object *construction = entry.getObject("construction")) {
      ASSERT_TRUE(construction->get("error_type"));
      if (map)
        ADD_FAILURE() << id << ": accepted";
      else
        expectError(*construction, map.takeError(), id);
      continue;
    }
    if (!map) {
      ADD_FAILURE() << id << ": " << llvm::toString(map.takeError());
      continue;
    }
    llvm::json::Object actual = describe(map->asPolicy());
    actual["length"] = int64_t(map->size());
    actual["keys"] = llvm::json::Array(map->getKeys());
    expectMembers(*entry.getObject("map"), actual, id);

    for (const llvm::json::Value &query : *entry.getArray("queries")) {
      const llvm::json::Object &expected = *query.getAsObject();
      std::string path = expected.getString("path")->str();
      std::string what = id + " '" + path + "'";
      llvm::Expected<DTypePolicyMap::Hit> hit = map->lookup(path);
      ++queries;
      if (expected.get("error_type")) {
        if (hit)
          ADD_FAILURE() << what << ": found " << hit->policy.getName().str();
        else
          expectError(expected, hit.takeError(), what);
      } else if (expected.getString("policy") == llvm::StringRef("nonsense")) {
        // Keras gives the layer the string, which breaks it; here the lookup fails.
        EXPECT_FALSE(bool(hit)) << what;
        llvm::consumeError(hit.takeError());
      } else if (!hit) {
        ADD_FAILURE() << what << ": " << llvm::toString(hit.takeError());
      } else {
        EXPECT_EQ(expected.getString("policy")->str(), hit->policy.getName().str()) << what;
        EXPECT_EQ(expected.getString("matched_key"),
                  hit->key ? std::optional<llvm::StringRef>(*hit->key) : std::nullopt)
            << what;
      }
    }
  }
  printf("maps: %d maps, %d queries\n", maps, queries);
  EXPECT_EQ(maps, 113);
  EXPECT_EQ(queries, 415);
}

/// A layer asks its map by its path once it has one; before, the default holds.
TEST(Maps, LayersAgreeWithKeras) {
  llvm::json::Object fixture = readFixture("maps.json");
  auto compare = [](const llvm::json::Object &expected, const DTypePolicy &policy,
                    const std::string &what) {
    EXPECT_EQ(*expected.getString("compute_dtype"), policy.getComputeDType()) << what;
    EXPECT_EQ(*expected.getString("variable_dtype"), policy.getVariableDType()) << what;
  };
  int ran = 0;
  for (const llvm::json::Value &value : *fixture.getArray("layers")) {
    const llvm::json::Object &entry = *value.getAsObject();
    std::string id = entry.getString("id")->str();
    DTypePolicyMap map = llvm::cantFail(build(entry));
    llvm::Expected<DTypePolicyMap::Hit> hit = map.lookup(*entry.getString("layer"));
    ++ran;
    if (entry.get("error_type")) {
      ASSERT_FALSE(bool(hit)) << id;
      expectError(entry, hit.takeError(), id);
      continue;
    }
    ASSERT_TRUE(bool(hit)) << id;
    compare(*entry.getObject("before_build"), map.getDefault(), id);
    compare(*entry.getObject("after_build"), hit->policy, id);
  }
  for (const llvm::json::Value &value : *fixture.getArray("composite")) {
    const llvm::json::Object &entry = *value.getAsObject();
    DTypePolicyMap map = llvm::cantFail(build(entry));
    for (const llvm::json::Value &layer : *entry.getArray("layers")) {
      llvm::StringRef path = *layer.getAsObject()->getString("path");
      compare(*layer.getAsObject(), llvm::cantFail(map.lookup(path)).policy, path.str());
      ++ran;
    }
  }
  EXPECT_EQ(ran, 17);
}
