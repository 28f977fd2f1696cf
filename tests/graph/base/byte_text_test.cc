#include "graph/base/byte_text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onward {
namespace {

using ::testing::HasSubstr;

TEST(ByteText, MegabytesAreTenToTheSixthMebibytesTwoToTheTwentieth) {
  const std::pair<const char*, int64_t> cases[] = {
      {"", 0},
      {"640", 640},
      {"640B", 640},
      {"175MB", 175000000},
      {"175mb", 175000000},
      {"175 MB", 175000000},
      {"175M", 175000000},
      {"175MiB", 175 * (int64_t{1} << 20)},
      {"175Mi", 175 * (int64_t{1} << 20)},
      {"1.5kB", 1500},
      {"1.5KiB", 1536},
      {"4GiB", int64_t{4} << 30},
      {"2GB", 2000000000},
      {"1TiB", int64_t{1} << 40},
      {"1e9", 1000000000},
  };
  for (const auto& [text, bytes] : cases) {
    const auto parsed = ParseBytes("size", text);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, bytes) << text;
  }
}

TEST(ByteText, WhatIsNoSizeIsRefused) {
  for (const char* text : {"much", "2 gigs", "-1MB", "0", "MB", "1e30GB", "0.1B", "1 2MB", "nan"}) {
    const auto parsed = ParseBytes("max_memory", text);
    EXPECT_FALSE(parsed.ok()) << text;
    EXPECT_THAT(std::string(parsed.status().message()), HasSubstr("max_memory: '"));
  }
}

TEST(ByteText, IsReadBackAsItIsPrinted) {
  EXPECT_EQ(BytesText(640), "640 bytes");
  EXPECT_EQ(BytesText(12500), "12.5 kB");
  EXPECT_EQ(BytesText(175000000), "175.0 MB");
  EXPECT_EQ(BytesText(int64_t{175} << 20), "183.5 MB");
  EXPECT_EQ(BytesText(1234567890), "1.235 GB");
  for (const int64_t bytes : {int64_t{20000}, int64_t{3200000}, int64_t{7400000000}})
    EXPECT_EQ(*ParseBytes("", BytesText(bytes)), bytes);
}

}  // namespace
}  // namespace onward
