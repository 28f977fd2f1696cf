#include "collectives/roll_call.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "onward/status.h"

namespace onward::collectives {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr uint32_t kLongestText = 1 << 24;

// Ranks tell each other the end of one in five bytes: 'e' where it ends by itself or 'd' where it
// died, and its number.
using News = std::array<char, 5>;

News MakeNews(int rank, bool died) {
  News news = {died ? 'd' : 'e'};
  const auto number = static_cast<uint32_t>(rank);
  std::memcpy(news.data() + 1, &number, sizeof(number));
  return news;
}

absl::Status SocketError(std::string_view what) {
  return absl::UnavailableError(absl::StrCat(std::string(what), ": ", std::strerror(errno)));
}

absl::Status SendAll(int socket, const void* data, size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t sent = send(socket, at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return SocketError("sending to another rank");
    at += sent;
    bytes -= static_cast<size_t>(sent);
  }
  return absl::OkStatus();
}

absl::Status ReceiveAll(int socket, void* data, size_t bytes) {
  char* at = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got = recv(socket, at, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) return absl::UnavailableError("another rank closed its connection");
    if (got < 0) return SocketError("receiving from another rank");
    at += got;
    bytes -= static_cast<size_t>(got);
  }
  return absl::OkStatus();
}

absl::Status SendText(int socket, const std::string& text) {
  const auto size = static_cast<uint32_t>(text.size());
  ONWARD_RETURN_IF_ERROR(SendAll(socket, &size, sizeof(size)));
  return SendAll(socket, text.data(), text.size());
}

absl::StatusOr<std::string> ReceiveText(int socket) {
  uint32_t size = 0;
  ONWARD_RETURN_IF_ERROR(ReceiveAll(socket, &size, sizeof(size)));
  if (size > kLongestText) return absl::InvalidArgumentError("not a rank of this training");
  std::string text(size, '\0');
  ONWARD_RETURN_IF_ERROR(ReceiveAll(socket, text.data(), size));
  return text;
}

std::string OwnName(int rank) {
  std::array<char, 256> host = {};
  gethostname(host.data(), host.size() - 1);
  return absl::StrCat("rank ", rank, " (pid ", getpid(), ", host ", host.data(), ")");
}

struct AddressList {
  addrinfo* first = nullptr;
  ~AddressList() {
    if (first != nullptr) freeaddrinfo(first);
  }
};

absl::Status Resolve(const std::string& address, int port, AddressList& list) {
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_STREAM;
  const int error = getaddrinfo(address.c_str(), absl::StrCat(port).c_str(), &wanted, &list.first);
  if (error == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the address of rank 0, '", address, "': ", gai_strerror(error)));
}

// The number of the socket's own address.
std::string LocalAddress(int socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  std::array<char, NI_MAXHOST> text = {};
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      getnameinfo(reinterpret_cast<sockaddr*>(&address), size, text.data(), text.size(), nullptr, 0,
                  NI_NUMERICHOST) != 0)
    return "127.0.0.1";
  return text.data();
}

bool IsLoopback(const std::string& address) {
  return address == "localhost" || address == "::1" || absl::StartsWith(address, "127.");
}

// On every interface where ranks may come from elsewhere: a host's own name is often a loopback
// address to itself.
absl::StatusOr<int> OpenListening(const RankOptions& options) {
  AddressList list;
  ONWARD_RETURN_IF_ERROR(Resolve(options.address, options.port, list));
  sockaddr_storage any = {};
  std::memcpy(&any, list.first->ai_addr, list.first->ai_addrlen);
  if (!IsLoopback(options.address)) {
    if (any.ss_family == AF_INET)
      reinterpret_cast<sockaddr_in*>(&any)->sin_addr.s_addr = INADDR_ANY;
    if (any.ss_family == AF_INET6) reinterpret_cast<sockaddr_in6*>(&any)->sin6_addr = in6addr_any;
  }
  const int listening = socket(list.first->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listening < 0) return SocketError("a socket for other ranks");
  const int on = 1;
  setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(listening, reinterpret_cast<sockaddr*>(&any), list.first->ai_addrlen) == 0 &&
      listen(listening, options.size) == 0)
    return listening;
  const absl::Status status =
      SocketError(absl::StrCat("rank 0 cannot listen at ", options.address, ":", options.port,
                               " (ONWARD_MASTER_PORT names another port)"));
  close(listening);
  return status;
}

