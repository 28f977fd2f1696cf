// The place of a client.
#pragma once

#include <string>

#include "serving/http/stream.h"

namespace onward::serving {

// Its address, "127.0.0.1"; "unix" of a Unix socket, "" of one that is closed already.
std::string ClientOf(const Stream::Socket& socket);
// The key by which its connections are counted: its address, in IPv6 the network of 64 bits that
// one client may have all of; "" for all of this machine, which may be proxies for others.
std::string PlaceOf(const std::string& client);

}  // namespace onward::serving
