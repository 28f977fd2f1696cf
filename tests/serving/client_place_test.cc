#include "serving/http/client_place.h"

#include "gtest/gtest.h"

namespace onward::serving {
namespace {

TEST(ClientPlace, ClientsAreCountedByWhatOneMayHave) {
  EXPECT_EQ(PlaceOf("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(PlaceOf("::ffff:192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(PlaceOf("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
  for (const char* here : {"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "unix", ""})
    EXPECT_EQ(PlaceOf(here), "") << here;
}

}  // namespace
}  // namespace onward::serving
