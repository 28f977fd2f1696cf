#include "serving/repository/instance_places.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serving/repository/config_text.h"

namespace onward::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::vector<std::pair<std::string, size_t>> Places(const std::string& text,
                                                   const std::string& provider,
                                                   std::string* warning = nullptr) {
  const auto places = InstancePlacesOf("m", *ReadConfigText(text, "m", nullptr), provider,
                                       [&](const LogRecord& record) {
                                         if (warning != nullptr) *warning += record.message;
                                       });
  EXPECT_TRUE(places.ok()) << places.status();
  std::vector<std::pair<std::string, size_t>> pairs;
  for (const InstancePlace& place : *places) pairs.emplace_back(place.provider, place.runs);
  return pairs;
}

TEST(InstancePlacesTest, OneWhereNothingIsSaid) {
  EXPECT_THAT(Places("", "cpu"), ElementsAre(Pair("cpu", 0)));
  EXPECT_THAT(Places("", "cuda:1"), ElementsAre(Pair("cuda:1", 0)));
}

TEST(InstancePlacesTest, GroupsOfOneDeviceAddUp) {
  EXPECT_THAT(Places("instance_group [ { count: 2 }, { count: 1 } ]", "cpu"),
              ElementsAre(Pair("cpu", 3)));
  EXPECT_THAT(
      Places("instance_group [ { count: 2 gpus: [ 0, 1 ] }, { count: 1 gpus: 1 } ]", "cuda"),
      ElementsAre(Pair("cuda:0", 2), Pair("cuda:1", 3)));
}

TEST(InstancePlacesTest, KindsChooseTheSide) {
  EXPECT_THAT(Places("instance_group [ { count: 1 kind: KIND_CPU }, { count: 2 kind: KIND_GPU "
                     "gpus: 3 }, { count: 4 kind: KIND_AUTO } ]",
                     "cuda"),
              ElementsAre(Pair("cpu", 1), Pair("cuda:3", 2), Pair("cuda", 4)));
}

TEST(InstancePlacesTest, WithoutGpusTheLogSaysWhereTheyRun) {
  std::string warning;
  EXPECT_THAT(Places("instance_group { count: 2 kind: KIND_GPU gpus: [ 0, 1 ] }", "cpu", &warning),
              ElementsAre(Pair("cpu", 2)));
  EXPECT_THAT(warning, HasSubstr("'m' that want a GPU run on the cpu"));
}

TEST(InstancePlacesTest, WhatCannotBeIsNamed) {
  const auto error = [](const std::string& text) {
    return std::string(InstancePlacesOf("m", *ReadConfigText(text, "m", nullptr), "cuda", nullptr)
                           .status()
                           .message());
  };
  EXPECT_THAT(error("instance_group { count: -1 }"),
              HasSubstr("instance_group: count: expected 0 or more, got -1"));
  EXPECT_THAT(error("instance_group { count: 1 gpus: [ 0, 64 ] }"),
              HasSubstr("instance_group: gpus: expected from 0 to 63, got 64"));
}

TEST(InstancePlacesTest, TheConfigurationSaysWhere) {
  config::ModelConfig config;
  SetInstancePlaces("m", {{"cuda:1", 0}}, config);
  ASSERT_EQ(config.instance_group_size(), 1);
  EXPECT_EQ(config.instance_group(0).kind(), config::InstanceGroup::KIND_GPU);
  EXPECT_THAT(config.instance_group(0).gpus(), ElementsAre(1));
  EXPECT_EQ(config.instance_group(0).count(), 1);
}

}  // namespace
}  // namespace onward::serving
