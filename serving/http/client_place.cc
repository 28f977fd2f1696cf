#include "serving/http/client_place.h"

#include <algorithm>
#include <cstring>

namespace onward::serving {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

}  // namespace

std::string ClientOf(const Stream::Socket& socket) {
  Stream::Error error;
  const asio::generic::stream_protocol::endpoint remote = socket.remote_endpoint(error);
  if (error) return "";
  if (remote.protocol().family() == AF_UNIX) return "unix";
  tcp::endpoint endpoint;
  if (remote.size() > endpoint.capacity()) return "";
  endpoint.resize(remote.size());
  std::memcpy(endpoint.data(), remote.data(), remote.size());
  return endpoint.address().to_string(error);
}

std::string PlaceOf(const std::string& client) {
  Stream::Error error;
  asio::ip::address address = asio::ip::make_address(client, error);
  if (error) return "";
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
  if (address.is_loopback()) return "";
  if (address.is_v4()) return address.to_string(error);
  auto bytes = address.to_v6().to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), 0);
  return asio::ip::address_v6(bytes).to_string(error) + "/64";
}

}  // namespace onward::serving