void SetUp(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

void LimitWaiting(int socket, std::chrono::seconds longest) {
  const timeval limit = {longest.count(), 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

// Closes what it holds.
class Socket {
 public:
  explicit Socket(int number) : number_(number) {}
  ~Socket() {
    if (number_ >= 0) close(number_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int number() const { return number_; }
  int Release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RollCall>> RollCall::Join(const RankOptions& options) {
  std::unique_ptr<RollCall> made(new RollCall(options));
  made->peers_.assign(static_cast<size_t>(options.size), -1);
  ONWARD_RETURN_IF_ERROR(options.rank == 0 ? made->Listen() : made->Connect());
  ONWARD_ASSIGN_OR_RETURN(made->names_, made->Gather(OwnName(options.rank)));
  // A rank that reaches rank 0 by a loopback address is on its host.
  ONWARD_ASSIGN_OR_RETURN(const std::vector<std::string> addresses,
                          made->Gather(made->local_address_));
  if (IsLoopback(made->local_address_)) made->local_address_ = addresses[0];
  return made;
}

RollCall::~RollCall() {
  if (watcher_.joinable()) {
    (void)!write(wake_[1], "", 1);
    watcher_.join();
  }
  const News news = MakeNews(options_.rank, /*died=*/false);
  for (const int peer : peers_) {
    if (peer < 0) continue;
    (void)SendAll(peer, news.data(), news.size());
    close(peer);
  }
  for (const int end : wake_)
    if (end >= 0) close(end);
}

absl::Status RollCall::Listen() {
  ONWARD_ASSIGN_OR_RETURN(const int opened, OpenListening(options_));
  const Socket listening(opened);
  const auto end = Clock::now() + options_.patience;
  for (int missing = options_.size - 1; missing > 0;) {
    pollfd waiting = {listening.number(), POLLIN, 0};
    const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
    if (left.count() <= 0 || poll(&waiting, 1, static_cast<int>(left.count())) == 0) {
      std::vector<int> late;
      for (int rank = 1; rank < options_.size; ++rank)
        if (peers_[static_cast<size_t>(rank)] < 0) late.push_back(rank);
      return absl::DeadlineExceededError(absl::StrCat("rank ", absl::StrJoin(late, ", "),
                                                      " did not connect within ",
                                                      options_.patience.count(), " s"));
    }
    Socket peer(accept4(listening.number(), nullptr, nullptr, SOCK_CLOEXEC));
    if (peer.number() < 0) continue;
    SetUp(peer.number());
    // Who is silent must not hold up the others.
    LimitWaiting(peer.number(), std::chrono::seconds(5));
    const absl::StatusOr<std::string> hello = ReceiveText(peer.number());
    if (!hello.ok()) continue;  // somebody else
    const std::vector<std::string> words = absl::StrSplit(*hello, ' ');
    int rank = -1, size = -1;
    if (words.size() != 3 || words[0] != "onward" || !absl::SimpleAtoi(words[1], &rank) ||
        !absl::SimpleAtoi(words[2], &size))
      continue;
    if (size != options_.size || rank < 1 || rank >= size || peers_[static_cast<size_t>(rank)] >= 0)
      return absl::InvalidArgumentError(
          absl::StrCat("rank ", rank, " of ", size, " connected to rank 0 of ", options_.size,
                       size == options_.size ? " twice" : "",
                       ": each rank needs a RANK of its own and the same WORLD_SIZE"));
    LimitWaiting(peer.number(), std::chrono::seconds(0));
    if (local_address_.empty() || IsLoopback(local_address_))
      local_address_ = LocalAddress(peer.number());
    peers_[static_cast<size_t>(rank)] = peer.Release();
    --missing;
  }
  return absl::OkStatus();
}

absl::Status RollCall::Connect() {
  const auto end = Clock::now() + options_.patience;
  while (true) {
    AddressList list;
    ONWARD_RETURN_IF_ERROR(Resolve(options_.address, options_.port, list));
    Socket peer(socket(list.first->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (peer.number() < 0) return SocketError("a socket for rank 0");
    if (connect(peer.number(), list.first->ai_addr, list.first->ai_addrlen) == 0) {
      SetUp(peer.number());
      local_address_ = LocalAddress(peer.number());
      ONWARD_RETURN_IF_ERROR(
          SendText(peer.number(), absl::StrCat("onward ", options_.rank, " ", options_.size)));
      peers_[0] = peer.Release();
      return absl::OkStatus();
    }
    if (Clock::now() > end)
      return SocketError(absl::StrCat("rank 0 is not at ", options_.address, ":", options_.port));
    std::this_thread::sleep_for(milliseconds(20));
  }
}

absl::StatusOr<std::vector<std::string>> RollCall::Gather(const std::string& mine) {
  std::vector<std::string> all(peers_.size());
  all[static_cast<size_t>(options_.rank)] = mine;
  if (options_.rank == 0) {
    for (size_t rank = 1; rank < all.size(); ++rank) {
      ONWARD_ASSIGN_OR_RETURN(all[rank], ReceiveText(peers_[rank]));
    }
    for (size_t rank = 1; rank < all.size(); ++rank)
      for (const std::string& text : all) ONWARD_RETURN_IF_ERROR(SendText(peers_[rank], text));
    return all;
  }
  ONWARD_RETURN_IF_ERROR(SendText(peers_[0], mine));
  for (std::string& text : all) {
    ONWARD_ASSIGN_OR_RETURN(text, ReceiveText(peers_[0]));
  }
  return all;
}

void RollCall::Note(int rank, bool died) {
  {
    const std::lock_guard lock(mutex_);
    if (loss_.rank >= 0) return;
    loss_ = {rank, died};
  }
  lost_.notify_all();
  if (options_.rank != 0) return;
  const News news = MakeNews(rank, died);
  for (size_t peer = 1; peer < peers_.size(); ++peer)
    if (peers_[peer] >= 0 && peer != static_cast<size_t>(rank))
      (void)SendAll(peers_[peer], news.data(), news.size());
}

bool RollCall::ReadNews(size_t peer) {
  News news = {};
  if (!ReceiveAll(peers_[peer], news.data(), news.size()).ok()) {
    Note(static_cast<int>(peer), true);
    return false;
  }
  uint32_t rank = 0;
  std::memcpy(&rank, news.data() + 1, sizeof(rank));
  if (rank < peers_.size()) Note(static_cast<int>(rank), news[0] == 'd');
  return rank != peer;
}

void RollCall::Watch() {
  if (pipe2(wake_, O_CLOEXEC) != 0) return;
  watcher_ = std::thread([this] {
    std::vector<bool> open(peers_.size(), true);
    while (true) {
      std::vector<pollfd> waiting = {{wake_[0], POLLIN, 0}};
      std::vector<size_t> ranks = {0};
      for (size_t rank = 0; rank < peers_.size(); ++rank) {
        if (peers_[rank] < 0 || !open[rank]) continue;
        waiting.push_back({peers_[rank], POLLIN, 0});
        ranks.push_back(rank);
      }
      if (poll(waiting.data(), waiting.size(), -1) < 0) continue;
      if (waiting[0].revents != 0) return;
      for (size_t i = 1; i < waiting.size(); ++i)
        if (waiting[i].revents != 0) open[ranks[i]] = ReadNews(ranks[i]);
    }
  });
}

RollCall::Loss RollCall::WaitForLoss(milliseconds longest) {
  std::unique_lock lock(mutex_);
  lost_.wait_for(lock, longest, [this] { return loss_.rank >= 0; });
  return loss_;
}

}  // namespace onward::collectives
