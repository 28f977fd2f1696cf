// The environment variables that say which process this is (torchrun's, and one of ours).
#pragma once

namespace onward::collectives {

inline constexpr char kRankVariable[] = "RANK";
inline constexpr char kWorldSizeVariable[] = "WORLD_SIZE";
inline constexpr char kLocalRankVariable[] = "LOCAL_RANK";
inline constexpr char kLocalWorldSizeVariable[] = "LOCAL_WORLD_SIZE";  // processes on this host
inline constexpr char kMasterAddressVariable[] = "MASTER_ADDR";
inline constexpr char kMasterPortVariable[] = "MASTER_PORT";
// The port of rank 0; default: the port after MASTER_PORT, which torchrun's agent uses itself.
inline constexpr char kPortVariable[] = "ONWARD_MASTER_PORT";

}  // namespace onward::collectives
