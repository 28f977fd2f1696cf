// The limit of open files, which this test changes for its own process and puts back.
#include "serving/http/room_for_connections.h"

#include <sys/resource.h>

#include <algorithm>

#include "gtest/gtest.h"

namespace onward::serving {
namespace {

class RoomForConnectionsTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0); }
  void TearDown() override { setrlimit(RLIMIT_NOFILE, &before_); }
  static rlim_t Soft() {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
  }
  rlimit before_{};
};

TEST_F(RoomForConnectionsTest, TheLimitIsRaised) {
  const rlimit low{300, before_.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  HttpLimits limits{.connections = 400};
  EXPECT_TRUE(MakeRoomForConnections(limits));
  EXPECT_EQ(limits.connections, 400);
  EXPECT_EQ(Soft(), 600);
  HttpLimits few{.connections = 10};
  EXPECT_TRUE(MakeRoomForConnections(few));
  EXPECT_EQ(Soft(), 600);
}

TEST_F(RoomForConnectionsTest, WhereItCannotBeRaisedThereAreFewerConnections) {
  if (before_.rlim_max > 1'000'000'000) GTEST_SKIP() << "there is no limit";
  const auto files = static_cast<int>(before_.rlim_max);
  HttpLimits limits{.connections = files, .connections_per_address = files};
  EXPECT_FALSE(MakeRoomForConnections(limits));
  EXPECT_EQ(Soft(), before_.rlim_max);
  EXPECT_EQ(limits.connections, files - 200);
  EXPECT_EQ(limits.connections_from_here, std::min(10000, files - 200));
  EXPECT_EQ(limits.connections_per_address, (files - 200) / 2);
}

}  // namespace
}  // namespace onward::serving
